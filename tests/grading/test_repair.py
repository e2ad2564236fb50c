"""Reading and rebuilding notebooks, case by case and without a sandbox."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course.grading import intake, names, rebuild, staging
from course.grading.database import SourceCell


def source_cell(grade_id: str, source: str, **flags: Any) -> SourceCell:
    told = {"kind": "code", "locked": False, "grade": False, "solution": False, "task": False,
            "points": 0.0, "checksum": "c"}  # fmt: skip
    return SourceCell(grade_id=grade_id, source=source, **{**told, **flags})


RELEASED = [
    source_cell("answer", "def f(x):\n    raise NotImplementedError()", solution=True),
    source_cell("test", "assert f(1) == 2\n### BEGIN HIDDEN TESTS\nassert f(2) == 4\n"
                        "### END HIDDEN TESTS", locked=True, grade=True, points=3.0),
    source_cell("essay", "Write here.", kind="markdown", grade=True, solution=True, points=2.0),
]  # fmt: skip


def code(source: str, grade_id: str = "") -> Any:
    cell = nbformat.v4.new_code_cell(source)
    if grade_id:
        cell.metadata["nbgrader"] = {"grade_id": grade_id}
    return cell


def rebuilt(*cells: Any) -> tuple[list[tuple[str, str]], list[str], Any]:
    nb = nbformat.v4.new_notebook(cells=list(cells))
    notes = rebuild.rebuild(nb, RELEASED)
    nbformat.validate(nb)
    return [(rebuild.grade_id(c), c.source) for c in nb.cells], notes, nb


def test_the_order_is_kept_and_what_is_missing_goes_after_its_neighbour() -> None:
    found, notes, nb = rebuilt(code("a"), code("def f(x): return 2 * x", "answer"), code("b"))
    assert [name for name, _ in found] == ["", "answer", "test", "essay", ""]
    assert len(notes) == 2
    assert nb.cells[2].metadata.nbgrader["points"] == 3.0
    assert nb.cells[2].source == RELEASED[1].source


def test_a_deleted_solution_does_not_undo_an_answer_elsewhere() -> None:
    found, notes, nb = rebuilt(code("g = 1"), code("assert f(1) == 2", "test"))
    stub = next(c for c in nb.cells if rebuild.grade_id(c) == "answer")
    assert stub.metadata[rebuild.INERT]
    assert "'answer' was missing" in " ".join(notes)
    assert len(found) == 4


def test_cells_without_metadata_are_recognised() -> None:
    found, notes, _ = rebuilt(code("def f(x):\n    return x"), code("assert f(1) == 2"))
    assert [name for name, _ in found] == ["answer", "test", "essay"]
    assert found[0][1] == "def f(x):\n    return x"
    assert found[1][1] == RELEASED[1].source
    assert sum("recognised" in n for n in notes) == 2


def test_of_copies_the_one_that_was_worked_on_counts() -> None:
    stub = RELEASED[0].source
    answer = "def f(x):\n    return 2 * x"
    for order in ((answer, stub), (stub, answer)):
        _, notes, nb = rebuilt(*[code(s, "answer") for s in order])
        named = [c for c in nb.cells if rebuild.grade_id(c) == "answer"]
        assert [c.source for c in named] == [answer]
        other = next(c for c in nb.cells if c.source == stub)
        assert other.metadata[rebuild.INERT]
        assert "was there 2 times" in notes[0]


def test_a_stranger_keeps_its_cell_and_loses_its_points() -> None:
    found, notes, nb = rebuilt(code("1", "bonus"))
    assert found[0] == ("", "1")
    assert "nbgrader" not in nb.cells[0].metadata
    assert "not part of the assignment" in notes[0]


def test_learners_metadata_is_never_believed() -> None:
    cell = code("assert f(1) == 2", "test")
    cell.metadata["nbgrader"].update(points=100, solution=True, locked=False, checksum="x")
    _, _, nb = rebuilt(code("def f(x): pass", "answer"), cell)
    told = next(c for c in nb.cells if rebuild.grade_id(c) == "test").metadata.nbgrader
    assert (told["points"], told["solution"], told["locked"]) == (3.0, False, True)


cell_soup = st.lists(
    st.tuples(
        st.sampled_from(["code", "markdown", "raw"]),
        st.sampled_from(["", "answer", "test", "essay", "bonus"]),
        st.sampled_from(["", "def f(x): return 2", "assert f(1) == 2", "Write here.", "\0", "💥"]),
    ),
    max_size=8,
)


@given(cell_soup)
def test_whatever_the_cells_the_notebook_is_whole(soup: list[tuple[str, str, str]]) -> None:
    """Every released cell once, with the released metadata; nothing of the learner's is lost."""
    cells = [{"cell_type": kind, "source": source, "metadata": {"nbgrader": {"grade_id": name}}}
             for kind, name, source in soup]  # fmt: skip
    taken = intake.parse(json.dumps({"nbformat": 4, "cells": cells}).encode())
    before = sorted(c.source for c in taken.notebook.cells)
    rebuild.rebuild(taken.notebook, RELEASED)
    nbformat.validate(taken.notebook)
    for released in RELEASED:
        (cell,) = [c for c in taken.notebook.cells if rebuild.grade_id(c) == released.grade_id]
        assert cell.metadata.nbgrader == released.metadata()
        assert cell.cell_type == released.kind
        if released.locked:
            assert cell.source == released.source
    after = sorted(c.source for c in taken.notebook.cells)
    lost = [s for s in before if s not in after]
    locked = [s for _, name, s in soup if name == "test"]
    assert all(s in locked or s == "assert f(1) == 2" or s.replace("�", "\0") in locked
               for s in lost)  # fmt: skip


def read_or_refused(data: bytes) -> bool:
    """Whether a submission is either a valid notebook or refused in words; nothing else escapes."""
    try:
        taken = intake.parse(data)
    except intake.Unreadable as refusal:
        return bool(str(refusal).strip())
    return bool(nbformat.validator.isvalid(taken.notebook))


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    assert read_or_refused(data)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from(["cells", "nbformat", "cell_type", "source", "metadata", "nbgrader"]),
        inner, max_size=5,
    ),
    max_leaves=20,
)  # fmt: skip


@given(json_values)
def test_any_json_is_read_or_refused(value: Any) -> None:
    if isinstance(value, dict):
        value["nbformat"] = 4
    assert read_or_refused(json.dumps(value).encode())


def test_only_a_real_conflict_is_called_one() -> None:
    with pytest.raises(intake.Unreadable, match="conflict"):
        intake.parse(b'{"cells": [\n<<<<<<< HEAD\n  1\n=======\n  2\n>>>>>>> main\n]}')
    nb = nbformat.v4.new_notebook(cells=[code("print('''\n=======\n''')")])
    assert intake.parse(nbformat.writes(nb).encode()).notebook.cells[0].source


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.ipynb"
    with path.open("wb") as handle:
        handle.truncate(intake.LARGEST_FILE + 1)
    taken = intake.read(path)
    assert "clear the outputs" in taken.refused


def test_staging_copies_files_and_checks_the_time(tmp_path: Path) -> None:
    source = tmp_path / "ann" / "tiny"
    (source / "data").mkdir(parents=True)
    (source / "data" / "a.txt").write_text("1")
    (source / "timestamp.txt").write_text("yesterday, I swear")
    (source / staging.SIDECAR).write_text('{"refused": {}}')
    (source / "tiny.ipynb").write_text(nbformat.writes(nbformat.v4.new_notebook()))
    staged = staging.stage(source, tmp_path / "staged", ["tiny"])
    assert staged.files == ["data/a.txt"]
    assert "timestamp.txt holds no time" in " ".join(staged.notes)
    assert staged.refused == {}
    assert staging.load(tmp_path / "staged") == staged
    (source / "timestamp.txt").write_text("2026-03-01 10:00:00 UTC")
    again = staging.stage(source, tmp_path / "staged", ["tiny"])
    assert "timestamp.txt" in again.files
    assert again.sha256 != staged.sha256


def test_whose_a_name_is_decided_by_the_instructors_notebook() -> None:
    cells = [
        ("import torch, numpy as np\nfrom math import pi as π", False, False),
        ("helper = 3\ndef check(): pass", False, True),
        ("class Head: pass\nSIZE = 4", True, False),
    ]
    found = names.from_cells(cells, stubs=["def double(x): pass"])
    assert found.learner == ["Head", "SIZE", "double"]
    assert found.imports["π"] == "from math import pi as π"
    assert set(found.helpers) == {"helper", "check"}
    assert found.is_learners("Head")
    for other in ("torch", "np", "F", "check", "print", "elsewhere"):
        assert not found.is_learners(other)
    assert names.used("y = [f(x) for x in range(3)]\nprint(y)") == {"f", "x", "y"}
    assert names.used("def (") == set()
