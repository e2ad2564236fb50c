"""Grades for a learning management system: the columns that Canvas and Moodle import.

``nbgrader export --exporter=course.grading.exports.CanvasExport --to=canvas.csv`` (and
``MoodleExport``); ``--assignment`` and ``--student`` choose, as with nbgrader's own exporter. Who
has not submitted gets an empty cell, which both systems leave as it is.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin

from course.files import atomic_write_text
from course.grading.classroom import Classroom
from course.grading.report import plain_cell


def grades(
    gradebook: Gradebook, assignments: Sequence[str] = (), students: Sequence[str] = ()
) -> tuple[list[tuple[str, float]], list[tuple[Any, list[float | None]]]]:
    """The assignments with their points, and for each student one score (or ``None``) for each."""
    chosen = [a for a in gradebook.assignments if not assignments or a.name in assignments]
    chosen.sort(key=lambda a: str(a.name))
    rows: list[tuple[Any, list[float | None]]] = []
    for student in sorted(gradebook.students, key=lambda s: str(s.id)):
        if students and student.id not in students:
            continue
        rows.append((student, [_score(gradebook, a.name, student.id) for a in chosen]))
    return [(str(a.name), float(a.max_score)) for a in chosen], rows


def _score(gradebook: Gradebook, assignment: str, student: str) -> float | None:
    try:
        found = gradebook.find_submission(assignment, student)
    except MissingEntry:
        return None
    return max(0.0, float(found.score) - float(found.late_submission_penalty or 0.0))


def _text(rows: Sequence[Sequence[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        writer.writerow(["" if x is None else plain_cell(x) if isinstance(x, str) else f"{x:g}"
                         for x in row])  # fmt: skip
    return out.getvalue()


def canvas(gradebook: Gradebook, assignments: Sequence[str], students: Sequence[str]) -> str:
    """Canvas's gradebook import: learners are found by ``SIS Login ID``, our student id."""
    columns, rows = grades(gradebook, assignments, students)
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *[n for n, _ in columns]]
    points = ["    Points Possible", "", "", "", "", *[p for _, p in columns]]
    body = []
    for student, scores in rows:
        name = ", ".join(part for part in (student.last_name, student.first_name) if part)
        body.append([name or student.id, "", "", student.id, "", *scores])
    return _text([head, points, *body])


def moodle(gradebook: Gradebook, assignments: Sequence[str], students: Sequence[str]) -> str:
    """Moodle's grade import: map ``Username`` (our student id) or ``Email address`` there."""
    columns, rows = grades(gradebook, assignments, students)
    head = ["Username", "First name", "Last name", "Email address",
            *[f"Assignment: {n} (Real)" for n, _ in columns]]  # fmt: skip
    body = [[s.id, s.first_name or "", s.last_name or "", s.email or "", *scores]
            for s, scores in rows]  # fmt: skip
    return _text([head, *body])


FORMATS = {"canvas": canvas, "moodle": moodle}


def export_to(room: Classroom, assignment: str, kind: str) -> Path:
    """Write ``class/reports/<assignment>-<kind>.csv``; its path."""
    path = room.folder("reports") / f"{assignment}-{kind}.csv"
    with Gradebook(room.db_url) as gradebook:
        atomic_write_text(path, FORMATS[kind](gradebook, [assignment], []))
    return path


class CanvasExport(ExportPlugin):
    """Writes the columns that Canvas imports."""

    kind = "canvas"

    def export(self, gradebook: Gradebook) -> None:
        """Write to ``--to``, or ``canvas.csv``."""
        text = FORMATS[self.kind](gradebook, list(self.assignment), list(map(str, self.student)))
        atomic_write_text(Path(self.to or f"{self.kind}.csv"), text)


class MoodleExport(CanvasExport):
    """Writes the columns that Moodle imports."""

    kind = "moodle"
