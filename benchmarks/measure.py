"""Timing two or more ways of doing one thing so that the comparison is fair: A B A B …

A machine is not equally fast from minute to minute. So the sides take turns: each round runs every
side once, after a warm-up that is not counted, and what is reported is the median of each side and
how far the middle half of the rounds spreads.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

# A side does its work once. If it returns a float, that is what it measured; else it is timed here.
Side = Callable[[], object]


@dataclass(frozen=True)
class Summary:
    """Median, and the first and third quartile, of ``n`` values."""

    median: float
    low: float
    high: float
    n: int


def summary(values: Sequence[float]) -> Summary:
    """Raises ValueError where there is nothing to summarise."""
    if not values:
        raise ValueError("no values: a side was never measured")
    if len(values) == 1:
        return Summary(values[0], values[0], values[0], 1)
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Summary(median, low, high, len(values))


def percentile(values: Sequence[float], p: int) -> float:
    """The smallest value that ``p`` percent of the values do not exceed."""
    if not values or not 0 < p <= 100:
        raise ValueError(f"percentile {p} of {len(values)} values")
    ordered = sorted(values)
    return float(ordered[max(0, -(-len(ordered) * p // 100) - 1)])


def once(side: Side, scale: float = 1.0) -> float:
    """Run a side once; seconds times ``scale``, or the float it returned."""
    gc.collect()  # what earlier rounds left behind is not this side's to clear away
    start = time.perf_counter()
    own = side()
    seconds = time.perf_counter() - start
    return own if isinstance(own, float) else seconds * scale


def interleave(
    sides: Mapping[str, Side],
    rounds: int,
    *,
    warmup: int = 1,
    scale: float = 1.0,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, list[float]]:
    """Every side once a round, in the order given; ``rounds`` values a side, warm-up left out."""
    if rounds < 1 or warmup < 0 or not sides:
        raise ValueError(f"{rounds} rounds of {len(sides)} sides after {warmup} warm-ups")
    values: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(-warmup, rounds):
        for name, side in sides.items():
            say(f"{'warm-up' if number < 0 else f'round {number + 1} of {rounds}'}: {name}")
            value = once(side, scale)
            if number >= 0:
                values[name].append(value)
    return values
