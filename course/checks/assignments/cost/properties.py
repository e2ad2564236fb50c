"""What must hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from course.checks.assignments.cost.exercise import ON, cost
from course.checks.assignments.cost.oracle import draw_case, right
from course.checks.counterexample import small_matrices
from course.checks.engine import Trial, agree, difference
from course.checks.functional import check_values, edits, results


def _small() -> Iterator[list[Any]]:
    for T, tile in ((1, 1), (2, 1), (2, 2), (3, 2), (4, 2)):
        for q in small_matrices(T, 1):
            for k in list(small_matrices(T, 1))[2:4]:
                yield [q, k, torch.arange(1.0, T + 1)[:, None], tile]


def _equal(t: Trial, cases: list[list[Any]], loosen: tuple[int, ...]) -> None:
    """Compare with plain causal attention; ``loosen`` as in ``check_values``."""
    check_values(
        t,
        ON,
        cases,
        right,
        tol=2e-5,
        small=_small(),
        labels=("q", "k", "v"),
        loosen=loosen,
        said=lambda c: f"q {tuple(c[0].shape)} and tile {c[3]}",
    )


@cost.prop("values", 4, "Equal to plain causal attention, at many lengths and tiles")
def _values(t: Trial) -> None:
    cases = [draw_case(t, 2, T, 5, tile=n) for T, n in ((1, 1), (2, 1), (8, 4), (8, 8), (9, 3))]
    cases += [draw_case(t, 3, 12, 4, tile=4), draw_case(t, 6, 7, tile=2)]
    _equal(t, cases, loosen=(0, 1))


@cost.prop("ragged", 2, "tile need not divide T, and may be longer than T")
def _ragged(t: Trial) -> None:
    cases = [draw_case(t, 2, T, 3, tile=n) for T, n in ((7, 3), (5, 4), (10, 7), (3, 8), (1, 5))]
    _equal(t, cases, loosen=())


@cost.prop("memory", 3, "No T × T tensor is ever held: not the scores, not the weights, not a mask")
def _memory(t: Trial) -> None:
    T, D, tile = 128, 4, 8
    q, k, v, _ = draw_case(t, T, D, tile=tile)
    (reply,) = t.subject.ask([{"op": "call", "on": ON, "args": [q, k, v, tile], "watch": True}])
    t.tensor(reply["value"], (T, D))
    largest, peak = int(reply["largest"]), int(reply["peak"])
    t.expect(
        largest < T * T // 2,
        f"With T = {T} and tile = {tile} you make a tensor of {largest} "
        f"numbers; the square has {T * T}, a tile {tile * tile}, a strip {T * tile}.",
    )
    t.expect(
        peak < T * T * 3 // 4,
        f"With T = {T} and tile = {tile} you hold {peak} numbers at once, "
        f"nearly the square's {T * T}: let go of each tile after using it.",
    )


@cost.prop("causal", 1, "No output depends on a later token, across tiles and inside one")
def _causal(t: Trial) -> None:
    T, tile = 9, 4
    q, k, v, _ = draw_case(t, 2, T, 5, tile=tile)
    base, *others = results(
        t, ON, [[q, k, v, tile]] + [[q, _nudge(k, j), _nudge(v, j), tile] for j in range(T)]
    )
    t.tensor(base, q.shape)
    for j, other in enumerate(others):
        t.expect(
            agree(other[:, :j], base[:, :j], 1e-5),
            f"Changing key and value {j} changed an output before it (T = {T}, tile = {tile}).",
        )
        t.expect(
            not agree(other[:, j], base[:, j], 1e-7),
            f"Changing key and value {j} did not change output {j}.",
        )


def _nudge(x: Tensor, j: int) -> Tensor:
    y = x.clone()
    y[:, j] += 1.0
    return y


@cost.prop(
    "stable", 1, "Scores of ±1e4 neither overflow nor underflow, in whichever order they come"
)
def _stable(t: Trial) -> None:
    for order in (1, -1):
        q, k, v, tile = draw_case(t, 2, 8, 4, tile=3)
        ramp = torch.linspace(-1, 1, 8)[:, None] * order
        case = [q.abs() * 100, k.abs() * 100 * ramp, v, tile]
        (out,) = results(t, ON, [case])
        t.tensor(out, q.shape)
        t.expect(bool(torch.isfinite(out).all()), "Scores of ±1e4 give NaN or infinite outputs.")
        t.expect(
            agree(out, right(*case), 2e-2),
            f"With scores of ±1e4 the values are wrong. {difference(out, right(*case))}",
        )


@cost.prop(
    "clean", 1, "Nothing edited; leading dimensions and types kept; v may have another width"
)
def _clean(t: Trial) -> None:
    case = draw_case(t, 2, 3, 6, 4, tile=4)
    t.expect(not edits(t, ON, case), "An argument is edited in place.")
    check_values(
        t,
        ON,
        [case, draw_case(t, 5, 3, tile=2, wide=7)],
        right,
        tol=2e-5,
        said=lambda c: f"q {tuple(c[0].shape)}, v {tuple(c[2].shape)}",
    )
    double: list[Any] = [a.double() if isinstance(a, Tensor) else a for a in case]
    (out,) = results(t, ON, [double])
    t.expect(out.dtype == torch.float64, f"With float64 arguments the result is {out.dtype}.")
    t.expect(agree(out, right(*double), 1e-5), "With float64 arguments the values are wrong.")
