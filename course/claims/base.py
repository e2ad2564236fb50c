"""A claim: what it says, how it is measured here, and the verdict computed from that.

Verdicts are computed by :func:`verdict_of` and never written by hand.  A claim's function returns a
:class:`Finding`: what was measured, whether the check holds, and what was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

__all__ = [
    "VERDICTS",
    "Claim",
    "Entry",
    "Evidence",
    "Finding",
    "chapter",
    "claim",
    "entry",
    "page",
    "record",
    "registered",
    "test",
    "verdict_of",
]

HOLDS = "holds"
DOES_NOT_HOLD = "does not hold"
CORRECTED = "reference corrected"
SHOWN = "shown"
NOT_YET = "not yet measured"
VERDICTS = (HOLDS, DOES_NOT_HOLD, CORRECTED, SHOWN, NOT_YET)


@dataclass(frozen=True)
class Evidence:
    """Where the claim is established: a chapter of the book, a recorded experiment, or a test.

    ``kind`` is "chapter" (target: the notebook's or page's name), "record" (an experiment's name)
    or "test" (a pytest id).
    """

    kind: str
    target: str


def chapter(name: str) -> Evidence:
    """A notebook of the book, such as ``01-average``."""
    return Evidence("chapter", name)


def page(name: str) -> Evidence:
    """A page of the book that is no numbered chapter, such as ``flashcards``."""
    return Evidence("chapter", name)


def record(experiment: str) -> Evidence:
    """The records of an experiment."""
    return Evidence("record", experiment)


def test(identifier: str) -> Evidence:
    """A test by its pytest id below ``tests/``."""
    return Evidence("test", f"tests/{identifier}")


test.__test__ = False  # type: ignore[attr-defined]  # a name pytest would collect


@dataclass(frozen=True)
class Finding:
    """What a claim's measurement found.

    Args:
        holds: whether the check holds; None where something it needs is not there yet.
        measured: the measured value in words and digits, as a table prints it.
        seen: a sentence: what was seen where it does not hold, how the reference is corrected,
            what is missing, or what a reader should know beside the value.
        values: the numbers themselves.
    """

    holds: bool | None
    measured: str
    seen: str = ""
    values: dict[str, Any] | None = None


@dataclass(frozen=True)
class Claim:
    """One row of the ledger.

    ``corrects`` marks a claim whose reference is imprecise: its check is that the imprecision is
    there.  ``ours`` says where the course's protocol fills a gap of the reference.
    """

    id: str
    title: str
    statement: str
    check: str
    measure: Callable[[], Finding]
    evidence: tuple[Evidence, ...]
    published: str = ""
    corrects: bool = False
    ours: str = ""


@dataclass(frozen=True)
class Entry:
    """A claim with its finding and verdict."""

    claim: Claim
    finding: Finding
    verdict: str

    def as_dict(self) -> dict[str, Any]:
        """The entry as plain data."""
        claim = self.claim
        return {
            "id": claim.id,
            "title": claim.title,
            "statement": claim.statement,
            "published": claim.published,
            "measured": self.finding.measured,
            "check": claim.check,
            "verdict": self.verdict,
            "explanation": self.finding.seen,
            "ours": claim.ours,
            "evidence": [{"kind": e.kind, "target": e.target} for e in claim.evidence],
        }


_REGISTERED: dict[str, Claim] = {}


def claim(
    identifier: str,
    title: str,
    statement: str,
    *,
    check: str,
    evidence: tuple[Evidence, ...],
    published: str = "",
    corrects: bool = False,
    ours: str = "",
) -> Callable[[Callable[[], Finding]], Callable[[], Finding]]:
    """Register the decorated function as the measurement of a claim.

    Raises:
        ValueError: the id is taken.
    """

    def register(measure: Callable[[], Finding]) -> Callable[[], Finding]:
        if identifier in _REGISTERED:
            raise ValueError(f"claim {identifier} is defined twice")
        _REGISTERED[identifier] = Claim(
            identifier, title, statement, check, measure, evidence, published, corrects, ours
        )
        return measure

    return register


def registered() -> dict[str, Claim]:
    """Every claim that has been imported, by id."""
    return dict(_REGISTERED)


def verdict_of(claim: Claim, finding: Finding) -> str:
    """The verdict that follows from what was found."""
    if finding.holds is None:
        return NOT_YET
    if not finding.holds:
        return DOES_NOT_HOLD
    if claim.corrects:
        return CORRECTED
    return HOLDS if claim.published else SHOWN


def entry(claim: Claim) -> Entry:
    """Measure a claim, with random numbers of its own."""
    with _own_randomness():
        finding = claim.measure()
    return Entry(claim, finding, verdict_of(claim, finding))


@contextmanager
def _own_randomness() -> Iterator[None]:
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield
