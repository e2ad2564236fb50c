"""``alibi_bias`` (Press et al. 2021)."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course.checks.assignments.positions.exercise import ALIBI, positions
from course.checks.counterexample import CounterExample
from course.checks.engine import Failure, Finding, Trial, agree, difference


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
