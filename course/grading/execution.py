"""From a rebuilt notebook to its outputs: what is sent to the sandbox, and what is made of the
answer. In between stands `course.grading.running.run`, here or on another machine.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from course.grading import names as naming
from course.grading.conductor import Cell
from course.grading.database import SourceCell
from course.grading.limits import Limits
from course.grading.outputs import error_output
from course.grading.rebuild import INERT, grade_id
from course.grading.running import grading_code, versions

# ------------------------------------------------------------------------------------- the request


def cells_to_run(notebook: NotebookNode, released: Sequence[SourceCell]) -> list[tuple[int, Cell]]:
    """The code cells in order, with their places in the notebook."""
    tests = {c.grade_id for c in released if c.is_test}
    found: list[tuple[int, Cell]] = []
    for i, cell in enumerate(notebook.cells):
        if cell.cell_type != "code" or cell.metadata.get(INERT):
            continue
        name = grade_id(cell)
        found.append((i, Cell("test" if name in tests else "learner", cell.source, name)))
    return found


def names_of(released: Sequence[SourceCell], source_notebook: Path) -> naming.Names:
    """Whose each name in the tests is, from the instructor's notebook (or the gradebook alone)."""
    stubs = [c.source for c in released if c.solution and c.kind == "code"]
    if not source_notebook.is_file():
        helpers = [(c.source, False, c.locked) for c in released
                   if c.kind == "code" and not c.grade and not c.solution]  # fmt: skip
        names = naming.from_cells(helpers, stubs)
        names.learner = None
        return names
    notebook = nbformat.read(source_notebook, as_version=4)
    cells: list[tuple[str, bool, bool]] = []
    for cell in notebook.cells:
        flags = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and (flags.get("solution") or not flags.get("grade")):
            locked = bool(flags.get("locked")) and not flags.get("solution")
            cells.append((cell.source, bool(flags.get("solution")), locked))
    return naming.from_cells(cells, stubs)


def request(
    cells: Sequence[Cell], names: naming.Names, limits: Limits, *, isolated: bool, seed: int,
    files: Mapping[str, bytes], test_files: Mapping[str, bytes],
) -> dict[str, Any]:  # fmt: skip
    """Everything that `course.grading.running.run` needs, as JSON-able data."""
    pack = {name: base64.b64encode(data).decode() for name, data in files.items()}
    hidden = {name: base64.b64encode(data).decode() for name, data in test_files.items()}
    return {"cells": [asdict(c) for c in cells], "names": names.to_dict(),
            "limits": limits.to_dict(), "isolated": isolated, "seed": seed, "files": pack,
            "test_files": hidden}  # fmt: skip


def fingerprint(asked: Mapping[str, Any]) -> str:
    """A hash of what decides the outcome, the seed left out, the code that grades included."""
    told = {k: v for k, v in asked.items() if k != "seed"}
    total = hashlib.sha256(json.dumps(told, sort_keys=True).encode())
    total.update(json.dumps([versions(), grading_code()], sort_keys=True).encode())
    return total.hexdigest()


# -------------------------------------------------------------------------------------- the answer


def apply(
    notebook: NotebookNode, placed: Sequence[tuple[int, Cell]],
    outcomes: Sequence[Mapping[str, Any]], points: Mapping[str, float],
) -> None:  # fmt: skip
    """Write the outcomes into the notebook as outputs, in the form nbgrader takes scores from."""
    for number, ((i, cell), outcome) in enumerate(zip(placed, outcomes, strict=True), start=1):
        target = notebook.cells[i]
        outputs = list(outcome["outputs"])
        if cell.kind == "test":
            outputs = test_outputs(outcome, points[cell.grade_id], number)
        target.outputs = [nbformat.from_dict(o) for o in outputs]
        target.execution_count = number


def test_outputs(outcome: Mapping[str, Any], most: float, number: int) -> list[dict[str, Any]]:
    """A test cell's outputs. Nothing on standard error (nbgrader takes a warning for a failure),
    and the partial score as the one result."""
    outputs = [{**o, "name": "stdout"} for o in outcome["outputs"] if o["output_type"] == "stream"]
    seen = "".join(o["text"] for o in outputs)
    said = hidden_summary(outcome["reports"], seen)
    if said:
        outputs.append({"output_type": "stream", "name": "stdout", "text": said})
    if outcome["error"]:
        return [*outputs, error_output(outcome["error"])]
    if outcome["points"] is not None:
        earned = min(max(0.0, outcome["points"]), most)
        data = {"text/plain": repr(earned)}
        outputs.append({"output_type": "execute_result", "metadata": {}, "data": data,
                        "execution_count": number})  # fmt: skip
    return outputs


def hidden_summary(reports: Sequence[Mapping[str, Any]], seen: str) -> str:
    """What a learner may read of the checks that ran inside a hidden region: the public sentences.

    Counter-examples stay out (they hold drawn inputs), and so do a hidden test's own words. What
    the visible part of the test has said already (``seen``) is not said again.
    """
    lines: dict[str, None] = {}
    for report in reports:
        if not report.get("hidden"):
            continue
        failed = [c for c in report["checks"] if not c["passed"]]
        for check in failed:
            if check["name"].startswith("extra-"):
                lines["✗ a further hidden check did not pass"] = None
            elif f"✗ {check['name']}" not in seen:
                lines[f"✗ {check['name']}: {check.get('title', 'not yet')}"] = None
        named = zip(report.get("mistakes", ()), report["diagnosis"], strict=False)
        for mistake, sentence in named:
            if mistake != "general" and sentence not in seen:
                lines[f"• {sentence}"] = None
    if not lines:
        return ""
    body = "\n".join(lines)
    return f"On inputs drawn for this grading:\n{body}\nself_check shows an input that differs.\n"


def extra_files(
    folder: Path, submitted: Sequence[str], source: Path
) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Files beside the notebooks: for the worker the learner's, for the judge the instructor's.

    A file of the instructor's reaches the worker only under the name the learner was given it by,
    and in the instructor's version.
    """
    ours: dict[str, bytes] = {}
    if source.is_dir():
        for path in sorted(source.rglob("*")):
            name = path.relative_to(source).as_posix()
            if path.is_file() and path.suffix != ".ipynb" and "__pycache__" not in path.parts:
                ours[name] = path.read_bytes()
    theirs = {}
    for name in submitted:
        path = folder / name
        if name != "timestamp.txt" and path.is_file() and not path.is_symlink():
            released = name in ours and not Path(name).name.startswith("hidden")
            theirs[name] = ours[name] if released else path.read_bytes()
    return theirs, ours
