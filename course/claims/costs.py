"""The claim of chapter 9: A22."""

from __future__ import annotations

from course.claims.base import Finding, chapter, claim, record
from course.claims.recorded import Missing, needed, stale_note

_SCORES = (0.5, 2, 8, 32, 128, 512, 2048, 8192)  # MB for n = 128, 256, …, 16,384


@claim(
    "A22",
    "Two tensors of a layer are n × n",
    "Scores and weights grow with the square of the length, the rest of a layer with the length "
    "itself.  "
    "A kernel that never stores them needs memory linear in n for the same result.",
    published="scores 0.5, 2, …, 8192 MB; peaks 14.6 … 4300.1 MB, out of memory at 16,384 on "
    "8 GB; exponents over the last four: time 1.91, memory 1.87",
    check="score sizes exact; exponents over the four largest lengths that fit 1.7 to 2.1; the "
    "last does not fit; the efficient kernel's memory exponent under 1.2",
    ours="one layer of width 512, eight heads, batch 1, float32, no mask, forward; peak "
    "resident memory of a fresh process above what it held before, address limit 8 GiB",
    evidence=(chapter("09-cost"), record("cost")),
)
def _a22() -> Finding:
    try:
        records = needed("cost", "plain", "efficient")
    except Missing as missing:
        return missing.finding
    plain, efficient = records["plain"], records["efficient"]
    cost = plain.records[0].curves["cost"]
    peaks = [value for value in cost["peak_mb"] if value is not None]
    memory, time = plain["memory_exponent"], plain["time_exponent"]
    linear = efficient["memory_exponent"]
    exact = tuple(cost["scores_mb"]) == _SCORES
    missing_last = bool(plain.records[0].metrics["out_of_memory"])
    checks = {
        "the score sizes differ": exact,
        "memory grows otherwise": 1.7 <= memory.mean <= 2.1,
        "time grows otherwise": 1.7 <= time.mean <= 2.1,
        "the longest fits": missing_last,
        "the efficient kernel's memory is not linear": linear.mean < 1.2,
    }
    seen = [name for name, holds in checks.items() if not holds]
    return Finding(
        all(checks.values()),
        f"scores {', '.join(f'{value:g}' for value in cost['scores_mb'])} MB; peaks "
        f"{', '.join(f'{value:.1f}' for value in peaks)} MB"
        + (f", out of memory at {cost['n'][len(peaks)]:,.0f}" if missing_last else "")
        + f"; exponents: time {time.format()}, memory {memory.format()}, memory-efficient kernel "
        f"{linear.format()}",
        " ".join(
            filter(
                None,
                (
                    ("; ".join(seen) + ".") if seen else "",
                    stale_note(records, "plain", "efficient"),
                ),
            )
        ),
    )
