"""``sample_next``: the wrong distributions people draw from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course.checks.assignments.gpt.exercise import SAMPLE, gpt
from course.checks.assignments.gpt.frequencies import (
    clear_logits,
    distribution,
    drawn_from,
    frequencies,
)
from course.checks.engine import Finding, Trial, agree
from course.checks.subject import Gen


def _top_k_zeroed(z: Tensor, T: float, k: int | None, p: float | None) -> Tensor:
    s = z.double() / T
    if k is None:
        return distribution(z, T, k, p)
    return torch.where(s < s.sort(descending=True).values[min(k, len(s)) - 1], 0.0, s).softmax(0)


def _unsorted(z: Tensor, T: float, k: int | None, p: float | None) -> Tensor:
    if p is None:
        return distribution(z, T, k)
    q = (z.double() / T).softmax(0)
    kept = q * (q.cumsum(0) - q < p)
    return kept / kept.sum()


def _lowest(z: Tensor, T: float, k: int | None, p: float | None) -> Tensor:
    if p is None:
        return distribution(z, T, k)
    q, order = (z.double() / T).softmax(0).sort()
    kept = torch.zeros_like(q)
    kept[order] = q * (q.cumsum(0) - q < p)
    return kept / kept.sum()


def _not_mapped(z: Tensor, T: float, k: int | None, p: float | None) -> Tensor:
    if p is None:
        return distribution(z, T, k)
    n = int((distribution(z, T, k, p) > 0).sum())
    kept = distribution(z, T, k) * (torch.arange(len(z)) < n)
    return kept / kept.sum()


def _each(z: Tensor, T: float, k: int | None, p: float | None, low: bool) -> Tensor:
    if p is None:
        return distribution(z, T, k)
    q = (z.double() / T).softmax(0)
    kept = q * (q >= (1 - p if low else p))
    return kept / kept.sum()


def _before(z: Tensor, T: float, k: int | None, p: float | None) -> Tensor:
    kept = distribution(z, 1.0, k, p) > 0
    return (z.double() / T).masked_fill(~kept, float("-inf")).softmax(0)


def _uniform(z: Tensor, T: float, k: int | None, p: float | None) -> Tensor:
    kept = (distribution(z, T, k, p) > 0).double()
    return kept / kept.sum()


def _one_hot(z: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(z.argmax(), len(z)).double()


Draw = Callable[[Tensor, float, int | None, float | None], Tensor]


DRAWN: dict[str, Draw] = {
    "temperature-multiplied": lambda z, T, k, p: distribution(z, 1 / T, k, p),
    "temperature-ignored": lambda z, T, k, p: distribution(z, 1.0, k, p),
    "temperature-on-probabilities": lambda z, T, k, p: distribution(z.double().softmax(0), T, k, p),
    "always-greedy": lambda z, T, k, p: _one_hot(z),
    "uniform-draw": _uniform,
    "softmax-twice": lambda z, T, k, p: distribution(z, T, k, p).softmax(0),
    "softmax-twice#1": lambda z, T, k, p: distribution((z.double() / T).softmax(0), 1.0, k, p),
    "top-k-one-more": lambda z, T, k, p: distribution(z, T, k, p, more_k=1),
    "top-k-one-less": lambda z, T, k, p: distribution(z, T, k, p, more_k=-1),
    "top-k-ignored": lambda z, T, k, p: distribution(z, T, None, p),
    "top-k-lowest": lambda z, T, k, p: (
        distribution(z, T, None, p)
        if k is None
        else (z.double() / T)
        .masked_fill(z > z.sort().values[min(k, len(z)) - 1], float("-inf"))
        .softmax(0)
    ),
    "top-k-zeroed": _top_k_zeroed,
    "top-p-too-few": lambda z, T, k, p: distribution(z, T, k, p, more_p=-1),
    "top-p-too-many": lambda z, T, k, p: distribution(z, T, k, p, more_p=1),
    "top-p-ignored": lambda z, T, k, p: distribution(z, T, k, None),
    "top-p-each": lambda z, T, k, p: _each(z, T, k, p, True),
    "top-p-each#1": lambda z, T, k, p: _each(z, T, k, p, False),
    "top-p-unsorted": _unsorted,
    "top-p-lowest": _lowest,
    "top-p-not-mapped-back": lambda z, T, k, p: _not_mapped(z, T, k, p),
    "top-p-before-temperature": _before,
    "ranks": lambda z, T, k, p: distribution(z, T, k, p).sort(descending=True).values,
}


@gpt.diagnosis(SAMPLE)
def _sample_faults(t: Trial, failed: set[str]) -> list[Finding]:
    found = _sample_plain_faults(t)
    if found:
        return [gpt.finding(n) for n in found]
    cases = [
        (1.0, None, None),
        (0.5, None, None),
        (1.0, 3, None),
        (1.8, None, 0.8),
        (1.0, None, 0.35),
    ]
    seen = []
    for T, k, p in cases:
        logits = clear_logits(t, p or 2.0, T)
        options = {"temperature": T, "top_k": k, "top_p": p}
        try:
            seen.append((logits, T, k, p, frequencies(t, logits, options)))
        except Exception:  # one case that raises or has a wrong shape; the others tell
            continue
    fitting: dict[str, float] = {}  # name → how far the draws are from it; two can be alike
    for name, draw in DRAWN.items():
        expected = [(draw(lg, T, k, p), distribution(lg, T, k, p), f) for lg, T, k, p, f in seen]
        differs = any(not agree(e, r, 1e-3) for e, r, _ in expected)
        if differs and all(drawn_from(f, e) for e, _, f in expected):
            fitting[name] = sum(float((f - e).square().sum()) for e, _, f in expected)
    return [gpt.finding(min(fitting, key=fitting.__getitem__).split("#")[0])] if fitting else []


def _sample_plain_faults(t: Trial) -> list[str]:
    logits = t.normal(5, 6)
    replies = t.subject.run(
        [
            {"op": "call", "on": SAMPLE, "args": [logits], "kwargs": o, "pure": True}
            for o in (
                {},
                {"temperature": 0.0},
                {"top_k": 50},
                {"temperature": 0.5},
                {"top_k": 2},
                {"top_p": 0.5},
            )
        ]
    )
    plain, zero, large, *_ = replies
    found = []
    out = plain.get("value")
    if any(r.get("changed") for r in replies):
        found.append("edits-logits")
    if isinstance(out, Tensor):
        if out.shape == (5, 1):
            found.append("keeps-dimension")
        elif out.is_floating_point():
            found.append("not-a-token")
        elif out.shape in ((), (1,)):
            found.append("first-row-only")
        else:
            got = zero.get("value")
            if "error" in zero or not isinstance(got, Tensor):
                found.append("zero-temperature")
            elif not torch.equal(got.long(), logits.argmax(-1)):
                found.append("zero-temperature-random")
            if "error" in large:
                found.append("top-k-too-large")
    if found:
        return found
    flat = torch.zeros(300, 20)
    ops = [
        {"op": "call", "on": SAMPLE, "args": [flat], "kwargs": {"generator": Gen(g)}, "seed": s}
        for g, s in ((3, 1), (3, 2), (4, 3), (5, 4), (6, 5))
    ]
    outs: list[Any] = [r.get("value") for r in t.subject.run(ops)]
    if all(isinstance(o, Tensor) and o.shape == (300,) for o in outs):
        one_each = all(len(set(o.tolist())) == 1 for o in outs)
        if one_each and not all(torch.equal(o, outs[0]) for o in outs):
            found.append("one-for-all")
        elif not one_each and not torch.equal(outs[0], outs[1]):
            found.append("generator-ignored")
    return found
