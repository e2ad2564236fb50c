"""Finite differences: they pass what is right, corners and float32 included, and nothing else."""

import pytest
import torch

from course.checks.engine import Exercise, Failure, Trial
from course.checks.gradients import expect_gradients
from course.checks.subject import LocalSubject
from course.checks.toolkit import Target

ROOMY = """import torch
def f(x, w):
    return (x @ w).relu() @ w.T
"""
SOFT = """import torch
def f(x, w):
    return (x @ w).float().softmax(-1).to(x.dtype) @ w.T
"""
PART_DETACHED = """import torch
def f(x, w):
    h = (x @ w).relu()
    return (h + h.detach()) @ w.T / 2
"""
CUT_OFF = """import torch
def f(x, w):
    with torch.no_grad():
        return x @ w
"""


def compare(source: str, seed: int) -> None:
    t = Trial(Exercise("none", "", ("f",), {}), LocalSubject.from_source(source), seed, "g")
    w = t.normal(6, 40, dtype=torch.float64)
    expect_gradients(Target(t, "f", (w,)), t.normal(4, 9, 6, dtype=torch.float64), inputs=(0, 1))


def refused(source: str, seeds: range) -> dict[int, str]:
    """The seeds with which the gradient is called wrong, and what is said of it."""
    said = {}
    for seed in seeds:
        try:
            compare(source, seed)
        except Failure as failure:
            said[seed] = str(failure)
    return said


@pytest.mark.parametrize("source", [ROOMY, SOFT], ids=["corners", "float32"])
def test_a_right_gradient_passes_with_every_seed(source):
    assert refused(source, range(150)) == {}


@pytest.mark.parametrize("seed", range(5))
def test_a_wrong_gradient_is_told_with_both_slopes(seed):
    with pytest.raises(Failure, match=r"argument 1 is .* really changes by"):
        compare(PART_DETACHED, seed)


def test_a_missing_gradient_is_told():
    with pytest.raises(Failure, match="No gradient reaches argument 1"):
        compare(CUT_OFF, 0)


AT_A_CORNER = """first = []
def f(x, w):
    if not first:
        first.append(x.detach().clone())
    z = x[0, 0, 0] - first[0][0, 0, 0] + 1e-9
    return x * w[0, 0] + 100 * z.relu()
"""


def test_at_a_corner_the_slope_of_one_side_is_right():
    """No step is short enough for both sides together: a billionth before relu's corner."""
    assert refused(AT_A_CORNER, range(20)) == {}


def test_the_long_step_alone_would_trip_over_a_corner(monkeypatch):
    from course.checks import gradients

    monkeypatch.setattr(gradients, "STEPS", gradients.STEPS[:1])
    assert refused(ROOMY, range(150))
