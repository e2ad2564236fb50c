"""JavaScript's numbers, wording and arrays are Python's."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path

import numpy as np
import pytest

from course.widgets import ScaledSoftmax, arithmetic, base
from tests.conftest import require_tool
from tests.widgets.cases import CASES
from tests.widgets.harness import Case, assert_same, javascript_numbers, state_of


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.slug)
def test_javascript_computes_what_python_computes(case: Case, tmp_path: Path) -> None:
    widget = case.make()
    states, expected = [], []
    for state in case.states:
        for name, value in state.items():
            setattr(widget, name, value)
        states.append(state_of(widget))
        expected.append(widget.numbers())
    found = javascript_numbers(widget._esm, states, tmp_path)
    for state, python, javascript in zip(case.states, expected, found, strict=True):
        assert_same(python, javascript, f"{case.name}{dict(state)}")


def run_frame(expression: str, given: object) -> object:
    """An expression in the frame's functions, evaluated by Node; ``given`` is its argument."""
    source = (base.HERE / "frame.js").read_text(encoding="utf-8")
    script = (
        f"{source}\nconst given = {json.dumps(given)};\nconsole.log(JSON.stringify({expression}));"
    )
    out = subprocess.run(
        [require_tool("node"), "--input-type=module", "-e", script],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return json.loads(out.stdout)


def test_numbers_are_written_alike() -> None:
    values = [0.125, 0.375, 2.5, -2.5, -0.001, 1234567.891, 0.0, 1e-9, 0.9995, 99.95, 1e15, 1 / 3]
    given = [(v, d, g) for v in values for d in (0, 1, 2, 3) for g in (False, True)]
    assert run_frame("given.map((a) => fixed(...a))", given) == [
        arithmetic.fixed(*a) for a in given
    ]


def test_templates_are_filled_alike() -> None:
    templates = ["{a} {b.c:.1f} {n:,d} {p:.0%} {p:%} {list.1:.2f} {none:.2f} {none}", "no fields"]
    data = {"a": "x", "b": {"c": 0.25}, "n": 124439808, "p": 0.125, "list": [1, 2.345]}
    found = run_frame(
        "given.templates.map((t) => fill(t, given.data))", {"templates": templates, "data": data}
    )
    assert found == [arithmetic.fill(t, data) for t in templates]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32", "int16", "uint8"])
def test_arrays_arrive_exactly(dtype: str) -> None:
    array = np.array([[0, 1, 2.5], [100.25, 6e-8, 0.333]]).astype(dtype)
    found = run_frame("[Array.from(unpack(given)), unpack(given).shape]", arithmetic.pack(array))
    assert found == [array.astype(np.float64).ravel().tolist(), [2, 3]]
    back = arithmetic.unpack(arithmetic.pack(array))
    assert back is not None
    assert back.dtype == array.dtype
    assert np.array_equal(back, array)


def test_an_array_the_page_cannot_read_is_refused() -> None:
    with pytest.raises(TypeError, match="complex128"):
        arithmetic.pack(np.zeros(2, dtype=np.complex128))


def test_softmax_masks_exactly_and_leaves_an_empty_row_empty() -> None:
    rows = arithmetic.softmax([[0.0, -math.inf, 1.0], [-math.inf] * 3])
    assert rows[0, 1] == 0.0
    assert rows[0].sum() == pytest.approx(1, abs=1e-15)
    assert rows[1].tolist() == [0.0, 0.0, 0.0]
    found = run_frame(
        "[softmax([0, -Infinity, 1]), softmax([-Infinity, -Infinity, -Infinity])]", None
    )
    assert_same(rows, found)


def test_the_stream_of_normal_numbers_is_normal_and_can_be_entered_anywhere() -> None:
    x = arithmetic.normals(3, 0, 200_000)
    assert abs(x.mean()) < 0.01
    assert abs(x.var() - 1) < 0.015
    assert abs((x**4).mean() - 3) < 0.1
    assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 0.01
    assert np.array_equal(arithmetic.normals(3, 1000, 10), x[1000:1010])
    assert not np.array_equal(arithmetic.normals(4, 0, 10), x[:10])
    with pytest.raises(ValueError, match="start 1"):
        arithmetic.normals(0, 1, 2)


@pytest.mark.parametrize("d_k", [4, 5, 8, 16, 23, 64, 100, 256, 512, 777, 1024])
def test_divided_rows_attend_to_about_forty_tokens_at_any_width(d_k: int) -> None:
    n = ScaledSoftmax(d_k=d_k).numbers()
    assert 38 < n["divided"]["mean_tokens"] < 43
    assert abs(n["divided"]["mean_trace"] - 0.96) < 0.012
    if d_k >= 1024:
        assert n["undivided"]["mean_tokens"] < 1.3
        assert n["undivided"]["frozen"] > 0.6


def test_strings_can_be_replaced_and_unknown_ones_are_named() -> None:
    assert ScaledSoftmax(strings={"title": "عنوان"}).strings["title"] == "عنوان"
    with pytest.raises(ValueError, match="titel"):
        ScaledSoftmax(strings={"titel": "x"})
    with pytest.raises(base.traitlets.TraitError, match="2000"):
        ScaledSoftmax(d_k=2000)


def test_where_no_javascript_runs_the_text_says_it() -> None:
    widget = ScaledSoftmax(d_k=256)
    assert widget.readout() in repr(widget)
    assert "dₖ = 256" in widget.readout()
