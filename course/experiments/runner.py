"""Running rows into records: skip what is there, resume what was begun, lose nothing."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any

from course.experiments import provenance
from course.experiments.base import (
    FIRST_LOSSES,
    Experiment,
    Interrupted,
    Replayed,
    Result,
    Row,
    Run,
)
from course.experiments.checkpoints import FileCheckpoint, NoCheckpoint, checkpoint_path
from course.experiments.hashing import CodeHash, code_hash, config_hash, definitions_hash
from course.experiments.locks import Held, hold
from course.experiments.records import (
    SCHEMA,
    Record,
    RecordError,
    move_aside,
    read_record,
    record_path,
    thin,
    write_record,
)
from course.experiments.registry import get, module_of
from course.parallel import executor, keep_freed_memory

__all__ = [
    "Outcome",
    "Settings",
    "evaluation_hash",
    "is_current",
    "replay_row",
    "run_all",
    "run_row",
]

_CURVE_DIGITS = 6


@dataclass(frozen=True)
class Settings:
    """How to run, as against what: nothing here alters a result."""

    budget: str = "full"
    device: str = "auto"
    force: bool = False  # measure again what is recorded already
    wait: bool = False  # for a row that another process is running
    progress: bool = True


@dataclass(frozen=True)
class Outcome:
    """What became of one row: "recorded", "present", "held" or "failed", and a sentence."""

    experiment: str
    row: str
    seed: int
    status: str
    message: str = ""
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """``experiment/row seed s``."""
        return f"{self.experiment}/{self.row} seed {self.seed}"


def evaluation_hash(experiment: Experiment, root: Path | None = None) -> str:
    """Hash of what a replay of the first steps cannot vouch for.

    That is evaluation and schedules with all they use, and the text of the experiment's own
    ``run``; ``root`` is the folder that holds the package (default: this one's).
    """
    run = f"{module_of(experiment)}:{experiment.run.__name__}"
    return definitions_hash(experiment.evaluation, root, alone=[run])


@dataclass(frozen=True)
class _Loaded:
    """The code this process runs, and its commit.

    Files edited while a long run goes on are not what it runs: Python has read its modules
    already.  So this is taken once, before anything heavy is imported.
    """

    code: CodeHash
    evaluation: str
    git: dict[str, Any]


@lru_cache(maxsize=64)
def _loaded(name: str) -> _Loaded:
    experiment = get(name)
    return _Loaded(
        code_hash(module_of(experiment)), evaluation_hash(experiment), provenance.git_state()
    )


def is_current(record: Record, experiment: Experiment, code: CodeHash | None = None) -> bool:
    """Whether the record was made, or verified, with today's configuration and code."""
    code = code or code_hash(module_of(experiment))
    try:
        config = experiment.config(experiment.row(record.row), record.data["budget"])
    except KeyError:
        return False
    return record.data["config_hash"] == config_hash(config) and code.hash in record.code_hashes


def run_row(name: str, row_name: str, seed: int, settings: Settings) -> Outcome:
    """Run one row with one seed into its record, unless it is there already."""
    experiment = get(name)
    row = experiment.row(row_name)
    path = record_path(name, row_name, seed, settings.budget)
    _loaded(name)

    def outcome(status: str, message: str = "", seconds: float = 0.0) -> Outcome:
        return Outcome(name, row_name, seed, status, message, seconds)

    if _is_there(path, experiment) and not settings.force:
        return outcome("present")
    try:
        with hold(path, wait=settings.wait) as note:
            if note:
                print(f"{name}/{row_name} seed {seed}: {note}", file=sys.stderr)
            # It may have been written while this process waited for the lock.
            if _is_there(path, experiment) and not settings.force:
                return outcome("present")
            aside = _make_room(path)
            seconds = _measure(experiment, row, seed, settings, path)
            kept = f"(the damaged one is kept as {aside.name})" if aside else ""
            return outcome("recorded", kept, seconds)
    except Held as held:
        return outcome("held", str(held))
    except (Interrupted, KeyboardInterrupt):
        raise
    except Exception as error:  # one row's failure must not end the others
        return outcome("failed", f"{type(error).__name__}: {error}")


def _is_there(path: Path, experiment: Experiment) -> bool:
    try:
        return is_current(read_record(path), experiment, _loaded(experiment.name).code)
    except (FileNotFoundError, RecordError):
        return False


def _make_room(path: Path) -> Path | None:
    """Move a damaged record aside; a sound one stays until its successor is whole."""
    try:
        read_record(path)
    except FileNotFoundError:
        return None
    except RecordError as error:
        aside = move_aside(path)
        print(f"{error}: it is kept as {aside.name}", file=sys.stderr)
        return aside
    return None


def _measure(experiment: Experiment, row: Row, seed: int, settings: Settings, path: Path) -> float:
    device = _device(settings.device, row)
    config = experiment.config(row, settings.budget)
    code = _loaded(experiment.name).code
    key = config_hash(
        {
            "config": config_hash(config),
            "code": code.hash,
            "device": device.partition(":")[0],
            "budget": settings.budget,
        }
    )
    checkpoint = FileCheckpoint(checkpoint_path(experiment.name, row.name, seed, key))
    clock = _Clock(checkpoint)
    keep_freed_memory()
    with _bar(f"{experiment.name}/{row.name} s{seed}", settings.progress) as progress:
        run = Run(experiment.name, row.name, config, seed, settings.budget, device, clock, progress)
        with _stop_on_signal():
            result = experiment.run(run)
    seconds = clock.seconds()
    data = _record(row, run, result, seconds)
    write_record(path, data, result.arrays)
    checkpoint.remove()
    return seconds


def replay_row(name: str, row_name: str, seed: int, budget: str, device: str) -> list[float]:
    """The first training losses of a row, made again with today's code.

    Raises:
        ValueError: the experiment trains nothing, so there is nothing to replay.
    """
    experiment = get(name)
    if not experiment.trains:
        raise ValueError(f"{name} trains nothing: run it again instead")
    row = experiment.row(row_name)
    config = experiment.config(row, budget)
    run = Run(
        name,
        row_name,
        config,
        seed,
        budget,
        _device(device, row),
        NoCheckpoint(),
        replay=min(FIRST_LOSSES, config["steps"]),
    )
    keep_freed_memory()
    try:
        experiment.run(run)
    except Replayed as replayed:
        return replayed.losses
    raise ValueError(f"{name}/{row_name} came to an end within its first {run.replay} steps")


def run_all(
    work: list[tuple[str, str, int]],
    settings: Settings,
    jobs: int = 1,
    scheduler: str | None = None,
    report: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Run (experiment, row, seed) in that order; with ``jobs`` or a scheduler, several at once.

    A failed row does not end the others; see its outcome.
    """
    outcomes: list[Outcome] = []

    def done(outcome: Outcome) -> None:
        outcomes.append(outcome)
        if report is not None:
            report(outcome)

    if jobs == 1 and scheduler is None:
        for name, row, seed in work:
            done(run_row(name, row, seed, settings))
        return outcomes
    # Several bars at once would overwrite each other: the caller reports rows as they finish.
    quiet = Settings(settings.budget, settings.device, settings.force, settings.wait, False)
    with executor(jobs, scheduler) as pool:
        futures: dict[Future[Outcome], tuple[str, str, int]] = {
            pool.submit(run_row, name, row, seed, quiet): (name, row, seed)
            for name, row, seed in work
        }
        for future in as_completed(futures):
            try:
                done(future.result())
            except Exception as error:  # a worker that was killed takes its row with it
                done(
                    Outcome(
                        *futures[future],
                        "failed",
                        f"{type(error).__name__}: {error} (run it again: it resumes)",
                    )
                )
    return outcomes


def _device(device: str, row: Row) -> str:
    from course.training import pick_device

    return str(pick_device(row.config.get("device", device)))


def _record(row: Row, run: Run, result: Result, seconds: float) -> dict[str, Any]:
    loaded = _loaded(run.experiment)
    return {
        "schema": SCHEMA,
        "experiment": run.experiment,
        "row": row.name,
        "seed": run.seed,
        "budget": run.budget,
        "metrics": result.metrics,
        "notes": result.notes,
        "config": run.config,
        "config_hash": config_hash(run.config),
        "seconds": round(seconds, 1),
        "finished": provenance.now(),
        "machine": provenance.machine(run.device),
        "versions": provenance.versions(),
        "git": loaded.git,
        "corpus": result.corpus,
        "code": {
            "hash": loaded.code.hash,
            "evaluation": loaded.evaluation,
            "modules": dict(sorted(loaded.code.items())),
        },
        "verified": [],
        "arrays": None,
        "first_losses": result.losses[:FIRST_LOSSES],
        "loss_curve": thin(result.losses),
        "curves": {
            name: {key: [_rounded(x) for x in values] for key, values in curve.items()}
            for name, curve in result.curves.items()
        },
    }


def _rounded(value: Any) -> Any:
    return float(f"{value:.{_CURVE_DIGITS}g}") if isinstance(value, float) else value


class _Clock:
    """A checkpoint that also carries the seconds spent before an interruption."""

    def __init__(self, inner: FileCheckpoint) -> None:
        self._inner = inner
        self._earlier = 0.0
        self._start = time.monotonic()

    def seconds(self) -> float:
        return self._earlier + time.monotonic() - self._start

    def load(self) -> dict[str, Any] | None:
        state = self._inner.load()
        if state is None:
            return None
        self._earlier = float(state.pop("seconds", 0.0))
        return state

    def save(self, state: dict[str, Any]) -> None:
        self._inner.save({**state, "seconds": self.seconds()})

    def due(self) -> bool:
        return self._inner.due()


@contextmanager
def _bar(label: str, show: bool) -> Iterator[Callable[[int, int, str], None]]:
    from tqdm import tqdm

    with tqdm(desc=label, unit="step", disable=not show, file=sys.stderr, mininterval=1.0) as bar:

        def progress(done: int, total: int, note: str) -> None:
            if bar.total != total:  # the first call: what was done before is no part of the rate
                bar.total = total
                bar.initial = done
                bar.reset(total)
                bar.initial = done
                bar.n = done
            bar.set_postfix_str(note, refresh=False)
            bar.update(done - bar.n)

        yield progress


@contextmanager
def _stop_on_signal() -> Iterator[None]:
    """Turn a polite request to end (SIGTERM) into an exception, so that the bar and lock close."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Interrupted(f"stopped by signal {number}; run it again to go on from the checkpoint")

    try:
        earlier = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not the main thread (a Dask worker): it has its own ways
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, earlier)
