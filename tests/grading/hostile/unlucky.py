"""What happens to honest notebooks on their way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import nbformat

from tests.grading.hostile.case import FULL, NOTHING, Case, edited
from tests.grading.lab import Lab, find, is_cell


def unlucky() -> Iterator[Case]:
    """What happens to honest notebooks on their way: rebuilt, and noted."""
    yield edited("as-released", FULL, lambda nb: None)
    yield edited("copied-solution", FULL, _copy("answer"), says="was there 2 times")
    yield edited("copied-stub", FULL, _copy_stub, says="was there 2 times")
    yield edited("copied-test", FULL, _copy("hidden"), says="was there 2 times")
    yield edited("no-metadata", FULL, _strip, says="lost its metadata")
    yield edited("odd-metadata", FULL, _odd_metadata)
    yield edited("retyped-solution", FULL, _retype("answer", "markdown"), says="had become a")
    yield edited("retyped-test", FULL, _retype("hidden", "raw"), says="had become a raw cell")
    yield edited("deleted-test", FULL, _delete("hidden"), says="was put back")
    yield edited("deleted-tests", FULL, _delete("visible", "hidden", "partial"),
                 says="was put back")  # fmt: skip
    yield edited("deleted-solution", NOTHING, _delete("answer"), says="was put back")
    yield edited("deleted-all", NOTHING, lambda nb: nb.cells.clear(), says="was put back")
    yield edited("unknown-cell", FULL, _unknown, says="not part of the assignment")
    yield edited("not-a-cell", FULL, lambda nb: nb.cells.extend([3, None, {"cell_type": "x"}]),
                 says="no cells were left out")  # fmt: skip
    yield edited("old-format", FULL, _old_format)
    yield edited("source-lists", FULL, _source_lists)
    yield edited("surrogates", FULL, lambda nb: nb.cells.append(
        {"cell_type": "code", "source": "# \ud800 \x00", "metadata": {}, "outputs": []}
    ))  # fmt: skip

    def with_bom(lab: Lab, who: str) -> None:
        text = json.dumps(lab.notebook())
        lab.submit(who, b"\xef\xbb\xbf" + text.encode())

    def utf16(lab: Lab, who: str) -> None:
        lab.submit(who, json.dumps(lab.notebook()).encode("utf-16"))

    yield Case("byte-order-mark", FULL, with_bom, "byte-order mark")
    yield Case("utf-16", FULL, utf16, "byte-order mark")


def _copy(name: str) -> Callable[[Any], None]:
    def edit(nb: Any) -> None:
        at = next(i for i, c in enumerate(nb.cells) if is_cell(c, name))
        nb.cells.insert(at + 1, nbformat.from_dict(json.loads(json.dumps(nb.cells[at]))))

    return edit


def _copy_stub(nb: Any) -> None:
    """The learner kept an untouched copy of the stub, below the answer."""
    at = next(i for i, c in enumerate(nb.cells) if is_cell(c, "answer"))
    stub = nbformat.from_dict(json.loads(json.dumps(nb.cells[at])))
    stub.source = 'def double(x):\n    """Twice x."""\n    # YOUR CODE HERE\n    ' \
                  "raise NotImplementedError()"  # fmt: skip
    nb.cells.insert(at + 1, stub)


def _strip(nb: Any) -> None:
    for cell in nb.cells:
        cell.metadata = {}
    nb.metadata = {}


def _odd_metadata(nb: Any) -> None:
    nb.metadata = {"kernelspec": {"name": "nonsense"}, "language_info": 3}
    for cell in nb.cells:
        cell.metadata["nbgrader"] = {**cell.metadata.get("nbgrader", {}), "schema_version": 99,
                                     "grade": "yes", "locked": None, "points": "NaN"}  # fmt: skip


def _retype(name: str, kind: str) -> Callable[[Any], None]:
    return lambda nb: find(nb, name).update(cell_type=kind)


def _delete(*names: str) -> Callable[[Any], None]:
    def edit(nb: Any) -> None:
        nb.cells = [c for c in nb.cells if not any(is_cell(c, n) for n in names)]

    return edit


def _unknown(nb: Any) -> None:
    cell = nbformat.v4.new_code_cell("1 + 1")
    cell.metadata["nbgrader"] = {"grade_id": "bonus", "grade": True, "points": 50}
    nb.cells.append(cell)


def _old_format(nb: Any) -> None:
    nb.nbformat_minor = 2
    for cell in nb.cells:
        cell.pop("id", None)


def _source_lists(nb: Any) -> None:
    for cell in nb.cells:
        cell["source"] = cell["source"].splitlines(keepends=True)
