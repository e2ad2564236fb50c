"""What the widgets take from the records: arrays and curves, or None where nothing is measured."""

from __future__ import annotations

from typing import Any

import numpy as np

from course.experiments import load_records
from course.experiments.records import RecordError


def arrays_of(experiment: str, row: str) -> dict[str, Any] | None:
    """The arrays stored with the first seed of a recorded row that has any, or None."""
    try:
        records = load_records(experiment)[row].records
    except KeyError:
        return None
    for record in records:
        try:
            arrays = record.arrays()
        except RecordError:  # this seed kept none
            continue
        if arrays:
            return arrays
    return None


def perplexity_by_length() -> dict[str, list[list[float]]]:
    """Scheme → (length, mean perplexity) for the recorded position schemes; empty if none."""
    names = {"learned": "learned", "sinusoidal": "sinusoids", "rope": "RoPE", "alibi": "ALiBi"}
    return {
        names.get(row.name, row.name): [[T, row[f"at_{T}"].mean] for T in (64, 128, 256)]
        for row in load_records("positions")
        if row.n
    }


def peaks(row: str) -> list[list[float]]:
    """(n, MB): the recorded peak memory of one attention layer; empty if not measured."""
    records = load_records("cost")[row].records
    if not records:
        return []
    cost = records[0].curves["cost"]
    pairs = zip(cost["n"], cost["peak_mb"], strict=True)
    return [[n, mb] for n, mb in pairs if mb is not None]


def asking_rows(arrays: dict[str, Any]) -> tuple[Any, list[list[str]], list[str], list[str]]:
    """Of the pronoun maps, the row that must name the referent, for each adjective.

    ``arrays``: those of the experiment "pronouns", ``maps`` (A, L, H, 17, 17) and ``words``
    (A, 17). Returns weights (A, L, 15) averaged over heads, the sentences up to the asking place,
    the adjectives and the referents.
    """
    from course.experiments.pronouns import REFERENT

    maps = np.asarray(arrays["maps"], dtype=np.float64)
    weights = maps.mean(axis=2)[:, :, REFERENT - 1, :REFERENT]
    words = [[str(w) for w in row] for row in arrays["words"]]
    sentences = [row[:REFERENT] for row in words]
    return weights, sentences, [str(a) for a in arrays["adjectives"]], [r[REFERENT] for r in words]
