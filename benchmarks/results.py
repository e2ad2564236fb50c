"""A result: rows of numbers, the goals they are held against, where and when they were taken.

A result is JSON, written whole or not at all, one file a comparison in ``benchmarks/results/``.
Whether a goal is reached is computed from the numbers, never typed in.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measure import summary
from course.files import atomic_write_text

SCHEMA = 1
RESULTS = Path(__file__).resolve().parent / "results"
_DIGITS = 4


@dataclass(frozen=True)
class Goal:
    """A number, and the bound it should keep.

    Args:
        what: the number in words, such as "speed against the faster peer".
        value: what was measured.
        at_least, below: the bound; one of the two.
        why: the sentence for a reader where the goal is missed.
        unit: of the value and the bound, such as × or ms.
    """

    what: str
    value: float
    at_least: float | None = None
    below: float | None = None
    why: str = ""
    unit: str = ""

    def __post_init__(self) -> None:
        if (self.at_least is None) == (self.below is None):
            raise ValueError(f"{self.what}: a goal has one bound, at_least or below")
        if not self.reached and not self.why:
            raise ValueError(f"{self.what}: {self.value:.4g} misses its goal; say why")

    @property
    def reached(self) -> bool:
        if self.at_least is not None:
            return self.value >= self.at_least
        return self.value < float(self.below or 0.0)

    def to_dict(self) -> dict[str, Any]:
        bound = {"at_least": self.at_least} if self.at_least is not None else {"below": self.below}
        said = {} if self.reached else {"why": self.why}
        return {"what": self.what, "value": rounded(self.value), "unit": self.unit, **bound,
                "reached": self.reached, **said}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One piece of work, done by each side.

    Args:
        work: what was done, in words.
        unit: of the sides' values.
        sides: name → one value a round; the first side is the course's.
        goals: see :class:`Goal`.
        details: further numbers that explain the row, such as the shares of a profile.
        note: a sentence on how to read the row.
        better: "lower" for times and sizes, "higher" for throughput.
    """

    work: str
    unit: str
    sides: Mapping[str, Sequence[float]]
    goals: Sequence[Goal] = ()
    details: Mapping[str, float] = field(default_factory=dict)
    note: str = ""
    better: str = "lower"

    def to_dict(self) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name, values in self.sides.items():
            s = summary(values)
            numbers = {"median": s.median, "low": s.low, "high": s.high}
            made[name] = {key: rounded(value) for key, value in numbers.items()}
            made[name]["values"] = [rounded(v) for v in values]
        first = next(iter(made))
        mine = made[first]["median"]
        for name, side in made.items():
            if name != first and mine and side["median"]:
                ratio = side["median"] / mine
                side["ratio"] = rounded(ratio if self.better == "lower" else 1 / ratio)
        return {
            "work": self.work,
            "unit": self.unit,
            "better": self.better,
            "sides": made,
            "goals": [goal.to_dict() for goal in self.goals],
            "details": {name: rounded(value) for name, value in self.details.items()},
            "note": self.note,
        }


def rounded(value: float) -> float:
    """Four significant digits: a committed file with more would pretend to know them."""
    if not math.isfinite(value):
        raise ValueError(f"{value} is no measurement")
    return float(f"{value:.{_DIGITS}g}")


def provenance(packages: Sequence[str] = ()) -> dict[str, Any]:
    """When, on what machine and how busy it was, from which commit, with which versions."""
    from importlib import metadata

    from course.experiments import provenance as records

    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    memory = _memory_mb()
    versions = {**records.versions(), **{name: metadata.version(name) for name in packages}}
    return {
        "taken": records.now(),
        "machine": {**records.machine("cpu"), "memory_mb": memory},
        "load_before": None if load is None else round(load, 2),
        "versions": versions,
        "git": records.git_state(),
    }


def _memory_mb() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    except (AttributeError, ValueError, OSError):
        return None


def write(result: Mapping[str, Any], folder: Path = RESULTS) -> Path:
    """One result into its file, whole or not at all."""
    check(result)
    text = json.dumps(result, indent=1, ensure_ascii=False)
    return atomic_write_text(folder / f"{result['comparison']}.json", text + "\n")


def read(name: str, folder: Path = RESULTS) -> dict[str, Any] | None:
    """The latest result of a comparison; ``None`` where it was never measured.

    Raises:
        ValueError: the file is there and is no result; names it.
    """
    path = folder / f"{name}.json"
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        check(result)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a result ({error}): measure {name} again") from error
    return dict(result)


def check(result: Mapping[str, Any]) -> None:
    """Raise ValueError (or KeyError) unless ``result`` is whole and agrees with itself."""
    if result["schema"] != SCHEMA:
        raise ValueError(f"schema {result['schema']}, not {SCHEMA}")
    for key in ("comparison", "title", "taken", "machine", "git", "versions", "rounds", "seconds"):
        if result[key] is None or result[key] == "":
            raise ValueError(f"{key} is empty")
    if not result["rows"]:
        raise ValueError("there are no rows")
    for row in result["rows"]:
        for name, side in row["sides"].items():
            if not side["low"] <= side["median"] <= side["high"]:
                raise ValueError(f"{row['work']}, {name}: the median is outside its own spread")
        for goal in row["goals"]:
            bound = goal.get("at_least", goal.get("below"))
            reached = goal["value"] >= bound if "at_least" in goal else goal["value"] < bound
            if reached != goal["reached"] or not (reached or goal["why"]):
                raise ValueError(f"{row['work']}: {goal['what']} does not agree with its numbers")
