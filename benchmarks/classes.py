"""A class of learners who hand in the exercise ``head``, for the comparisons that grade it."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import sys
from pathlib import Path
from typing import Any

from benchmarks.comparison import ROOT

ASSIGNMENT = "head"
ANSWER = f"{ASSIGNMENT}-solution"
# What a course that uses nbgrader alone would write: folders, and nothing of this course's.
PLAIN_CONFIG = """\
c = get_config()
c.CourseDirectory.course_id = "plain"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "class/release"
c.CourseDirectory.submitted_directory = "class/submitted"
c.CourseDirectory.autograded_directory = "class/autograded"
c.CourseDirectory.db_url = "sqlite:///class/gradebook.db"
c.ExecutePreprocessor.timeout = 600
"""
NBGRADER = [sys.executable, "-m", "nbgrader"]


def make(folder: Path, learners: int, plain: bool) -> Path:
    """A course in ``folder`` with its submissions, ready to be graded; made only once."""
    if (folder / "ready").is_file():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "solutions" / ASSIGNMENT, folder / "solutions" / ASSIGNMENT)
    (folder / "class").mkdir()
    if plain:
        (folder / "nbgrader_config.py").write_text(PLAIN_CONFIG, encoding="utf-8")
        from benchmarks.watch import watch

        watch([*NBGRADER, "generate_assignment", ASSIGNMENT, "--create"], folder)
    else:
        shutil.copy(ROOT / "nbgrader_config.py", folder)
        from course.grading.classroom import Classroom

        Classroom(folder).prepare(ASSIGNMENT)
    release = folder / "class" / "release" / ASSIGNMENT
    for number in range(learners):
        target = folder / "class" / "submitted" / f"learner-{number:02d}" / ASSIGNMENT
        shutil.copytree(release, target)
        path = target / f"{ASSIGNMENT}.ipynb"
        notebook = json.loads(path.read_text(encoding="utf-8"))
        answered(notebook, number)
        path.write_text(json.dumps(notebook), encoding="utf-8")
    (folder / "ready").touch()
    return folder


def answered(notebook: dict[str, Any], number: int) -> None:
    """Put the model answer in, with a remark that makes each submission one of its own."""
    source = (ROOT / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").read_text(encoding="utf-8")
    (model,) = [c for c in json.loads(source)["cells"] if _id(c) == ANSWER]
    (cell,) = [c for c in notebook["cells"] if _id(c) == ANSWER]
    text = re.sub(r"^ *### (BEGIN|END) SOLUTION\n?", "", "".join(model["source"]), flags=re.M)
    cell["source"] = f"# learner {number}\n{text}"


def _id(cell: dict[str, Any]) -> str:
    return str(cell["metadata"].get("nbgrader", {}).get("grade_id", ""))


def ours(folder: Path, workers: int) -> list[str]:
    """The course's own command."""
    options = ["--root", str(folder), "--jobs", str(workers), "--no-feedback"]
    return [sys.executable, "-m", "course", "grade", ASSIGNMENT, *options]


def plain() -> list[str]:
    """What one types with nbgrader alone."""
    return [*NBGRADER, "autograde", ASSIGNMENT, "--create"]


def points(folder: Path) -> dict[str, float]:
    """Each learner's points by tests, from the gradebook."""
    query = (
        "select s.student_id, sum(g.auto_score) from grade g "
        "join submitted_notebook n on g.notebook_id = n.id "
        "join submitted_assignment s on n.assignment_id = s.id group by s.student_id"
    )
    database = sqlite3.connect(folder / "class" / "gradebook.db")
    try:
        return {student: float(total) for student, total in database.execute(query)}
    finally:
        database.close()
