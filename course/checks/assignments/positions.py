"""``sinusoidal``, ``apply_rope`` and ``alibi_bias``: three ways to say where a token stands."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course.checks.counterexample import CounterExample
from course.checks.engine import Exercise, Failure, Finding, Trial, agree, difference
from course.checks.functional import edits, results
from course.checks.toolkit import Target, expect_gradients

SIN, ROPE, ALIBI = "sinusoidal", "apply_rope", "alibi_bias"
BASE = 10000.0

MISTAKES = {
    "sin-halves": "All sines come first and all cosines after them; in the paper they alternate: "
    "column 2i is a sine, column 2i + 1 the cosine of the same angle.",
    "sin-cos-swapped": "Sines and cosines are exchanged: even columns are sines.",
    "sin-exponent-not-doubled": "The exponent of column 2i is 2i / d_model: yours counts i / "
    "d_model, "
    "so that the wavelengths reach only the square root of 10000.",
    "sin-exponent-doubled-twice": "Your exponent is twice as large as it should be: the even "
    "columns' "
    "own numbers are 2i already.",
    "sin-each-column-its-own": "Each column has its own frequency; a sine and the cosine after it "
    "share one.",
    "sin-base": "Your base is not 10000.",
    "sin-positions-from-one": "Positions count from 0: the first row is 0, 1, 0, 1, …",
    "sin-multiplied": "The position is divided by 10000^(2i/d), yours is multiplied.",
    "sin-transposed": "Your result is (d_model, T): rows are positions.",
    "sin-batched": "Your result has a further dimension: return exactly (T, d_model).",
    "sin-normalised": "Your positions are divided by T: they are whole numbers 0, 1, 2, …",
    "sin-only": "Only sines are there: odd columns are cosines.",
    "sin-two-pi": "You multiply the angle by 2π: the angle is pos / 10000^(2i/d) as it is.",
    "rope-other-way": "You turn the wrong way: (a, b) becomes (a cos − b sin, a sin + b cos).",
    "rope-missing-cross": "The crossing terms are missing: (a, b) becomes (a cos − b sin, "
    "a sin + b cos).",
    "rope-same-frequency": "All pairs turn at the same speed: pair i turns by "
    "position · base^(−2i/D).",
    "rope-exponent": "The exponent of pair i is 2i / D.",
    "rope-ignores-positions": "You count 0 … T − 1 and ignore the positions given: they may start "
    "anywhere.",
    "rope-ignores-base": "The base argument has no effect.",
    "rope-mixed-pairs": "You pair the features one way and give out the angles the other: with "
    "halves, feature i goes with i + D/2, with interleaved pairs 2i with 2i + 1, angles likewise.",
    "rope-added": "You add an encoding: rotary positions TURN pairs of features.",
    "rope-unsigned": "Both crossing terms have the same sign: it is a cos − b sin, but a sin + b "
    "cos.",
    "rope-wrong-axis": "You turn along the wrong dimension: T is the last but one, D the last.",
    "rope-half-only": "Only half of the features are turned.",
    "rope-positions-from-one": "You add 1 to the positions: position 0 turns nothing.",
    "rope-degrees": "Your angles are in degrees: sin and cos take radians.",
    "edits-input": "You edit an argument in place: make a new tensor.",
    "fixed-dtype": "The result does not have the type of x.",
    "detached": "The result is cut off from the gradient.",
    "alibi-sign": "Your bias grows with distance: it is MINUS the slope times the distance, a "
    "penalty.",
    "alibi-symmetric": "Your bias punishes the future too: it is zero on and above the diagonal "
    "(the mask is somebody else's business).",
    "alibi-transposed": "Rows and columns are exchanged: rows are queries, and the penalty is for "
    "keys left of the diagonal.",
    "alibi-masked": "You hide the future with −∞: the bias is zero on and above the diagonal; the "
    "causal mask is applied elsewhere.",
    "alibi-slopes-from-one": "Your slopes start at 1: the first of 8 is 2^(−1), and generally "
    "2^(−8/H).",
    "alibi-not-eight": "Your slopes do not depend on the number of heads: they run from 2^(−8/H) "
    "to "
    "2^(−8).",
    "alibi-linear-slopes": "Your slopes fall in a line; they fall geometrically, by 2^(−8/H) a "
    "head.",
    "alibi-reversed": "Your slopes are in reverse order: the first head has the steepest.",
    "alibi-twelve": "For a number of heads that is no power of two the slopes are those of the "
    "power "
    "below, then every second one of the power above (12: those of 8, then 1st, 3rd, 5th, 7th of "
    "16).",
    "alibi-one-slope": "All heads have the same slope.",
    "alibi-off-by-one": "Your distance is one too large: a token is at distance 0 from itself.",
    "alibi-shape": "The result has shape (n_heads, T, T).",
}

positions = Exercise("positions", "Three position schemes", (SIN, ROPE, ALIBI), MISTAKES)


def right_sinusoidal(T: int, d: int) -> Tensor:
    """PE[pos, 2i] = sin(pos / 10000^(2i/d)), PE[pos, 2i+1] = its cosine. (T, d) float64"""
    return _encode(T, d)


def _encode(
    T: int,
    d: int,
    *,
    exponent: float = 1.0,
    base: float = BASE,
    start: int = 0,
    order: str = "alternate",
    sign: float = -1.0,
    scale: float = 1.0,
) -> Tensor:
    pos = (torch.arange(T, dtype=torch.float64) + start)[:, None] * scale
    i = torch.arange(0, d, 2, dtype=torch.float64)[None, :]
    angle = pos * base ** (sign * exponent * i / d)
    if order == "halves":
        return torch.cat([angle.sin(), angle.cos()], 1)
    if order == "swapped":
        return torch.stack([angle.cos(), angle.sin()], -1).flatten(1)
    if order == "own":
        j = torch.arange(d, dtype=torch.float64)[None, :]
        own = pos * base ** (-exponent * j / d)
        return torch.where(j % 2 == 0, own.sin(), own.cos())
    if order == "sines":
        return torch.stack([angle.sin(), angle.sin()], -1).flatten(1)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


SIN_VARIANTS: dict[str, Callable[[int, int], Tensor]] = {
    "sin-halves": lambda T, d: _encode(T, d, order="halves"),
    "sin-cos-swapped": lambda T, d: _encode(T, d, order="swapped"),
    "sin-exponent-not-doubled": lambda T, d: _encode(T, d, exponent=0.5),
    "sin-exponent-doubled-twice": lambda T, d: _encode(T, d, exponent=2.0),
    "sin-each-column-its-own": lambda T, d: _encode(T, d, order="own"),
    "sin-each-column-its-own#1": lambda T, d: _encode(T, d, order="own", exponent=2.0),
    "sin-base": lambda T, d: _encode(T, d, base=1000.0),
    "sin-base#1": lambda T, d: _encode(T, d, base=math.e),
    "sin-base#2": lambda T, d: _encode(T, d, base=100000.0),
    "sin-positions-from-one": lambda T, d: _encode(T, d, start=1),
    "sin-multiplied": lambda T, d: _encode(T, d, sign=1.0),
    "sin-transposed": lambda T, d: _encode(T, d).T,
    "sin-batched": lambda T, d: _encode(T, d)[None],
    "sin-normalised": lambda T, d: _encode(T, d, scale=1 / T),
    "sin-only": lambda T, d: _encode(T, d, order="sines"),
    "sin-two-pi": lambda T, d: _encode(T, d, scale=2 * math.pi),
}


@positions.prop("sin-shape", 1, "A floating (T, d_model) tensor with entries from −1 to 1", SIN)
def _sin_shape(t: Trial) -> None:
    for T, d in ((1, 2), (7, 10), (30, 8)):
        out = t.tensor(t.subject.call(SIN, T, d), (T, d), f"sinusoidal({T}, {d})")
        t.expect(
            out.is_floating_point() and bool((out.abs() <= 1 + 1e-6).all()),
            "Entries are sines and cosines, from −1 to 1.",
        )


@positions.prop("sin-values", 3, "The formula at every position and column", SIN)
def _sin_values(t: Trial) -> None:
    for T, d in ((3, 4), (t.integer(5, 12), 6), (50, 2 * t.integer(8, 20)), (200, 64)):
        out = t.tensor(t.subject.call(SIN, T, d), (T, d), f"sinusoidal({T}, {d})")
        right = right_sinusoidal(T, d)
        if not agree(out, right, 5e-5):
            small = t.subject.call(SIN, 3, 4)
            parts = [("yours", small), ("expected", right_sinusoidal(3, 4))]
            raise Failure(
                f"sinusoidal({T}, {d}) is wrong. {difference(out, right)}",
                CounterExample("sinusoidal(3, 4)", parts),
            )


@positions.prop("sin-shift", 1, "The encoding k later is a fixed linear map of the encoding", SIN)
def _sin_shift(t: Trial) -> None:
    T, d, k = 40, 12, t.integer(2, 9)
    pe = t.tensor(t.subject.call(SIN, T, d), (T, d)).double()
    i = torch.arange(0, d, 2, dtype=torch.float64)
    w = k * BASE ** (-i / d)
    turned = torch.stack(
        [
            pe[:, 0::2] * w.cos() + pe[:, 1::2] * w.sin(),
            pe[:, 1::2] * w.cos() - pe[:, 0::2] * w.sin(),
        ],
        -1,
    ).flatten(1)
    t.expect(
        agree(turned[:-k], pe[k:], 1e-3),
        f"Turning each pair by {k} · 10000^(−2i/d) should give the encoding {k} positions later.",
    )


# ------------------------------------------------------------------------------------------- rotary


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


# -------------------------------------------------------------------------------------------- ALiBi


def slopes(H: int) -> Tensor:
    """2^(−8h/H) for powers of two; else those of the power below, then every second above."""
    below = 2 ** int(math.log2(H))
    first = [2 ** (-8 * (h + 1) / below) for h in range(below)]
    second = [2 ** (-8 * (h + 1) / (2 * below)) for h in range(0, 2 * below, 2)]
    return torch.tensor((first + second)[:H], dtype=torch.float64)


def right_alibi(H: int, T: int) -> Tensor:
    """Press et al. 2021. (H, T, T)"""
    return _bias(slopes(H), T)


def _bias(s: Tensor, T: int, kind: str = "right") -> Tensor:
    i, j = torch.arange(T)[:, None], torch.arange(T)[None, :]
    gap = (i - j).double()
    past = gap.clamp(min=0)
    s = s[:, None, None]
    return {
        "right": -s * past,
        "sign": s * past,
        "symmetric": -s * gap.abs(),
        "unclamped": -s * gap,
        "transposed": -s * past.T,
        "transposed-unclamped": s * gap,
        "masked": (-s * past).masked_fill(gap < 0, float("-inf")),
        "off-by-one": -s * torch.where(gap >= 0, gap + 1, 0.0),
    }[kind]


def _naive(H: int, start: int = 1) -> Tensor:
    return torch.tensor([2 ** (-8 * (h + start) / H) for h in range(H)], dtype=torch.float64)


ALIBI_VARIANTS: dict[str, Callable[[int, int], Tensor]] = {
    "alibi-sign": lambda H, T: _bias(slopes(H), T, "sign"),
    "alibi-symmetric": lambda H, T: _bias(slopes(H), T, "symmetric"),
    "alibi-symmetric#1": lambda H, T: _bias(slopes(H), T, "unclamped"),
    "alibi-transposed": lambda H, T: _bias(slopes(H), T, "transposed"),
    "alibi-transposed#1": lambda H, T: _bias(slopes(H), T, "transposed-unclamped"),
    "alibi-masked": lambda H, T: _bias(slopes(H), T, "masked"),
    "alibi-off-by-one": lambda H, T: _bias(slopes(H), T, "off-by-one"),
    "alibi-twelve": lambda H, T: _bias(_naive(H), T),
    "alibi-slopes-from-one": lambda H, T: _bias(_naive(H, 0), T),
    "alibi-not-eight": lambda H, T: _bias(0.5 ** torch.arange(1.0, H + 1).double(), T),
    "alibi-reversed": lambda H, T: _bias(slopes(H).flip(0), T),
    "alibi-reversed#1": lambda H, T: _bias(slopes(H).sort().values, T),
    "alibi-one-slope": lambda H, T: _bias(slopes(H)[:1].expand(H), T),
    "alibi-linear-slopes": lambda H, T: _bias(torch.arange(1.0, H + 1).flip(0).double() / H, T),
    "alibi-linear-slopes#1": lambda H, T: _bias(1 / torch.arange(1.0, H + 1).double(), T),
}


@positions.prop("alibi-values", 3, "Minus slope times distance, for 8, 4, 2 and 1 heads", ALIBI)
def _alibi_values(t: Trial) -> None:
    for H in (8, 4, 2, 1, 16):
        T = t.integer(3, 9)
        out = t.tensor(t.subject.call(ALIBI, H, T), (H, T, T), f"alibi_bias({H}, {T})")
        right = right_alibi(H, T)
        if not agree(out, right, 1e-6):
            small = t.subject.call(ALIBI, 2, 3)
            shown = [("yours", small)] if isinstance(small, Tensor) and small.dim() == 3 else []
            raise Failure(
                f"alibi_bias({H}, {T}) is wrong. {difference(out, right)}",
                CounterExample(
                    "alibi_bias(2, 3), the heads below one another",
                    [*shown, ("expected", right_alibi(2, 3))],
                ),
            )


@positions.prop(
    "alibi-twelve", 1, "The slopes for 12 and 6 heads, which are no powers of two", ALIBI
)
def _alibi_twelve(t: Trial) -> None:
    for H in (12, 6):
        T = t.integer(3, 6)
        out = t.tensor(t.subject.call(ALIBI, H, T), (H, T, T), f"alibi_bias({H}, {T})")
        right = right_alibi(H, T)
        # In whichever order the heads come: only the set of slopes is fixed.
        got = (-out[:, 1, 0]).double().sort().values
        t.expect(
            agree(got, slopes(H).sort().values, 1e-6) or agree(out, right, 1e-6),
            f"The slopes for {H} heads should be {[round(v, 4) for v in slopes(H).tolist()]}; "
            f"yours are {[round(v, 4) for v in (-out[:, 1, 0]).tolist()]}.",
        )


@positions.prop("alibi-zero", 1, "Exactly zero on and above the diagonal, below it falling", ALIBI)
def _alibi_zero(t: Trial) -> None:
    H, T = 8, t.integer(4, 8)
    out = t.tensor(t.subject.call(ALIBI, H, T), (H, T, T))
    t.expect(out.is_floating_point(), "The bias has to be a floating tensor.")
    t.expect(bool((out.triu() == 0).all()), "On and above the diagonal the bias should be 0.")
    t.expect(bool((out[:, -1, :-1] < 0).all()), "Left of the diagonal the bias should be negative.")


# ---------------------------------------------------------------------------------------- diagnosis


@positions.diagnosis(SIN)
def _sin_faults(t: Trial, failed: set[str]) -> list[Finding]:
    shapes = [(7, 10), (5, 4), (12, 6)]
    outs = [t.subject.call(SIN, T, d) for T, d in shapes]
    for name, oracle in SIN_VARIANTS.items():
        # Loosely: a large angle's sine is not exact in float32.
        if all(
            isinstance(o, Tensor) and agree(o, oracle(*s), 2e-2)
            for o, s in zip(outs, shapes, strict=True)
        ):
            return [positions.finding(name.split("#")[0])]
    return []


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


@positions.diagnosis(ALIBI)
def _alibi_faults(t: Trial, failed: set[str]) -> list[Finding]:
    sizes = [(8, 5), (4, 6), (12, 4)]
    outs = [t.subject.call(ALIBI, H, T) for H, T in sizes]
    if any(
        not isinstance(o, Tensor) or o.shape != (H, T, T)
        for o, (H, T) in zip(outs, sizes, strict=True)
    ):
        return [positions.finding("alibi-shape")]
    for name, oracle in ALIBI_VARIANTS.items():
        if all(agree(o, oracle(*s), 1e-6) for o, s in zip(outs, sizes, strict=True)):
            return [positions.finding(name.split("#")[0])]
    for name, oracle in ALIBI_VARIANTS.items():  # wrong in powers of two; 12 may differ besides
        if all(agree(o, oracle(*s), 1e-6) for o, s in zip(outs[:2], sizes[:2], strict=True)):
            return [positions.finding(name.split("#")[0])]
    return [positions.finding("alibi-twelve")] if "alibi-values" not in failed else []
