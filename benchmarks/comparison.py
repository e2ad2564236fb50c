"""What a comparison is, what it is given, and how one that is interrupted goes on."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import measure, results
from benchmarks.station import Station
from course.files import atomic_write_text

ROOT = Path(__file__).resolve().parents[1]
SCRATCH = ROOT / "_build" / "benchmarks"


# What makes a side, and with what arguments.
Maker = tuple[Callable[..., measure.Side], tuple[Any, ...]]


class CannotMeasure(RuntimeError):
    """Something that the comparison needs is not here; the message says what, and how to get it."""


@dataclass
class Context:
    """What a comparison is given.

    Args:
        rounds: how often each side runs.
        quick: tiny sizes, to see that it works: the numbers mean nothing.
        say: shows one line of progress.
        folder: for working files, kept until the comparison is done.
        commit: of the code that is measured; what another commit measured is not taken over.
    """

    rounds: int
    quick: bool
    say: Callable[[str], None]
    folder: Path
    commit: str | None = None

    def pick(self, full: Any, quick: Any) -> Any:
        """The full size, or the tiny one."""
        return quick if self.quick else full

    def interleave(
        self, sides: Mapping[str, measure.Side], scale: float = 1.0, rounds: int | None = None,
        warmup: int = 1,
    ) -> dict[str, list[float]]:  # fmt: skip
        """:func:`benchmarks.measure.interleave`, with this run's rounds."""
        return measure.interleave(
            sides, rounds or self.rounds, warmup=warmup, scale=scale, say=self.say
        )

    def stations(self, stack: ExitStack, makers: Mapping[str, Maker]) -> dict[str, measure.Side]:
        """Each side warm in a process of its own (in this one when quick).

        A process's allocator and threads are settings of the whole process: two sides that share
        one would share them too.
        """
        if self.quick:
            return {name: make(*arguments) for name, (make, arguments) in makers.items()}
        made: dict[str, measure.Side] = {}
        for name, (make, arguments) in makers.items():
            self.say(f"starting {name}")
            made[name] = stack.enter_context(Station(make, *arguments))
        return made

    def part(self, key: str, compute: Callable[[], Any]) -> Any:
        """``compute()``, or what it gave before an interruption (JSON, kept in ``folder``)."""
        path = self.folder / f"part-{key}.json"
        if path.is_file():
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept["commit"] == self.commit:
                self.say(f"{key}: measured before the interruption")
                return kept["value"]
        value = compute()
        atomic_write_text(path, json.dumps({"commit": self.commit, "value": value}))
        return value


@dataclass(frozen=True)
class Comparison:
    """One file of this package.

    Args:
        name: on the command line and as the result's file name.
        title: a heading for the page.
        against: what a reader would use instead, in words.
        run: gives the rows.
        seconds: a first estimate, until it has been measured.
        peers: distributions it needs beside the course's own.
        default: whether it runs when no name is given; the expensive ones do not.
        rounds: unless ``--rounds`` says otherwise.
    """

    name: str
    title: str
    against: str
    run: Callable[[Context], Sequence[results.Row]]
    seconds: float = 60.0
    peers: Sequence[str] = ()
    default: bool = True
    rounds: int = 9
    notes: Sequence[str] = field(default_factory=tuple)

    def expected(self, folder: Path = results.RESULTS) -> float:
        """Seconds it took last time, or the estimate."""
        before = results.read(self.name, folder)
        return float(before["seconds"]) if before else self.seconds

    def measure(
        self, rounds: int | None = None, quick: bool = False,
        say: Callable[[str], None] = lambda line: None, scratch: Path = SCRATCH,
        fresh: bool = False,
    ) -> dict[str, Any]:  # fmt: skip
        """Run it; the whole result. ``fresh`` forgets the parts an interrupted run has measured.

        Raises:
            CannotMeasure: something it needs is not here.
        """
        folder = scratch / (f"{self.name}-quick" if quick else self.name)
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        chosen = rounds or (1 if quick else self.rounds)
        where = results.provenance(self.peers)
        start = time.monotonic()
        rows = self.run(Context(chosen, quick, say, folder, where["git"]["commit"]))
        result = {
            "schema": results.SCHEMA,
            "comparison": self.name,
            "title": self.title,
            "against": self.against,
            **where,
            "rounds": chosen,
            "quick": quick,
            "seconds": round(time.monotonic() - start, 1),
            "rows": [row.to_dict() for row in rows],
            "notes": list(self.notes),
        }
        results.check(result)
        shutil.rmtree(folder, ignore_errors=True)
        return result
