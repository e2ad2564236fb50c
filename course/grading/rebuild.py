"""Make a submitted notebook whole again, from what the gradebook knows of the released one.

Learners copy cells, delete them, change their type, open the notebook in a program that drops
metadata. Each case is repaired and noted; nothing here can stop a grading.
"""

from __future__ import annotations

from collections.abc import Sequence

import nbformat
from nbformat import NotebookNode

from course.grading import names
from course.grading.database import SourceCell
from course.grading.regions import redact

INERT = "course_not_run"  # a cell that was put back and must not override the learner's own


def rebuild(notebook: NotebookNode, released: Sequence[SourceCell]) -> list[str]:
    """Repair the notebook in place and say what was done, one sentence each."""
    known = {cell.grade_id: cell for cell in released}
    notes: list[str] = []
    _drop_unknown(notebook, known, notes)
    _drop_copies(notebook, known, notes)
    _recognise(notebook, released, notes)
    _put_back(notebook, released, notes)
    for cell in notebook.cells:
        source = known.get(grade_id(cell))
        if source is not None:
            _restore(cell, source, notes)
    return notes


def grade_id(cell: NotebookNode) -> str:
    """The cell's grade_id, or an empty string."""
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))


def _drop_unknown(notebook: NotebookNode, known: dict[str, SourceCell], notes: list[str]) -> None:
    for cell in notebook.cells:
        name = grade_id(cell)
        if name and name not in known:
            notes.append(f"A cell called {name!r} is not part of the assignment; it was kept as "
                         "an ordinary cell.")  # fmt: skip
            del cell.metadata["nbgrader"]


def _drop_copies(notebook: NotebookNode, known: dict[str, SourceCell], notes: list[str]) -> None:
    """Of several cells with one id keep the last that was worked on; the others stay, unnamed."""
    groups: dict[str, list[NotebookNode]] = {}
    for cell in notebook.cells:
        if grade_id(cell):
            groups.setdefault(grade_id(cell), []).append(cell)
    for name, cells in groups.items():
        if len(cells) == 1:
            continue
        worked_on = [c for c in cells if c.source.strip() != known[name].source.strip()]
        keep = (worked_on or cells)[-1] if known[name].solution else cells[-1]
        for cell in cells:
            if cell is not keep:
                del cell.metadata["nbgrader"]
                if known[name].solution and cell not in worked_on:
                    cell.metadata[INERT] = True  # an untouched copy would undo the answer
        notes.append(f"The cell {name!r} was there {len(cells)} times; one of them counts.")


def _recognise(notebook: NotebookNode, released: Sequence[SourceCell], notes: list[str]) -> None:
    """Give cells that lost their metadata their ids back: locked ones by their text, solution
    cells by the names they define."""
    present = {grade_id(cell) for cell in notebook.cells}
    for source in released:
        if source.grade_id in present:
            continue
        free = [c for c in notebook.cells if not grade_id(c)]
        if source.solution:
            wanted = names.bound(source.source)
            match = [c for c in free if c.cell_type == source.kind == "code"
                     and wanted & names.bound(c.source)]  # fmt: skip
        else:
            text = _bare(source.source)
            match = [c for c in free if text and _bare(c.source) == text]
        if match:
            match[-1].metadata["nbgrader"] = {"grade_id": source.grade_id}
            notes.append(f"The cell {source.grade_id!r} had lost its metadata and was recognised.")


def _bare(source: str) -> str:
    return "\n".join(line.strip() for line in redact(source, "").split("\n") if line.strip())


def _put_back(notebook: NotebookNode, released: Sequence[SourceCell], notes: list[str]) -> None:
    """Insert what is missing after the released cell that comes before it, else at the end."""
    at = {grade_id(c): i for i, c in enumerate(notebook.cells) if grade_id(c)}
    after: dict[int, list[NotebookNode]] = {}
    last = len(notebook.cells) - 1
    before: int | None = None
    for source in released:
        if source.grade_id in at:
            before = at[source.grade_id]
            continue
        cell = _new(source)
        if source.solution:
            cell.metadata[INERT] = True
        after.setdefault(last if before is None else before, []).append(cell)
        notes.append(f"The cell {source.grade_id!r} was missing and was put back.")
    if not after:
        return
    cells: list[NotebookNode] = list(after.get(-1, ()))
    for i, cell in enumerate(notebook.cells):
        cells += [cell, *after.get(i, ())]
    notebook.cells = cells


def _new(source: SourceCell) -> NotebookNode:
    make = nbformat.v4.new_code_cell if source.kind == "code" else nbformat.v4.new_markdown_cell
    cell = make(source.source)
    cell.metadata["nbgrader"] = {"grade_id": source.grade_id}
    return cell


def _restore(cell: NotebookNode, source: SourceCell, notes: list[str]) -> None:
    if cell.cell_type != source.kind:
        notes.append(f"The cell {source.grade_id!r} had become a {cell.cell_type} cell.")
        _retype(cell, source.kind)
    if source.locked and cell.source != source.source:
        if _bare(cell.source) != _bare(source.source):
            notes.append(f"The locked cell {source.grade_id!r} had been edited; the released text "
                         "was run.")  # fmt: skip
        cell.source = source.source
    cell.metadata["nbgrader"] = source.metadata()


def _retype(cell: NotebookNode, kind: str) -> None:
    cell.cell_type = kind
    for key in ("outputs", "execution_count", "attachments"):
        cell.pop(key, None)
    if kind == "code":
        cell.outputs = []
        cell.execution_count = None
