"""What the gradebook says about an assignment, as plain data: the cells and their points."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import Gradebook, MissingEntry


@dataclass(frozen=True)
class SourceCell:
    """One released cell: what it is, and its text (hidden tests included, solutions removed)."""

    grade_id: str
    kind: str  # code or markdown
    source: str
    locked: bool
    grade: bool
    solution: bool
    task: bool
    points: float
    checksum: str | None

    @property
    def is_test(self) -> bool:
        """A locked cell that gives points by running."""
        return self.kind == "code" and self.grade and not self.solution

    def metadata(self) -> dict[str, Any]:
        """nbgrader's metadata of this cell, as it was released."""
        found: dict[str, Any] = {
            "grade_id": self.grade_id, "grade": self.grade, "solution": self.solution,
            "locked": self.locked, "task": self.task, "cell_type": self.kind,
            "schema_version": 3,
        }  # fmt: skip
        if self.grade or self.task:
            found["points"] = self.points
        if self.checksum:
            found["checksum"] = self.checksum
        return found

    def to_dict(self) -> dict[str, Any]:
        """All fields, for a hash."""
        return asdict(self)


def notebook_names(db_url: str, assignment: str) -> list[str]:
    """The notebooks of an assignment, in order; empty if the gradebook does not know it."""
    with Gradebook(db_url) as gradebook:
        try:
            return sorted(n.name for n in gradebook.find_assignment(assignment).notebooks)
        except MissingEntry:
            return []


def source_cells(db_url: str, assignment: str, notebook: str) -> list[SourceCell]:
    """The released cells of a notebook, in order.

    Raises:
        MissingEntry: the gradebook does not know the notebook.
    """
    with Gradebook(db_url) as gradebook:
        found = gradebook.find_notebook(notebook, assignment)
        points = {c.name: float(c.max_score) for c in [*found.grade_cells, *found.task_cells]}
        grades = {c.name for c in found.grade_cells}
        solutions = {c.name for c in found.solution_cells}
        tasks = {c.name for c in found.task_cells}
        return [
            SourceCell(
                grade_id=c.name, kind=str(getattr(c.cell_type, "value", c.cell_type)),
                source=c.source or "", locked=bool(c.locked), grade=c.name in grades,
                solution=c.name in solutions, task=c.name in tasks,
                points=points.get(c.name, 0.0), checksum=c.checksum,
            )
            for c in found.source_cells
        ]  # fmt: skip


def kernelspec(db_url: str, assignment: str, notebook: str) -> str | None:
    """The kernel the notebook was released with, as JSON."""
    with Gradebook(db_url) as gradebook:
        spec = gradebook.find_notebook(notebook, assignment).kernelspec
        return str(spec) if spec else None


def stale_cells(db_url: str, assignment: str, notebook: str, source: Path) -> list[str]:
    """Locked cells whose text in the instructor's notebook is not the gradebook's."""
    if not source.is_file():
        return []
    known = {c.grade_id: c for c in source_cells(db_url, assignment, notebook)}
    stale: list[str] = []
    for cell in nbformat.read(source, as_version=4).cells:
        flags = cell.metadata.get("nbgrader", {})
        name = flags.get("grade_id")
        if not name or flags.get("solution"):
            continue
        there = known.get(name)
        if (
            there is None
            or there.source != cell.source
            or (there.grade and there.points != float(flags.get("points", 0)))
        ):
            stale.append(name)
    return stale
