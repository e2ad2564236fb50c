"""A graded submission: what passed, what failed and why, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from course.checks.counterexample import CounterExample
from course.checks.model import Finding, Property

LONGEST = 1500  # characters of a sentence: a learner's own names may be in it, of any length


def clip(text: str) -> str:
    """A sentence of a length that can be shown."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


@dataclass
class Outcome:
    """What became of one property."""

    property: Property
    passed: bool
    message: str
    example: CounterExample | None = None

    def __post_init__(self) -> None:
        self.message = clip(self.message)


@dataclass
class Report:
    """A graded submission."""

    exercise: str
    seed: int
    outcomes: list[Outcome]
    findings: list[Finding]

    def __post_init__(self) -> None:
        self.findings = [Finding(f.mistake, clip(f.sentence)) for f in self.findings]

    @property
    def score(self) -> int:
        return sum(o.property.points for o in self.outcomes if o.passed)

    @property
    def max_score(self) -> int:
        return sum(o.property.points for o in self.outcomes)

    @property
    def example(self) -> CounterExample | None:
        """The first counter-example, if any."""
        return next((o.example for o in self.outcomes if o.example is not None), None)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON. ``points`` is what a check is worth, ``earned`` what it got."""
        example = self.example
        return {
            "exercise": self.exercise,
            "score": self.score,
            "max_score": self.max_score,
            "checks": [
                {
                    "name": o.property.name,
                    "passed": o.passed,
                    "points": o.property.points,
                    "earned": o.property.points if o.passed else 0,
                    "message": o.message,
                }
                for o in self.outcomes
            ],
            "diagnosis": [f.sentence for f in self.findings],
            "mistakes": [f.mistake for f in self.findings],
            "counter_example": example.as_text() if example else None,
            "seed": self.seed,
        }
