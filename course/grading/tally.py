"""One line per learner: the gradebook's scores beside what the records know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nbgrader.api import Gradebook, MissingEntry

from course.grading import record
from course.grading.classroom import Classroom

ODD_ERRORS = {
    "TestDidNotEnd": "a test did not end",
    "ProcessEnded": "the code ended or crashed its process",
    "OutOfTime": "the code ran out of time",
    "ProtocolError": "the code disturbed its process",
    "ModuleNotFoundError": "a module is not there where submissions run",
    "ImportError": "a module could not be loaded where submissions run",
}


@dataclass
class Line:
    """A learner's row in the report.

    Attributes:
        score: with manual scores, without the late penalty.
        mistakes: names of the mistakes that the checks recognised, with their sentences.
        look: why somebody should look at this submission; empty if nobody need.
    """

    student: str
    score: float = 0.0
    max_score: float = 0.0
    penalty: float = 0.0
    mistakes: dict[str, str] = field(default_factory=dict)
    look: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    graded_at: str = ""
    isolation: str = ""
    sha256: str = ""

    @property
    def total(self) -> float:
        """What counts: score less penalty, never below zero."""
        return max(0.0, self.score - self.penalty)


def tally(room: Classroom, assignment: str, failed: Mapping[str, str]) -> list[Line]:
    """Rows for everybody who has submitted, sorted by name."""
    records: dict[str, list[dict[str, Any]]] = {}
    for (student, _), found in record.latest(room.folder("records"), assignment).items():
        records.setdefault(student, []).append(found)
    students = sorted({*room.students(assignment), *records})
    lines: list[Line] = []
    with Gradebook(room.db_url) as gradebook:
        for student in students:
            line = Line(student)
            for found in records.get(student, ()):
                _add_record(line, found)
            _add_scores(line, gradebook, assignment)
            if student in failed:
                line.look.insert(0, f"not graded: {failed[student]}")
            lines.append(line)
    return lines


def _add_record(line: Line, found: Mapping[str, Any]) -> None:
    line.notes += found["notes"]
    line.graded_at = max(line.graded_at, found["graded_at"])
    line.isolation = found.get("isolation", line.isolation)
    line.sha256 = found["submission_sha256"]
    if found["refused"]:
        line.look.append(found["refused"])
    if found.get("isolation") == "none":
        line.look.append("graded without isolation")
    for test in found["tests"]:
        error = test["error"]
        if error and error["type"] in ODD_ERRORS:
            line.look.append(f"{test['grade_id']}: {ODD_ERRORS[error['type']]}")
        for report in test["reports"]:
            named = zip(report.get("mistakes", ()), report["diagnosis"], strict=False)
            for mistake, sentence in named:
                if mistake != "general":
                    line.mistakes.setdefault(mistake, sentence)
    line.look += [n for n in found["notes"] if "put back" in n or "timestamp" in n or "link" in n]


def _add_scores(line: Line, gradebook: Gradebook, assignment: str) -> None:
    try:
        submission = gradebook.find_submission(assignment, line.student)
    except MissingEntry:
        if not line.look:
            line.look.append("not graded")
        return
    line.score, line.max_score = float(submission.score), float(submission.max_score)
    line.penalty = float(submission.late_submission_penalty or 0.0)
    if submission.needs_manual_grade:
        line.look.append("an answer needs a manual grade")
    line.look = list(dict.fromkeys(line.look))


def common_mistakes(lines: Sequence[Line]) -> list[tuple[str, int, str]]:
    """``(mistake, how many learners made it, one sentence said about it)``, the commonest first."""
    count = Counter(m for line in lines for m in line.mistakes)
    sentence = {m: s for line in lines for m, s in line.mistakes.items()}
    return [(m, n, sentence[m]) for m, n in count.most_common()]
