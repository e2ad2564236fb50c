"""``make grade ASSIGNMENT=head && make clean``: the real Makefile; every grade is still there."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from tests.grading.lab import ROOT


@pytest.fixture
def course_folder(tmp_path: Path, require_tool: Callable[[str], Path]) -> Path:
    """A clone as ``make setup`` leaves it, but for .venv/bin/python, which is this Python."""
    for tool in ("bwrap", "make"):
        require_tool(tool)
    root = tmp_path / "course folder"
    root.mkdir()
    for name in ("Makefile", "nbgrader_config.py"):
        shutil.copy(ROOT / name, root)
    shutil.copytree(ROOT / "solutions" / "head", root / "solutions" / "head")
    (root / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "clean.py", root / ".ci")
    (root / ".ci" / "setup_env.py").write_text("", encoding="utf-8")  # nothing to install
    python = root / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return root


def make(root: Path, *words: str) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["make", *words], cwd=root, capture_output=True, text=True, check=False, timeout=280,
        env={**os.environ, "PATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(600)
def test_grades_outlive_make_clean(course_folder: Path) -> None:
    model = (course_folder / "solutions/head/head.ipynb").read_text(encoding="utf-8")
    for name, text in (("ann", model), ("bob", model.replace("math.sqrt", "float"))):
        folder = course_folder / "class" / "submitted" / name / "head"
        folder.mkdir(parents=True)
        (folder / "head.ipynb").write_text(text, encoding="utf-8")
    said = make(course_folder, "grade", "ASSIGNMENT=head")
    assert f"Report: {course_folder}/class/reports/head.html" in said
    (course_folder / "_build" / "html").mkdir(parents=True)
    before = {p: p.read_bytes() for p in (course_folder / "class").rglob("*") if p.is_file()}
    make(course_folder, "clean")
    assert not (course_folder / "_build" / "html").exists()
    assert {
        p: p.read_bytes() for p in (course_folder / "class").rglob("*") if p.is_file()
    } == before
    with Gradebook(f"sqlite:///{course_folder}/class/gradebook.db") as gradebook:
        scores = {s.student.id: s.score for s in gradebook.assignment_submissions("head")}
        most = gradebook.find_assignment("head").max_score
    assert scores["ann"] == most
    assert 0 < scores["bob"] < most
    with (course_folder / "class/reports/head.csv").open(newline="") as handle:
        assert {r["student_id"]: float(r["score"]) for r in csv.DictReader(handle)} == scores
    for name in scores:
        assert (course_folder / f"class/feedback/{name}/head/head.html").is_file()
    # Graded again after cleaning: everything is known, nothing is run.
    assert "0 graded, 2 unchanged" in make(course_folder, "grade", "ASSIGNMENT=head")
