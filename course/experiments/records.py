"""A record: one measured row of one experiment with one seed, and where it came from.

Records of the full budget live in the package (``course/experiments/records/``), so that whoever
installs the course has them; those of the quick budget live in the cache and are flagged, so that
a small trial can never pass for a measurement.  A record is written whole or not at all.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.files import atomic_write_bytes, atomic_write_text, cache_dir

__all__ = [
    "RECORDS_VARIABLE",
    "SCHEMA",
    "Record",
    "RecordError",
    "arrays_path",
    "move_aside",
    "read_record",
    "record_path",
    "records_dir",
    "records_of",
    "restamp_record",
    "thin",
    "write_record",
]

SCHEMA = 1
RECORDS_VARIABLE = "COURSE_RECORDS"
_FIELDS: dict[str, type | tuple[type, ...]] = {
    "schema": int,
    "experiment": str,
    "row": str,
    "seed": int,
    "budget": str,
    "config": dict,
    "config_hash": str,
    "metrics": dict,
    "first_losses": list,
    "loss_curve": dict,
    "curves": dict,
    "seconds": (int, float),
    "machine": dict,
    "versions": dict,
    "git": dict,
    "code": dict,
    "notes": list,
    "verified": list,
}
_NAME = re.compile(r"(?P<row>.+)-s(?P<seed>\d+)")


class RecordError(ValueError):
    """A record cannot be read or written; the message names the file and what to do."""


@dataclass(frozen=True)
class Record:
    """One record as read; ``data`` is the JSON object, the properties name its parts."""

    path: Path
    data: Mapping[str, Any]

    @property
    def experiment(self) -> str:
        """The experiment's name."""
        return str(self.data["experiment"])

    @property
    def row(self) -> str:
        """The row's name."""
        return str(self.data["row"])

    @property
    def seed(self) -> int:
        """The seed everything random in the run came from."""
        return int(self.data["seed"])

    @property
    def metrics(self) -> dict[str, Any]:
        """The single numbers that were measured."""
        return dict(self.data["metrics"])

    @property
    def config(self) -> dict[str, Any]:
        """Everything the result depends on beside the code and the seed."""
        return dict(self.data["config"])

    @property
    def curves(self) -> dict[str, dict[str, list[float]]]:
        """Series measured along the run, ``loss`` (thinned) among them."""
        curves = dict(self.data["curves"])
        if self.data["loss_curve"]:
            curves["loss"] = self.data["loss_curve"]
        return curves

    @property
    def device(self) -> str:
        """``cpu``, ``cuda`` or ``mps``."""
        return str(self.data["machine"]["device"])

    @property
    def code_hashes(self) -> list[str]:
        """Hashes of the code this record stands for: the one it ran, and those verified since."""
        return [self.data["code"]["hash"], *(stamp["code_hash"] for stamp in self.data["verified"])]

    def arrays(self) -> dict[str, Any]:
        """The small arrays stored beside the record, by name.

        Raises:
            RecordError: the file is missing, or is not the one the run wrote.
        """
        import numpy as np

        stored = self.data.get("arrays")
        if not stored:
            return {}
        path = self.path.with_name(stored["file"])
        try:
            content = path.read_bytes()
        except OSError as error:
            raise RecordError(
                f"{path}: the arrays of {self.path.name} cannot be read "
                f"({error.strerror}); {_rerun(self)}"
            ) from error
        if hashlib.sha256(content).hexdigest() != stored["sha256"]:
            raise RecordError(
                f"{path} is not the file that {self.path.name} names (its SHA-256 "
                f"differs); {_rerun(self)}"
            )
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}


def _rerun(record: Record) -> str:
    return (
        f"run python -m course experiments run {record.experiment} --rows {record.row} "
        f"--seeds {record.seed} --force"
    )


def records_dir(budget: str = "full") -> Path:
    """The folder of a budget's records.

    ``$COURSE_RECORDS`` moves the full ones (a package installed read-only, a test).
    """
    if budget == "quick":
        return cache_dir() / "quick-records"
    if budget != "full":
        raise ValueError(f"budget must be quick or full, got {budget!r}")
    chosen = os.environ.get(RECORDS_VARIABLE)
    return Path(chosen) if chosen else Path(__file__).parent / "records"


def record_path(experiment: str, row: str, seed: int, budget: str = "full") -> Path:
    """Where the record of a row and seed lies, whether or not it exists."""
    return records_dir(budget) / experiment / f"{row}-s{seed}.json"


def arrays_path(path: Path) -> Path:
    """Where the arrays of the record at ``path`` lie."""
    return path.with_suffix(".npz")


def records_of(experiment: str, budget: str = "full") -> list[Path]:
    """Paths of an experiment's records, by row and seed."""
    folder = records_dir(budget) / experiment
    if not folder.is_dir():
        return []
    named = []
    for path in folder.glob("*.json"):
        match = _NAME.fullmatch(path.stem)
        if match:
            named.append((match["row"], int(match["seed"]), path))
    return [path for *_, path in sorted(named)]


def read_record(path: Path) -> Record:
    """The record at ``path``.

    Raises:
        RecordError: it is not JSON, lacks a field, or is of another schema.
        FileNotFoundError: there is none.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise RecordError(
            f"{path} is damaged ({error}); run it again (python -m course records "
            "refresh moves it aside and measures the row anew)"
        ) from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        found = data.get("schema") if isinstance(data, dict) else type(data).__name__
        raise RecordError(f"{path} has schema {found!r}, this course reads schema {SCHEMA}")
    for name, kind in _FIELDS.items():
        if not isinstance(data.get(name), kind):
            raise RecordError(f"{path}: field {name!r} is missing or of the wrong type")
    for name in ("metrics", "loss_curve", "curves"):
        data[name] = _decode(data[name])
    return Record(path, data)


def write_record(path: Path, data: Mapping[str, Any], arrays: Mapping[str, Any]) -> Record:
    """Write a record (arrays first, so that a record never names a file that is not there).

    Raises:
        RecordError: the disk is full or the folder cannot be written; nothing is half-written.
    """
    import numpy as np

    data = dict(data)
    try:
        if arrays:
            buffer = io.BytesIO()
            np.savez_compressed(buffer, allow_pickle=False, **arrays)
            content = buffer.getvalue()
            atomic_write_bytes(arrays_path(path), content)
            data["arrays"] = {
                "file": arrays_path(path).name,
                "bytes": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
            }
        atomic_write_text(path, _format(data))
    except OSError as error:
        raise RecordError(
            f"cannot write {path}: {error.strerror or error}; nothing was changed "
            "and the run's checkpoint is kept: make room and run it again"
        ) from error
    return read_record(path)


def restamp_record(record: Record, stamp: Mapping[str, Any]) -> Record:
    """Add a verification to a record; everything else in the file stays as it is.

    Only the last verification is kept beside the first run: the ones between say nothing more.

    Raises:
        RecordError: the file cannot be written.
    """
    data = {**record.data, "verified": [dict(stamp)]}
    try:
        atomic_write_text(record.path, _format(data))
    except OSError as error:
        raise RecordError(f"cannot write {record.path}: {error.strerror or error}") from error
    return read_record(record.path)


def move_aside(path: Path) -> Path:
    """Rename a damaged file so that nothing is lost and a new one can take its place."""
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    os.replace(path, aside)
    return aside


def thin(losses: list[float], points: int = 150) -> dict[str, list[float]]:
    """A loss curve in at most ``points`` steps, each the mean of the losses since the last one.

    >>> thin([4.0, 2.0, 3.0, 1.0], points=2)
    {'step': [2, 4], 'loss': [3.0, 2.0]}
    """
    if not losses:
        return {}
    width = math.ceil(len(losses) / points)
    step, mean = [], []
    for start in range(0, len(losses), width):
        part = losses[start : start + width]
        step.append(start + len(part))
        mean.append(float(f"{math.fsum(part) / len(part):.5g}"))
    return {"step": step, "loss": mean}  # type: ignore[dict-item]


def _format(data: Mapping[str, Any]) -> str:
    """JSON with a line a field: readable, and a diff shows which field changed."""
    lines = [
        f"  {json.dumps(name)}: {json.dumps(_encode(value), allow_nan=False)}"
        for name, value in data.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _encode(value: Any) -> Any:
    """JSON has no infinity: a diverged run's perplexity is written as a string."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"float:{value}"
    if isinstance(value, Mapping):
        return {str(key): _encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encode(item) for item in value]
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("float:"):
        return float(value.removeprefix("float:"))
    if isinstance(value, dict):
        return {key: _decode(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_decode(item) for item in value]
    return value
