"""The commands as an instructor types them, on the course's own assignment ``head``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from course.grading.parent import WarmParent
from tests.grading.lab import ROOT

UNSCALED = "scores = q @ k.transpose(-2, -1)"
SCALED = UNSCALED + " / math.sqrt(q.shape[-1])"


@pytest.fixture(scope="module")
def course_folder(tmp_path_factory: pytest.TempPathFactory, parent: WarmParent) -> Path:
    """A course with ``head`` alone, and three learners: right, unscaled, and not begun."""
    root = tmp_path_factory.mktemp("head") / "course"
    shutil.copytree(ROOT / "solutions" / "head", root / "solutions" / "head")
    shutil.copy(ROOT / "nbgrader_config.py", root)
    model = (root / "solutions" / "head" / "head.ipynb").read_text(encoding="utf-8")
    assert SCALED in model
    released = (ROOT / "exercises" / "head" / "head.ipynb").read_text(encoding="utf-8")
    for student, text in (("right", model), ("unscaled", model.replace(SCALED, UNSCALED)),
                          ("unbegun", released)):  # fmt: skip
        folder = root / "class" / "submitted" / student / "head"
        folder.mkdir(parents=True)
        (folder / "head.ipynb").write_text(text, encoding="utf-8")
    return root


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=290, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout + done.stderr


def hidden_lines() -> set[str]:
    """The lines of head's hidden tests that say something of their own."""
    found: set[str] = set()
    nb = nbformat.read(ROOT / "solutions" / "head" / "head.ipynb", as_version=4)
    for cell in nb.cells:
        if "BEGIN HIDDEN TESTS" in cell.source:
            part = cell.source.split("BEGIN HIDDEN TESTS")[1].split("### END")[0]
            found |= {line.strip() for line in part.splitlines() if len(line.strip()) > 25}
    assert len(found) > 5
    return found


def test_plain_nbgrader_autograde(course_folder: Path) -> None:
    run(course_folder, "nbgrader", "generate_assignment", "head")
    run(course_folder, "nbgrader", "autograde", "head")
    run(course_folder, "nbgrader", "generate_feedback", "head")
    with Gradebook(f"sqlite:///{course_folder}/class/gradebook.db") as gradebook:
        scores = {s.student.id: s.score for s in gradebook.assignment_submissions("head")}
        most = gradebook.find_assignment("head").max_score
    assert scores["right"] == most
    assert 0 < scores["unscaled"] < most
    assert scores["unbegun"] == 0
    page = (course_folder / "class/feedback/unscaled/head/head.html").read_text()
    assert "divide" in page  # the named mistake, in a sentence
    for student in scores:
        page = (course_folder / "class/feedback" / student / "head" / "head.html").read_text()
        for line in hidden_lines():
            assert line not in page


def test_a_class_in_one_command(course_folder: Path) -> None:
    said = run(course_folder, sys.executable, "-m", "course", "grade", "head", "--jobs", "2")
    assert "Report:" in said
    page = (course_folder / "class/reports/head.html").read_text()
    assert "3 submissions, 3 graded" in page
    records = sorted((course_folder / "class/records/unscaled/head").glob("*.json"))
    kept = json.loads(records[-1].read_text())
    mistakes = {m for t in kept["tests"] for r in t["reports"] for m in r["mistakes"]}
    assert mistakes - {"general"}
    assert f'<th scope="row">{sorted(mistakes - {"general"})[0]}</th>' in page
    for line in hidden_lines():
        assert line not in page
