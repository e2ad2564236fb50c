"""``noam_rate`` (Vaswani et al. 2017, equation 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from course.checks.assignments.encoder_decoder.exercise import NOAM, encoder_decoder
from course.checks.engine import Finding, Trial


def right_rate(step: int, d_model: int, warmup: int = 4000) -> float:
    """Vaswani et al. 2017, equation 3."""
    return float(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))


Rate = Callable[[int, int, int], float]


RATES: dict[str, Rate] = {
    "noam-no-warmup": lambda s, d, w: d**-0.5 * s**-0.5,
    "noam-no-model": lambda s, d, w: min(s**-0.5, s * w**-1.5),
    "noam-model-root": lambda s, d, w: d**0.5 * min(s**-0.5, s * w**-1.5),
    "noam-maximum": lambda s, d, w: d**-0.5 * max(s**-0.5, s * w**-1.5),
    "noam-warmup-power": lambda s, d, w: d**-0.5 * min(s**-0.5, s * w**-0.5),
    "noam-warmup-power#1": lambda s, d, w: d**-0.5 * min(s**-0.5, s / w),
    "noam-warmup-power#2": lambda s, d, w: d**-0.5 * min(s**-0.5, s * w**-1.0),
    "noam-warmup-power#3": lambda s, d, w: d**-0.5 * min(s**-0.5, s * w**1.5),
    "noam-fixed-warmup": lambda s, d, w: right_rate(s, d, 4000),
    "noam-only-warmup": lambda s, d, w: d**-0.5 * s * w**-1.5,
    "noam-linear-decay": lambda s, d, w: d**-0.5 * (s * w**-1.5 if s <= w else w**0.5 / s),
    "noam-linear-decay#1": lambda s, d, w: d**-0.5 * min(s**-1.0, s * w**-1.5),
    "noam-flat": lambda s, d, w: d**-0.5 * min(s, w) * w**-1.5,
    "noam-off-by-one": lambda s, d, w: right_rate(s + 1, d, w),
    "noam-off-by-one#1": lambda s, d, w: right_rate(max(1, s - 1), d, w),
}


def _same(a: Any, b: float) -> bool:
    if isinstance(a, Tensor) and a.numel() == 1:
        a = a.item()
    return isinstance(a, int | float) and abs(a - b) <= 1e-6 * abs(b)


def _rates(t: Trial, cases: Sequence[Sequence[int]]) -> list[Any]:
    return [
        r["value"]
        for r in t.subject.ask([{"op": "call", "on": NOAM, "args": list(c)} for c in cases])
    ]


@encoder_decoder.prop(
    "noam-values", 3, "d_model^(−1/2) · min(step^(−1/2), step · warmup^(−3/2))", NOAM
)
def _noam_values(t: Trial) -> None:
    cases = [(1, 512), (4000, 512), (100_000, 512)]
    cases += [(t.integer(1, 3000), t.integer(8, 900), t.integer(2, 1500)) for _ in range(8)]  # type: ignore[misc]
    for c, got in zip(cases, _rates(t, cases), strict=True):
        right = right_rate(*c)
        t.expect(_same(got, right), f"noam_rate{c} should be {right:.6g}; yours is {got}.")


@encoder_decoder.prop("noam-shape", 1, "It rises to step = warmup and falls from there", NOAM)
def _noam_shape(t: Trial) -> None:
    w = t.integer(20, 60)
    steps = [w - 9, w - 1, w, w + 1, w + 15]
    a, b, c, d, e = (float(v) for v in _rates(t, [(s, 64, w) for s in steps]))
    t.expect(
        a < b < c > d > e, f"With warmup = {w} the rate should rise to step {w} and fall after it."
    )


@encoder_decoder.prop("noam-errors", 1, "A ValueError for every step below 1", NOAM)
def _noam_errors(t: Trial) -> None:
    for step in (0, -1, -4000):
        reply = t.subject.run([{"op": "call", "on": NOAM, "args": [step, 512]}])[0]
        kind = reply.get("error", {}).get("type", f"no error but {reply.get('value')}")
        t.expect(
            kind == "ValueError",
            f"noam_rate({step}, 512) should raise a ValueError; it gives {kind}.",
        )


@encoder_decoder.diagnosis(NOAM)
def _noam_faults(t: Trial, failed: set[str]) -> list[Finding]:
    if "noam-values" not in failed:
        return [encoder_decoder.finding("noam-step-zero")] if "noam-errors" in failed else []
    cases = [(1, 512, 40), (7, 64, 30), (30, 64, 30), (200, 100, 30), (5000, 256, 900)]
    got = _rates(t, cases)
    for name, rate in RATES.items():
        if all(_same(g, rate(*c)) for g, c in zip(got, cases, strict=True)):
            return [encoder_decoder.finding(name.split("#")[0])]
    return []
