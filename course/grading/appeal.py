"""Run a recorded grade again, with the same random inputs, and compare. Changes nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import nbformat

from course.grading import database, execution, record, running, staging
from course.grading.classroom import Classroom, ClassroomError
from course.grading.cohort import Cohort


@dataclass
class Again:
    """A recorded grade beside the same grade run now.

    Attributes:
        tests: ``(grade_id, recorded score, score now, points)``.
        differences: what is not as it was then: files, versions, tests. Empty if nothing.
    """

    notebook: str
    graded_at: str
    seed: int
    tests: list[tuple[str, float, float, float]] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    @property
    def confirmed(self) -> bool:
        """Whether every test gives what it gave."""
        return all(old == now for _, old, now, _ in self.tests)


def run_again(room: Classroom, assignment: str, student: str) -> list[Again]:
    """Run the newest recorded grade of each of a learner's notebooks again.

    Raises:
        ClassroomError: there is no record, or the submission was refused and nothing ran.
    """
    records = {name: r for (who, name), r in record.latest(room.folder("records"), assignment)
               .items() if who == student}  # fmt: skip
    if not records:
        raise ClassroomError(f"There is no record of a grade of {student}'s {assignment}.")
    cohort = Cohort(room, assignment)
    (task,) = cohort.tasks([student])
    found = []
    for name, old in sorted(records.items()):
        if old["refused"]:
            raise ClassroomError(f"{name} was refused, nothing was run: {old['refused']}")
        if name not in task.requests:
            raise ClassroomError(f"{name} cannot be run now: {task.staged.refused[name]}")
        asked = {**task.requests[name], "seed": old["seed"], "limits": old["limits"]}
        result = running.run(asked)
        again = Again(name, old["graded_at"], old["seed"], differences=_differ(old, task.staged,
                      result, task.fingerprints[name]))  # fmt: skip
        points = {c.grade_id: c.points for c in
                  database.source_cells(room.db_url, assignment, name) if c.is_test}  # fmt: skip
        recorded = {t["grade_id"]: t["score"] for t in old["tests"]}
        for cell, outcome in zip(asked["cells"], result["outcomes"], strict=True):
            grade_id = cell["grade_id"]
            if cell["kind"] == "test":
                outputs = execution.test_outputs(outcome, points[grade_id], 1)
                now = _score(outputs, points[grade_id])
                then = float(recorded.get(grade_id, 0.0))
                again.tests.append((grade_id, then, now, points[grade_id]))
        found.append(again)
    return found


def _score(outputs: list[dict[str, Any]], points: float) -> float:
    from nbgrader.utils import determine_grade

    cell = nbformat.v4.new_code_cell(outputs=[nbformat.from_dict(o) for o in outputs])
    cell.metadata["nbgrader"] = {"grade": True, "grade_id": "x", "points": points}
    return float(determine_grade(cell)[0] or 0)


def _differ(
    old: dict[str, Any], staged: staging.Staged, result: dict[str, Any], fingerprint: str
) -> list[str]:
    said = []
    if old["submission_sha256"] != staged.sha256:
        said.append("the submission is another one")
    for name, now in result["versions"].items():
        then = old["versions"].get(name)
        if then != now:
            said.append(f"{name} was {then} and is {now}")
    if old["grading_code"] != result["grading_code"]:
        said.append("the checks or the grader have changed")
    elif not said and old["fingerprint"] != fingerprint:
        said.append("the tests or the limits have changed")
    return said
