"""Are the records current?  If not, does a replay of their first steps vouch for them?"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.experiments import provenance
from course.experiments.base import Experiment
from course.experiments.hashing import code_hash, config_hash
from course.experiments.records import (
    Record,
    RecordError,
    read_record,
    record_path,
    records_dir,
    records_of,
    restamp_record,
)
from course.experiments.registry import EXPERIMENTS, get, module_of
from course.experiments.runner import evaluation_hash, replay_row

__all__ = ["ACCEPTED_FILE", "State", "Verdict", "accepted", "status", "verify"]

ACCEPTED_FILE = "accepted.json"
_ELSEWHERE = 1e-4  # relative difference of losses that two machines' rounding may make in 20 steps


@dataclass(frozen=True)
class State:
    """One record's state: "current", "stale", "missing" or "damaged", and why.

    ``accepted`` is the reason why a stale record may stay, from ``records/accepted.json``.
    """

    experiment: str
    row: str
    seed: int
    state: str
    reason: str = ""
    accepted: str = ""

    @property
    def name(self) -> str:
        """``experiment/row-s0``, as its file is called."""
        return f"{self.experiment}/{self.row}-s{self.seed}"


@dataclass(frozen=True)
class Verdict:
    """Whether a replay came out as recorded, and a sentence."""

    verified: bool
    message: str


def accepted(budget: str = "full") -> dict[str, str]:
    """Stale records that may stay, ``experiment/row-sN`` → reason.

    Raises:
        RecordError: the file is damaged, or a reason is empty.
    """
    path = records_dir(budget) / ACCEPTED_FILE
    try:
        reasons = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise RecordError(f"{path} is damaged: {error}") from error
    if not isinstance(reasons, dict) or not all(isinstance(r, str) and r for r in reasons.values()):
        raise RecordError(f"{path} must map experiment/row-sN to the reason it may stay stale")
    return reasons


def status(
    names: list[str] | None = None, budget: str = "full", seeds: list[int] | None = None
) -> list[State]:
    """The state of every record there is, and of every one a full table lacks.

    Args:
        names: only these experiments.
        seeds: what a full table has; by default each experiment's own number of seeds.
    """
    reasons = accepted(budget)
    states = []
    for name in names if names is not None else list(EXPERIMENTS):
        experiment = get(name)
        code = code_hash(module_of(experiment))
        wanted = list(range(experiment.seeds)) if seeds is None else seeds
        expected = {
            record_path(name, row.name, seed, budget): (row.name, seed)
            for row in experiment.rows
            if not row.optional
            for seed in wanted
        }
        found = records_of(name, budget)
        for path in [*expected, *(path for path in found if path not in expected)]:
            row, _, seed = path.stem.rpartition("-s")
            state, reason = _state_of(path, experiment, code)
            full_name = f"{name}/{path.stem}"
            states.append(State(name, row, int(seed), state, reason, reasons.get(full_name, "")))
    return states


def _state_of(path: Any, experiment: Experiment, code: Any) -> tuple[str, str]:
    try:
        record = read_record(path)
        record.arrays()
    except FileNotFoundError:
        return "missing", ""
    except RecordError as error:
        return "damaged", str(error)
    reason = _why_stale(record, experiment, code)
    return ("stale", reason) if reason else ("current", "")


def _why_stale(record: Record, experiment: Experiment, code: Any) -> str:
    try:
        row = experiment.row(record.row)
    except KeyError:
        return f"{experiment.name} has no such row any more"
    config = experiment.config(row, record.data["budget"])
    if record.data["config_hash"] != config_hash(config):
        changed = sorted(
            key for key in {*config, *record.config} if config.get(key) != record.config.get(key)
        )
        return f"its configuration changed ({', '.join(changed)})"
    if code.hash in record.code_hashes:
        return ""
    before = (
        record.data["verified"][-1]["modules"]
        if record.data["verified"]
        else (record.data["code"]["modules"])
    )
    changed = sorted(name for name in {*code, *before} if code.get(name) != before.get(name))
    return f"code changed in {', '.join(changed)}"


def verify(
    state: State, budget: str = "full", device: str = "auto", tolerance: float | None = None
) -> Verdict:
    """Replay a record's first steps with today's code; stamp it if they are the same.

    The losses must be equal bit for bit on the device, processor, thread count and versions of
    the record, within a relative 1e-4 elsewhere, or within ``tolerance`` where it is given; the
    stamp keeps the tolerance and the largest difference seen.  Code that runs after those steps
    (evaluation, schedules) must not have changed at all.

    Raises:
        RecordError: the stamp cannot be written.
    """
    path = record_path(state.experiment, state.row, state.seed, budget)
    record = read_record(path)
    experiment = get(state.experiment)
    code = code_hash(module_of(experiment))
    run_again = "run it again"
    if record.data["config_hash"] != config_hash(
        experiment.config(experiment.row(record.row), budget)
    ):
        return Verdict(False, f"its configuration is another: {run_again}")
    if not experiment.trains:
        return Verdict(False, f"it trains nothing that could be replayed: {run_again}")
    if not _same_evaluation(record, experiment):
        return Verdict(False, f"code that measures after training changed: {run_again}")
    recorded = record.data["first_losses"]
    replayed = replay_row(
        state.experiment,
        state.row,
        state.seed,
        budget,
        record.device if device == "auto" else device,
    )
    difference = max(
        (abs(a - b) / abs(b) for a, b in zip(replayed, recorded, strict=True)), default=float("inf")
    )
    allowed = tolerance if tolerance is not None else (0.0 if _same_setup(record) else _ELSEWHERE)
    if not difference <= allowed:
        return Verdict(
            False,
            f"the first losses differ by up to {difference:.2g} (relative; "
            f"{allowed:g} is allowed): {run_again}",
        )
    stamp = {
        "code_hash": code.hash,
        "modules": dict(sorted(code.items())),
        "git": provenance.git_state(),
        "date": provenance.now(),
        "largest_difference": difference,
        "tolerance": allowed,
    }
    restamp_record(record, stamp)
    return Verdict(
        True, f"{len(replayed)} losses equal (largest relative difference {difference:.2g})"
    )


def _same_evaluation(record: Record, experiment: Experiment) -> bool:
    """Whether the code that measures after training is the record's: by its hash, or read from the
    record's commit (the hash alone would also change with the way it is taken)."""
    now = evaluation_hash(experiment)
    if record.data["code"]["evaluation"] == now:
        return True
    with tempfile.TemporaryDirectory() as folder:
        if not provenance.extract_package(record.data["git"].get("commit"), Path(folder)):
            return False
        try:
            return evaluation_hash(experiment, Path(folder)) == now
        except (KeyError, FileNotFoundError):  # what measures now did not exist then
            return False


def _same_setup(record: Record) -> bool:
    machine = provenance.machine(record.device)
    return (
        all(
            record.data["machine"][key] == machine[key]
            for key in ("device", "device_name", "cpu", "threads")
        )
        and record.data["versions"] == provenance.versions()
    )
