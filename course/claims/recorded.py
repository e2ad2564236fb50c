"""Reading records for claims: values with their spread, or what is missing."""

from __future__ import annotations

from course.claims.base import Finding
from course.experiments import Records, Stat, load_records

__all__ = ["Missing", "needed", "seeds", "stale_note"]


class Missing(Exception):
    """A record the claim needs is not there; ``finding`` says which."""

    def __init__(self, experiment: str, rows: list[str]) -> None:
        what = ", ".join(rows) if len(rows) <= 4 else f"{len(rows)} rows"
        super().__init__(f"no record of {experiment}: {what}")
        self.finding = Finding(
            None,
            "",
            f"No record yet of {experiment}: {what} (python -m course "
            f"experiments run {experiment} --missing).",
        )


def needed(experiment: str, *rows: str) -> Records:
    """The experiment's records, if each of the rows has one.

    Raises:
        Missing: a row has none.
    """
    records = load_records(experiment)
    missing = [row for row in rows if not records[row].n]
    if missing:
        raise Missing(experiment, missing)
    return records


def seeds(*stats: Stat) -> str:
    """``(1 seed)``, ``(3 seeds)``: the fewest behind any of the values."""
    n = min(stat.n for stat in stats)
    return f"({n} seed{'s' if n > 1 else ''})"


def stale_note(records: Records, *rows: str) -> str:
    """A sentence where a value comes from a stale record."""
    stale = [row for row in rows if records[row].stale]
    return f"Stale: {', '.join(stale)}." if stale else ""
