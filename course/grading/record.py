"""The record of a grade: enough to run it again when a learner appeals."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from course.files import atomic_write_text

SCHEMA = 1


def write(folder: Path, record: Mapping[str, Any]) -> Path:
    """Write a record under ``folder/<student>/<assignment>/``; none is ever overwritten.

    Args:
        record: ``student``, ``assignment``, ``notebook`` and whatever else belongs to the grade.
    """
    now = datetime.now(UTC)
    data = {"schema": SCHEMA, "graded_at": now.isoformat(timespec="seconds"), **record}
    stem = f"{record['notebook']}-{now:%Y%m%dT%H%M%S.%f}"
    path = folder / record["student"] / record["assignment"] / f"{stem}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write_text(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    return path


def read_all(folder: Path, assignment: str, student: str = "*") -> Iterator[dict[str, Any]]:
    """All records of an assignment, oldest first for each learner.

    Raises:
        ValueError: a file is no record; the message names it.
    """
    for path in sorted(folder.glob(f"{student}/{assignment}/*.json")):
        try:
            yield json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path} is no record ({error}): move it out of the way") from error


def latest(folder: Path, assignment: str) -> dict[tuple[str, str], dict[str, Any]]:
    """The newest record of each ``(student, notebook)``."""
    return {(r["student"], r["notebook"]): r for r in read_all(folder, assignment)}


def tests(
    grade_ids: Sequence[str], outcomes: Sequence[Mapping[str, Any]], scores: Mapping[str, float],
    points: Mapping[str, float],
) -> list[dict[str, Any]]:  # fmt: skip
    """What a record keeps of each test cell: its score, its reports, and what only the instructor
    reads."""
    return [
        {"grade_id": name, "score": scores[name], "max_score": points[name],
         "seconds": round(outcome["seconds"], 3), "error": outcome["error"],
         "private": outcome["private"], "reports": outcome["reports"]}
        for name, outcome in zip(grade_ids, outcomes, strict=True)
    ]  # fmt: skip
