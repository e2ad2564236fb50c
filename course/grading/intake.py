"""Read a submitted notebook, whatever it is: a clean notebook comes out, or a reason for a zero.

Nothing of the file survives but the cells' kind, text and grade_id: no outputs, no tags (so
``skip-execution`` means nothing), no attachments, no widget state, no metadata of its own.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

LARGEST_FILE = 20 << 20
MOST_CELLS = 1000
_CONFLICT = re.compile(rb"^(<<<<<<< |>>>>>>> |=======\r?$)", re.MULTILINE)
KINDS = ("code", "markdown", "raw")


class Unreadable(ValueError):
    """The file holds no notebook; the message is meant for the learner."""


@dataclass
class Intake:
    """A notebook to grade, or the reason why there is none.

    Attributes:
        notebook: clean; for a refused submission it has no cells.
        refused: why every point is lost, for the learner; empty if nothing is wrong.
        notes: what was repaired, for learner and instructor.
    """

    notebook: NotebookNode
    refused: str = ""
    notes: list[str] = field(default_factory=list)


def refuse(reason: str) -> Intake:
    """An intake without a notebook."""
    return Intake(_notebook([]), refused=reason)


def read(path: Path) -> Intake:
    """Read a submission's notebook; never raises for what a learner may hand in."""
    try:
        if path.is_symlink() or not path.is_file():
            raise Unreadable("it is a link or no ordinary file")
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise Unreadable(
                f"the file has {size / 2**20:.0f} MB, more than the {LARGEST_FILE >> 20} MB "
                "allowed: clear the outputs and save it"
            )
        return parse(path.read_bytes())
    except (Unreadable, OSError) as error:
        said = str(error) if isinstance(error, Unreadable) else (error.strerror or "it failed")
        return refuse(f"{path.name} could not be read: {said}.")


def parse(data: bytes) -> Intake:
    """The clean notebook in ``data``.

    Raises:
        Unreadable: there is none; the message says what is there instead.
    """
    notes: list[str] = []
    text = _decode(data, notes)
    try:
        raw = json.loads(text)
    except RecursionError as error:
        raise Unreadable("the JSON is nested too deeply") from error
    except ValueError as error:
        if _CONFLICT.search(data):
            raise Unreadable(
                "it has the conflict markers of git in it (<<<<<<<, =======, >>>>>>>): solve the "
                "conflict, open the notebook to see that it works, and hand it in again"
            ) from error
        raise Unreadable(f"it is not valid JSON ({error})") from error
    return Intake(_notebook(_cells(raw, notes)), notes=notes)


def _decode(data: bytes, notes: list[str]) -> str:
    if not data.strip():
        raise Unreadable("the file is empty")
    encodings = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
    encoding = next((e for mark, e in encodings.items() if data.startswith(mark)), "utf-8")
    if encoding != "utf-8":
        notes.append("The file began with a byte-order mark, which was left out.")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise Unreadable(f"it is not text in UTF-8 (byte {error.start})") from error


def _cells(raw: Any, notes: list[str]) -> list[NotebookNode]:
    if not isinstance(raw, dict) or "nbformat" not in raw:
        raise Unreadable("it is JSON, but no notebook")
    if raw.get("nbformat") != 4:
        try:
            raw = json.loads(json.dumps(nbformat.convert(nbformat.from_dict(raw), 4)))
            notes.append("The notebook was in an old format and was converted.")
        except Exception as error:  # nbformat's converters raise anything
            raise Unreadable(f"its format {raw.get('nbformat')!r} is not known") from error
    cells = raw.get("cells")
    if not isinstance(cells, list):
        raise Unreadable("it has no list of cells")
    if len(cells) > MOST_CELLS:
        raise Unreadable(f"it has {len(cells)} cells, more than {MOST_CELLS}")
    clean = [_cell(cell) for cell in cells]
    if any(isinstance(cell, dict) and cell.get("attachments") for cell in cells):
        notes.append(
            "Pictures pasted into text cells are not kept; they are in the file handed in."
        )
    lost = sum(cell is None for cell in clean)
    if lost:
        notes.append(f"{lost} entries that were no cells were left out.")
    return [cell for cell in clean if cell is not None]


def _cell(raw: Any) -> NotebookNode | None:
    if not isinstance(raw, dict) or raw.get("cell_type") not in KINDS:
        return None
    source = raw.get("source", "")
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    if not isinstance(source, str):
        return None
    # A lone surrogate or a NUL can be written in JSON and nowhere else.
    source = source.encode("utf-8", "replace").decode("utf-8").replace("\0", "�")
    cell = _new_cell(raw["cell_type"], source)
    grade_id = _grade_id(raw.get("metadata"))
    if grade_id:
        cell.metadata["nbgrader"] = {"grade_id": grade_id}
    return cell


def _grade_id(metadata: Any) -> str:
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
    return grade_id if isinstance(grade_id, str) and len(grade_id) <= 200 else ""


def _new_cell(kind: str, source: str) -> NotebookNode:
    make = {"code": nbformat.v4.new_code_cell, "markdown": nbformat.v4.new_markdown_cell,
            "raw": nbformat.v4.new_raw_cell}[kind]  # fmt: skip
    return make(source)


def _notebook(cells: list[NotebookNode]) -> NotebookNode:
    return nbformat.v4.new_notebook(cells=cells)
