"""Claims of chapter 5: A14 to A18."""

from __future__ import annotations

from typing import TYPE_CHECKING

from course.claims.base import Finding, chapter, claim, record
from course.claims.recorded import Missing, needed, seeds, stale_note

if TYPE_CHECKING:
    from torch import Tensor

_WIDTHS = (4, 16, 64, 256, 1024)
_ROWS, _KEYS = 2048, 64


@claim(
    "A14",
    "Var(q·k) = d",
    "The product of independent entries of unit variance has the variance d.",
    published="d = 4, 16, 64, 256, 1024 → 3.975, 16.071, 64.249, 253.065, 1015.562",
    check="within 3 % over 20,000 pairs",
    evidence=(chapter("05-scaling"),),
)
def _a14() -> Finding:
    import torch

    variances = {}
    for d in _WIDTHS:
        q, k = torch.randn(20_000, d), torch.randn(20_000, d)
        variances[d] = float((q * k).sum(-1).var())
    return Finding(
        all(abs(v / d - 1) <= 0.03 for d, v in variances.items()),
        "d = "
        + ", ".join(map(str, variances))
        + " → "
        + ", ".join(f"{v:.3f}" for v in variances.values()),
        "Seed 0, drawn in this order, q then k.",
    )


def _rows(d: int, divided: bool) -> Tensor:
    """Softmax rows of the scores of one query and 64 keys, (rows, 64)."""
    import torch

    q, k = torch.randn(_ROWS, 1, d), torch.randn(_ROWS, _KEYS, d)
    scores = (q * k).sum(-1)
    return (scores / d**0.5 if divided else scores).softmax(-1)


def _effective(weights: Tensor) -> Tensor:
    import torch

    return (-torch.xlogy(weights, weights).sum(-1)).exp()


@claim(
    "A15",
    "Effective tokens of a row of 64",
    "Effective tokens are exp(entropy).  Undivided, a row of d_k = 256 attends to one token of "
    "64; divided, to about forty at every width.",
    published="undivided at d_k = 256: one token of 64",
    check="undivided median under 1.5 at 256; divided mean 38 to 43 at every width",
    evidence=(chapter("05-scaling"),),
)
def _a15() -> Finding:
    median = float(_effective(_rows(256, divided=False)).median())
    means = {d: float(_effective(_rows(d, divided=True)).mean()) for d in _WIDTHS}
    return Finding(
        median < 1.5 and all(38 <= mean <= 43 for mean in means.values()),
        f"undivided at 256: median {median:.2f}; divided, d_k = {', '.join(map(str, means))}: mean "
        f"{', '.join(f'{mean:.1f}' for mean in means.values())} ({_ROWS:,} rows)",
    )


@claim(
    "A16",
    "Where a row is frozen it learns nothing",
    "The diagonal of the softmax's Jacobian is w(1 − w); its sum over a row is what the scores "
    "can still be taught.",
    published="divided 0.96 at every width; undivided at 1024 seven rows of ten frozen",
    check="divided mean within 0.01 of 0.96; frozen share (Σw(1 − w) < 0.01 or "
    "max w > 0.99) 0.65 to 0.75",
    evidence=(chapter("05-scaling"),),
)
def _a16() -> Finding:
    sums = {}
    for d in _WIDTHS:
        weights = _rows(d, divided=True)
        sums[d] = float((weights * (1 - weights)).sum(-1).mean())
    frozen = _rows(1024, divided=False)
    by_sum = float(((frozen * (1 - frozen)).sum(-1) < 0.01).float().mean())
    by_max = float((frozen.amax(-1) > 0.99).float().mean())
    near = all(abs(value - 0.96) <= 0.01 for d, value in sums.items())
    return Finding(
        near and (0.65 <= by_sum <= 0.75 or 0.65 <= by_max <= 0.75),
        f"divided, d_k = {', '.join(map(str, sums))}: "
        f"{', '.join(f'{value:.3f}' for value in sums.values())}; undivided at 1024 frozen: "
        f"{by_sum:.2f} by the sum, {by_max:.2f} by the largest weight ({_ROWS:,} rows)",
    )


@claim(
    "A17",
    "Does dividing change the final perplexity?",
    "At a narrow head hardly at all, at a wide one by many points.",
    published="at 32 nothing (undivided a hair ahead); at 256 worth 18 points; at 1024 worth 17",
    check="gap under 1 at 32; over 8 from 256 on",
    ours="widths and budgets: 32, 64, 128 in the common setting (3000 steps); 128, 256, 512, "
    "1024 in a shorter one (1500 steps, batch 32); values keep the model's width",
    evidence=(chapter("05-scaling"), record("scaling")),
)
def _a17() -> Finding:
    settings = [
        (32, 3000),
        (64, 3000),
        (128, 3000),
        (128, 1500),
        (256, 1500),
        (512, 1500),
        (1024, 1500),
    ]
    names = [
        f"dk{d}-{steps}-{variant}" for d, steps in settings for variant in ("divided", "undivided")
    ]
    try:
        records = needed("scaling", *names)
    except Missing as missing:
        return missing.finding
    gaps = {
        (d, steps): records[f"dk{d}-{steps}-undivided"]["held_out"].mean
        - records[f"dk{d}-{steps}-divided"]["held_out"].mean
        for d, steps in settings
    }
    wide = all(gaps[d, 1500] > 8 for d in (256, 512, 1024))
    narrow = abs(gaps[32, 3000]) < 1
    seen = []
    if not narrow:
        seen.append("At 32 the gap is not small.")
    if not wide:
        seen.append("Not every wide head gains over 8 points.")
    return Finding(
        narrow and wide,
        "dividing is worth "
        + ", ".join(f"{gap:.2f} at {d} ({steps} steps)" for (d, steps), gap in gaps.items())
        + f" points {seeds(*(records[name]['held_out'] for name in names))}",
        " ".join([*seen, stale_note(records, *names)]).strip(),
    )


@claim(
    "A18",
    "Inside the undivided wide head",
    "d_k = 1024: its scores start wide and grow as it trains, its rows collapse onto one token "
    "and stay there; the divided head does not.",
    published="score std 21 → 5147, entropy → 0, 99.9 % of rows over 0.99; divided ends at 3.44",
    check="std grows over 10×; entropy under 0.05; over 90 % of rows; divided std under 10",
    ours="the size at the end depends on budget and rate; the 3000-step setting is beside it "
    "where it is recorded",
    evidence=(chapter("05-scaling"), record("scaling")),
)
def _a18() -> Finding:
    names = ("dk1024-1500-undivided", "dk1024-1500-divided")
    try:
        records = needed("scaling", *names)
    except Missing as missing:
        return missing.finding
    bare, divided = (records[name] for name in names)
    start, end = bare["score_std_start"], bare["score_std_end"]
    entropy, share = bare["entropy_end"], bare["share_over_099_end"]
    text = (
        f"score std {start.format(1)} → {end.format(0)}, entropy {entropy.format(3)}, "
        f"{100 * share.mean:.1f} % of rows over 0.99; divided ends at "
        f"{divided['score_std_end'].format()} {seeds(end)}"
    )
    longer = records["dk1024-3000-undivided"]
    if longer.n:
        text += (
            f"; after 3000 steps std {longer['score_std_end'].format(0)}, "
            f"{100 * longer['share_over_099_end'].mean:.1f} % of rows"
        )
    checks = {
        "the scores do not grow tenfold": end.mean > 10 * start.mean,
        "the entropy stays above 0.05": entropy.mean < 0.05,
        "fewer than nine rows of ten are over 0.99": share.mean > 0.9,
        "the divided head's scores spread, too": divided["score_std_end"].mean < 10,
    }
    seen = "; ".join(name for name, holds in checks.items() if not holds)
    return Finding(
        all(checks.values()), text, " ".join(filter(None, (seen, stale_note(records, *names))))
    )
