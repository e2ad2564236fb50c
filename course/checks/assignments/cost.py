"""``tiled_attention(q, k, v, tile)``: causal attention without ever holding a T × T tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from course.checks.counterexample import small_matrices
from course.checks.engine import Exercise, Finding, Trial, agree, difference
from course.checks.functional import check_values, edits, find_variants, results

ON = "tiled_attention"

MISTAKES = {
    "holds-a-square": "You hold a T × T tensor (all the scores, or a whole mask): make only a "
    "tile of "
    "it at a time, tile × tile or T × tile.",
    "keeps-all-tiles": "You keep all the tiles of scores or weights at once: together they are the "
    "T × T tensor. Use each tile and let go of it.",
    "not-divided": "Your scores are not divided by √D.",
    "divided-by-tile": "Your scores are divided by the root of the tile: divide by √D, the width.",
    "not-causal": "Every query sees all the keys: a query sees the keys up to its own place.",
    "diagonal-tile-open": "Whole tiles of the future are skipped, but inside the tile on the "
    "diagonal "
    "nothing is masked: there, too, key j is hidden from query i where j > i.",
    "diagonal-tile-missing": "The tile on the diagonal is left out.",
    "tile-local-mask": "Your mask compares places within a tile: add the tiles' starts, and "
    "compare "
    "places in the sequence.",
    "tile-local-softmax": "You take a softmax inside each tile and add the results: the sum over "
    "the "
    "keys runs over ALL tiles, so keep the running maximum and sum and rescale.",
    "tile-softmax-averaged": "You average the tiles' softmaxes: tiles have different sums, so "
    "keep the "
    "running maximum and sum and rescale.",
    "no-rescale": "When the running maximum grows, what you have summed so far has to shrink by "
    "exp(old maximum − new maximum), sums and values both.",
    "sum-not-rescaled": "You rescale the values gathered so far but not the sum of weights (or the "
    "other way round): both have to shrink by exp(old maximum − new maximum).",
    "no-maximum": "Large scores overflow: keep a running maximum for each row and subtract it.",
    "ragged-tile-lost": "The last, shorter tile is lost when tile does not divide T: step with "
    "range(0, T, tile).",
    "tile-must-divide": "Your function needs T to be a multiple of tile: the last tile may be "
    "shorter.",
    "only-first-tile": "Only the first tile of keys (or only the query's own) is attended to.",
    "edits-input": "You edit an argument in place: make a new tensor.",
    "fixed-dtype": "The result does not have the type of q.",
    "no-batch": "Only (T, D) works: leading dimensions, (B, H, T, D), have to work as well.",
    "not-normalised": "You never divide by the sum of the exponentials.",
}

cost = Exercise(
    "cost",
    "Attention in tiles",
    (ON,),
    MISTAKES,
    refused=(
        "scaled_dot_product_attention",
        "MultiheadAttention",
        "flex_attention",
        "multi_head_attention_forward",
    ),
)


def _scores(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5


def _may(T: int) -> tuple[Tensor, Tensor]:
    return torch.arange(T)[:, None], torch.arange(T)[None, :]


def _plain(q: Tensor, k: Tensor, v: Tensor, may: Tensor, factor: float = 1.0) -> Tensor:
    s = (_scores(q.double(), k.double()) * factor).masked_fill(~may, float("-inf"))
    return (s.softmax(-1) @ v.double()).to(q.dtype)


def right(q: Tensor, k: Tensor, v: Tensor, tile: int) -> Tensor:
    """Plain causal attention."""
    i, j = _may(q.shape[-2])
    return _plain(q, k, v, j <= i)


def _where(condition: Callable[[Tensor, Tensor, int, int], Tensor]) -> Callable[..., Tensor]:
    """A wrong oracle whose mask is a condition on (i, j, tile, T); empty rows are zero."""

    def wrong(q: Tensor, k: Tensor, v: Tensor, tile: int) -> Tensor:
        T = q.shape[-2]
        i, j = _may(T)
        return _plain(q, k, v, condition(i, j, tile, T).expand(T, T)).nan_to_num(0.0)

    return wrong


def _tiles(T: int, tile: int) -> Iterator[tuple[int, int]]:
    for a in range(0, T, tile):
        yield a, min(a + tile, T)


def _local(average: bool) -> Callable[..., Tensor]:
    def wrong(q: Tensor, k: Tensor, v: Tensor, tile: int) -> Tensor:
        T = q.shape[-2]
        i, j = _may(T)
        total, count = torch.zeros_like(q @ k.transpose(-2, -1) @ v), torch.zeros(T, 1)
        for a, b in _tiles(T, tile):
            part = _plain(q, k[..., a:b, :], v[..., a:b, :], (j <= i)[:, a:b]).nan_to_num(0.0)
            total = total + part
            count += (i >= a).to(count.dtype)
        return total / count if average else total

    return wrong


def _running(values: bool, sums: bool, stop: bool = False) -> Callable[..., Tensor]:
    """The tile trick with part of its rescaling left out."""

    def wrong(q: Tensor, k: Tensor, v: Tensor, tile: int) -> Tensor:
        T = q.shape[-2]
        i, j = _may(T)
        s = _scores(q, k).masked_fill(j > i, float("-inf"))
        top = torch.full_like(s[..., :1], float("-inf"))
        mass, out = torch.zeros_like(top), torch.zeros_like(s @ v)
        for a, b in _tiles(T, tile):
            new = torch.maximum(top, s[..., a:b].amax(-1, keepdim=True))
            shrink = (top - new).exp()
            e = (s[..., a:b] - new).exp()
            mass = mass * (shrink if sums else 1.0) + e.sum(-1, keepdim=True)
            out = out * (shrink if values else 1.0) + e @ v[..., a:b, :]
            top = new
        return out if stop else out / mass

    return wrong


VARIANTS: dict[str, Callable[..., Tensor]] = {
    "not-divided": lambda q, k, v, tile: right(q * q.shape[-1] ** 0.5, k, v, tile),
    "divided-by-tile": lambda q, k, v, tile: right(q * (q.shape[-1] / tile) ** 0.5, k, v, tile),
    "not-causal": _where(lambda i, j, n, T: j >= 0),
    "diagonal-tile-open": _where(lambda i, j, n, T: j // n <= i // n),
    "diagonal-tile-missing": _where(lambda i, j, n, T: j // n < i // n),
    "tile-local-mask": _where(lambda i, j, n, T: (j // n <= i // n) & (j % n <= i % n)),
    "tile-local-mask#1": _where(lambda i, j, n, T: j % n <= i % n),
    "only-first-tile": _where(lambda i, j, n, T: (j < n) & (j <= i)),
    "only-first-tile#1": _where(lambda i, j, n, T: (j // n == i // n) & (j <= i)),
    "ragged-tile-lost": _where(lambda i, j, n, T: (j <= i) & (j < T // n * n)),
    "ragged-tile-lost#1": lambda q, k, v, tile: _lose_rows(q, k, v, tile),
    "tile-local-softmax": _local(False),
    "tile-softmax-averaged": _local(True),
    "no-rescale": _running(False, False),
    "sum-not-rescaled": _running(True, False),
    "sum-not-rescaled#1": _running(False, True),
    "not-normalised": _running(True, True, stop=True),
}


def _lose_rows(q: Tensor, k: Tensor, v: Tensor, tile: int) -> Tensor:
    out = right(q, k, v, tile)
    out[..., q.shape[-2] // tile * tile :, :] = 0.0
    return out


def _case(t: Trial, *shape: int, tile: int, wide: int | None = None) -> list[Any]:
    v = t.normal(*shape[:-1], wide or shape[-1])
    return [t.normal(*shape, sd=1.5), t.normal(*shape, sd=1.5), v, tile]


def _small() -> Iterator[list[Any]]:
    for T, tile in ((1, 1), (2, 1), (2, 2), (3, 2), (4, 2)):
        for q in small_matrices(T, 1):
            for k in list(small_matrices(T, 1))[2:4]:
                yield [q, k, torch.arange(1.0, T + 1)[:, None], tile]


@cost.prop("values", 4, "Equal to plain causal attention, at many lengths and tiles")
def _values(t: Trial) -> None:
    cases = [_case(t, 2, T, 5, tile=n) for T, n in ((1, 1), (2, 1), (8, 4), (8, 8), (9, 3))]
    cases += [_case(t, 3, 12, 4, tile=4), _case(t, 6, 7, tile=2)]
    check_values(
        t,
        ON,
        cases,
        right,
        tol=2e-5,
        small=_small(),
        labels=("q", "k", "v"),
        loosen=(0, 1),
        said=lambda c: f"q {tuple(c[0].shape)} and tile {c[3]}",
    )


@cost.prop("ragged", 2, "tile need not divide T, and may be longer than T")
def _ragged(t: Trial) -> None:
    cases = [_case(t, 2, T, 3, tile=n) for T, n in ((7, 3), (5, 4), (10, 7), (3, 8), (1, 5))]
    check_values(
        t,
        ON,
        cases,
        right,
        tol=2e-5,
        small=_small(),
        labels=("q", "k", "v"),
        loosen=(),
        said=lambda c: f"q {tuple(c[0].shape)} and tile {c[3]}",
    )


@cost.prop("memory", 3, "No T × T tensor is ever held: not the scores, not the weights, not a mask")
def _memory(t: Trial) -> None:
    T, D, tile = 128, 4, 8
    q, k, v, _ = _case(t, T, D, tile=tile)
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
    q, k, v, _ = _case(t, 2, T, 5, tile=tile)
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
        q, k, v, tile = _case(t, 2, 8, 4, tile=3)
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
    case = _case(t, 2, 3, 6, 4, tile=4)
    t.expect(not edits(t, ON, case), "An argument is edited in place.")
    check_values(
        t,
        ON,
        [case, _case(t, 5, 3, tile=2, wide=7)],
        right,
        tol=2e-5,
        said=lambda c: f"q {tuple(c[0].shape)}, v {tuple(c[2].shape)}",
    )
    double: list[Any] = [a.double() if isinstance(a, Tensor) else a for a in case]
    (out,) = results(t, ON, [double])
    t.expect(out.dtype == torch.float64, f"With float64 arguments the result is {out.dtype}.")
    t.expect(agree(out, right(*double), 1e-5), "With float64 arguments the values are wrong.")


@cost.diagnosis()
def _variants(t: Trial, failed: set[str]) -> list[Finding]:
    cases = [_case(t, 2, 7, 3, tile=3), _case(t, 2, 8, 5, tile=2), _case(t, 2, 6, 4, tile=4)]
    found = find_variants(t, cost, ON, cases, right, VARIANTS, tol=2e-5)
    if found:
        return found
    replies = t.subject.run(
        [
            {"op": "call", "on": ON, "args": c}
            for c in (
                _case(t, 2, 8, 3, tile=4),
                _case(t, 2, 7, 3, tile=4),
                _case(t, 8, 3, tile=4),
                _case(t, 2, 2, 8, 3, tile=4),
            )
        ]
    )
    ok = ["value" in r for r in replies]
    if ok[0] and not ok[1]:
        return [cost.finding("tile-must-divide")]
    return [cost.finding("no-batch")] if (ok[2] and not ok[3]) or (ok[0] and not ok[3]) else []


@cost.diagnosis()
def _others(t: Trial, failed: set[str]) -> list[Finding]:
    found = []
    if "memory" in failed and "values" not in failed:
        q, k, v, _ = _case(t, 128, 4, tile=8)
        reply = t.subject.run([{"op": "call", "on": ON, "args": [q, k, v, 8], "watch": True}])[0]
        large = int(reply.get("largest", 0)) >= 128 * 64
        found.append("holds-a-square" if large else "keeps-all-tiles")
    if "stable" in failed and "values" not in failed:
        found.append("no-maximum")
    if "clean" in failed and "values" not in failed:
        case = _case(t, 2, 5, 3, tile=2)
        if edits(t, ON, case):
            found.append("edits-input")
        else:
            double: list[Any] = [a.double() if isinstance(a, Tensor) else a for a in case]
            out = t.subject.run([{"op": "call", "on": ON, "args": double}])[0].get("value")
            if not isinstance(out, Tensor) or out.dtype != torch.float64:
                found.append("fixed-dtype")
    return [cost.finding(f) for f in found]
