"""The right distribution over tokens, and whether so many draws fit one."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from course.checks.assignments.gpt.exercise import DRAWS, SAMPLE, SIGMAS
from course.checks.counterexample import CounterExample
from course.checks.engine import Failure, Trial


def distribution(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    *,
    more_k: int = 0,
    more_p: int = 0,
) -> Tensor:
    """The right distribution over tokens (or with so many more or fewer kept). (V,)"""
    s = logits.double() / temperature
    if top_k is not None:
        kept = max(1, min(top_k + more_k, len(s)))
        s = s.masked_fill(s < s.sort(descending=True).values[kept - 1], float("-inf"))
    if top_p is not None:
        p, order = s.softmax(0).sort(descending=True)
        n = int((p.cumsum(0) - p < top_p).sum()) + more_p
        hidden = torch.ones(len(s), dtype=torch.bool)
        hidden[order[: max(1, n)]] = False
        s = s.masked_fill(hidden, float("-inf"))
    return s.softmax(0)


def frequencies(t: Trial, logits: Tensor, options: dict[str, Any]) -> Tensor:
    """How often each token was drawn. (V,)"""
    rows = logits.expand(DRAWS, -1).clone()
    reply = t.subject.ask(
        [
            {
                "op": "call",
                "on": SAMPLE,
                "args": [rows],
                "kwargs": options,
                "seed": t.integer(0, 10**9),
            }
        ]
    )[0]
    out = t.tensor(
        reply["value"], (DRAWS,), f"for logits of shape ({DRAWS}, {len(logits)}) the result"
    )
    t.expect(
        not out.is_floating_point() and out.dtype != torch.bool,
        f"The result should hold token numbers; yours is {out.dtype}.",
    )
    t.expect(bool(((out >= 0) & (out < len(logits))).all()), "Some results are no token numbers.")
    return torch.bincount(out.long(), minlength=len(logits)).double() / DRAWS


def drawn_from(seen: Tensor, p: Tensor) -> bool:
    """Whether frequencies over `DRAWS` draws fit a distribution; what has no chance never comes."""
    spread = (p * (1 - p) / DRAWS).sqrt()
    return bool((((seen - p).abs() <= SIGMAS * spread + 1 / DRAWS) & ((p > 0) | (seen == 0))).all())


def expect_drawn(t: Trial, logits: Tensor, said: str, **options: Any) -> None:
    """Raise `Failure` unless the draws fit the right distribution."""
    seen, p = frequencies(t, logits, options), distribution(logits, **options)
    if not drawn_from(seen, p):
        shown = CounterExample(
            f"sample_next({said}): {DRAWS} draws",
            [("logits", logits), ("yours", seen), ("expected", p)],
        )
        extra = ((p == 0) & (seen > 0)).nonzero().flatten().tolist()
        why = f" Token {extra[0]} should never be drawn." if extra else ""
        raise Failure(
            f"With {said} the frequencies are wrong: for the likeliest token "
            f"{float(seen[p.argmax()]):.3f}, expected {float(p.max()):.3f}.{why}",
            shown,
        )


def spread_logits(t: Trial, V: int = 7) -> Tensor:
    """Logits in random order whose probabilities are well apart."""
    steps = torch.tensor([0.0, 0.7, 1.3, 1.7, 2.5, 2.9, 3.4, 3.9, 4.3][:V])
    return (steps + t.normal(V) * 0.02)[torch.randperm(V, generator=t.rng)]


def clear_logits(t: Trial, p: float, temperature: float) -> Tensor:
    """Logits for which no mass is so near p that rounding could decide."""
    for _ in range(50):
        logits = spread_logits(t)
        mass = (logits.double() / temperature).softmax(0).sort(descending=True).values.cumsum(0)
        if float((mass - p).abs().min()) > 0.01:
            return logits
    return logits
