"""``apply_rope`` (Su et al. 2021), interleaved or half-split."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course.checks.assignments.positions.exercise import BASE, ROPE, positions
from course.checks.counterexample import CounterExample
from course.checks.engine import Failure, Finding, Trial, agree, difference
from course.checks.functional import edits, results
from course.checks.gradients import expect_gradients
from course.checks.toolkit import Target


def rope(
    x: Tensor,
    positions: Tensor,
    base: float = BASE,
    *,
    pairs: str = "interleaved",
    angles: str | None = None,
    exponent: float = 1.0,
    turn: str = "right",
    start: int = 0,
    own_positions: bool = False,
    degrees: bool = False,
) -> Tensor:
    """Turn pairs of features. x (…, T, D), positions (T,)."""
    T, D = x.shape[-2:]
    pos = torch.arange(T) if own_positions else positions
    freq = base ** (-exponent * torch.arange(0, D, 2, dtype=torch.float64) / D)
    if turn == "same":
        freq = torch.ones_like(freq)
    theta = (pos.double()[:, None] + start) * freq  # (T, D/2)
    if degrees:
        theta = theta * 180 / math.pi
    c, s = theta.cos().to(x.dtype), theta.sin().to(x.dtype)
    if pairs == "interleaved":
        a, b = x[..., 0::2], x[..., 1::2]
    else:
        a, b = x[..., : D // 2], x[..., D // 2 :]
    if angles is not None:  # pairs of one kind with the other kind's angles, feature by feature
        full = torch.cat([c, c], -1) if angles == "halves" else c.repeat_interleave(2, -1)
        fulls = torch.cat([s, s], -1) if angles == "halves" else s.repeat_interleave(2, -1)
        other = (
            torch.stack([-b, a], -1).flatten(-2)
            if pairs == "interleaved"
            else torch.cat([-b, a], -1)
        )
        return x * full + other * fulls
    first, second = {
        "right": (a * c - b * s, a * s + b * c),
        "same": (a * c - b * s, a * s + b * c),
        "other": (a * c + b * s, b * c - a * s),
        "no-cross": (a * c, b * c),
        "both-sines": (a * c, b * s),
        "unsigned": (a * c + b * s, a * s + b * c),
        "unsigned-minus": (a * c - b * s, b * c - a * s),
        "half": (a * c - b * s, b),
        "added": (a + s, b + c),
    }[turn]
    if pairs == "interleaved":
        return torch.stack([first, second], -1).flatten(-2)
    return torch.cat([first, second], -1)


def either(out: Tensor, make: Callable[[str], Tensor], tol: float = 5e-5) -> bool:
    """Whether the result is right with interleaved or with half-split pairs."""
    return any(agree(out, make(p), tol) for p in ("interleaved", "halves"))


ROPE_VARIANTS: dict[str, dict[str, Any]] = {
    "rope-other-way": {"turn": "other"},
    "rope-missing-cross": {"turn": "no-cross"},
    "rope-missing-cross#1": {"turn": "both-sines"},
    "rope-same-frequency": {"turn": "same"},
    "rope-exponent": {"exponent": 0.5},
    "rope-exponent#1": {"exponent": 2.0},
    "rope-exponent#2": {"exponent": -1.0},
    "rope-ignores-positions": {"own_positions": True},
    "rope-ignores-base": {"base": BASE},
    "rope-unsigned": {"turn": "unsigned"},
    "rope-unsigned#1": {"turn": "unsigned-minus"},
    "rope-half-only": {"turn": "half"},
    "rope-positions-from-one": {"start": 1},
    "rope-degrees": {"degrees": True},
    "rope-added": {"turn": "added"},
}


@positions.prop(
    "rope-values", 4, "Pair i is turned by position · base^(−2i/D), interleaved or half-split", ROPE
)
def _rope_values(t: Trial) -> None:
    kinds: set[str] = set()
    for lead, D, base in (((), 4, BASE), ((2,), 6, 500.0), ((2, 3), 8, BASE), ((1,), 2, 10.0)):
        T = t.integer(3, 7)
        x = t.normal(*lead, T, D)
        pos = torch.randint(0, 200, (T,), generator=t.rng)
        out = t.tensor(t.subject.call(ROPE, x, pos, base), x.shape, "apply_rope's result")
        fits = {
            p for p in ("interleaved", "halves") if agree(out, rope(x, pos, base, pairs=p), 2e-4)
        }
        if not fits:
            right = rope(x, pos, base)
            raise Failure(
                f"For x {tuple(x.shape)}, positions {pos.tolist()} and base {base:g} the "
                f"values are wrong. {difference(out, right)}",
                _rope_example(t),
            )
        kinds = kinds & fits if kinds else fits
    t.expect(bool(kinds), "You pair features in one way here and in another there.")
    x = t.normal(2, 5, 6)
    pos = torch.arange(5)
    default = t.subject.call(ROPE, x, pos)
    t.expect(
        either(default, lambda p: rope(x, pos, BASE, pairs=p)),
        "Without base the default of 10000 should be used.",
    )


def _rope_example(t: Trial) -> CounterExample | None:
    x = torch.tensor([[1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 1.0, 0.0]])
    pos = torch.tensor([0, 1])
    out = t.subject.call(ROPE, x, pos)
    if not isinstance(out, Tensor) or out.dim() != 2:
        return None
    return CounterExample(
        "apply_rope(x, positions) with positions 0 and 1",
        [
            ("x", x),
            ("yours", out),
            ("interleaved pairs", rope(x, pos)),
            ("half-split pairs", rope(x, pos, pairs="halves")),
        ],
    )


@positions.prop(
    "rope-relative", 2, "Scores of turned queries and keys depend on t − s only; lengths stay", ROPE
)
def _rope_relative(t: Trial) -> None:
    q, k = t.normal(1, 8), t.normal(1, 8)
    t0, s0 = t.integer(0, 40), t.integer(0, 40)
    shift = t.integer(1, 60)
    cases = [[v, torch.tensor([p])] for p0 in (0, shift) for v, p in ((q, t0 + p0), (k, s0 + p0))]
    a, b, c, d = (t.tensor(o, (1, 8)) for o in results(t, ROPE, cases))
    t.expect(
        abs(float((a * b).sum() - (c * d).sum())) < 1e-3,
        f"Query at {t0}, key at {s0}: both {shift} later, their score changed.",
    )
    t.expect(abs(float(a.norm() - q.norm())) < 1e-3, "A turned vector should keep its length.")
    (still,) = results(t, ROPE, [[q, torch.tensor([0])]])
    t.close(still, q, "At position 0 nothing turns.")
    far = results(t, ROPE, [[q, torch.tensor([7])]])[0]
    t.expect(not agree(far, q, 1e-3), "At position 7 nothing turned.")


@positions.prop("rope-clean", 1, "Nothing edited, gradients right, types kept", ROPE)
def _rope_clean(t: Trial) -> None:
    x, pos = t.normal(2, 4, 6), torch.tensor([3, 0, 9, 1])
    t.expect(not edits(t, ROPE, [x, pos]), "An argument is edited in place.")
    for dtype in ("float64", "bfloat16", "float16"):
        (out,) = results(t, ROPE, [[x.to(getattr(torch, dtype)), pos]])
        got = str(getattr(out, "dtype", "")).removeprefix("torch.")
        t.expect(got == dtype, f"With {dtype} x the result is {got}; it should stay {dtype}.")
    expect_gradients(Target(t, ROPE, (pos,)), x.double())


@positions.diagnosis(ROPE)
def _rope_faults(t: Trial, failed: set[str]) -> list[Finding]:
    pos = torch.tensor([3, 11, 4, 0, 25])
    cases: list[list[Any]] = [[t.normal(2, 5, 8), pos, 500.0], [t.normal(5, 4), pos + 2, 500.0]]
    replies = t.subject.run([{"op": "call", "on": ROPE, "args": c} for c in cases])
    outs: list[Any] = [r.get("value") for r in replies]
    if all(isinstance(o, Tensor) for o in outs):
        for name, options in ROPE_VARIANTS.items():
            for pairs in ("interleaved", "halves"):
                if all(
                    agree(
                        o, rope(*c[: 2 if "base" in options else 3], pairs=pairs, **options), 2e-4
                    )
                    for o, c in zip(outs, cases, strict=True)
                ):
                    return [positions.finding(name.split("#")[0])]
        for pairs, angles in (("interleaved", "halves"), ("halves", "interleaved")):
            if all(
                agree(o, rope(*c, pairs=pairs, angles=angles), 2e-4)
                for o, c in zip(outs, cases, strict=True)
            ):
                return [positions.finding("rope-mixed-pairs")]
    if edits(t, ROPE, cases[0]):
        return [positions.finding("edits-input")]
    square = [t.normal(4, 4, 4, 4), torch.tensor([3, 1, 4, 0])]
    out = t.subject.run([{"op": "call", "on": ROPE, "args": square}])[0].get("value")
    for axis in (0, 1):
        x = square[0].transpose(axis, -2)
        wrong = {
            p: rope(x, square[1], pairs=p).transpose(axis, -2) for p in ("interleaved", "halves")
        }
        if isinstance(out, Tensor) and either(out, lambda p, w=wrong: w[p]):  # type: ignore[misc]
            return [positions.finding("rope-wrong-axis")]
    if "rope-values" not in failed and "rope-clean" in failed:
        half = results(t, ROPE, [[cases[0][0].double(), pos]])[0]
        kept = isinstance(half, Tensor) and half.dtype == torch.float64
        return [positions.finding("detached" if kept else "fixed-dtype")]
    return []
