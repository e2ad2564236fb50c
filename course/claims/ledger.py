"""The ledger: every claim of the course with what was measured here and the verdict."""

from __future__ import annotations

from course.claims import averages, costs, encoder_decoder, gpt, heads, models, positions, scaling
from course.claims.base import Claim, Entry, entry, registered

__all__ = ["IDS", "claims", "ledger"]

IDS = (
    *(f"A{n}" for n in range(1, 37)),
    *(f"B{n}" for n in range(1, 9)),
    *(f"C{n}" for n in range(1, 15)),
)
_PARTS = (averages, scaling, heads, models, positions, costs, gpt, encoder_decoder)


def claims() -> tuple[Claim, ...]:
    """All claims in the order of their ids.

    Raises:
        LookupError: an id without a claim, or a claim without an id.
    """
    found = registered()
    if set(found) != set(IDS):
        raise LookupError(f"ids and claims differ: {sorted(set(found) ^ set(IDS))}")
    return tuple(found[name] for name in IDS)


def ledger(ids: tuple[str, ...] | None = None) -> tuple[Entry, ...]:
    """Measure the claims, all of them by default.

    Raises:
        KeyError: an id that does not exist.
    """
    known = {claim.id: claim for claim in claims()}
    wanted = IDS if ids is None else ids
    for name in wanted:
        if name not in known:
            raise KeyError(f"no claim {name!r}; the ids are A1 to A36, B1 to B8, C1 to C14")
    return tuple(entry(known[name]) for name in wanted)
