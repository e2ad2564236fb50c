"""Waiting for a command to answer: ``python -m course --help``, and importing the package."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.comparison import ROOT, Comparison, Context
from benchmarks.measure import Side, summary
from benchmarks.results import Goal, Row

# What a chapter imports, beyond torch; timed inside the process, after torch is there.
LEARNER = "import course.attention, course.models, course.training, course.generation"
TIMED = (
    "import time{before}; start = time.perf_counter(); {code}; print(time.perf_counter() - start)"
)


def process(*arguments: str) -> Side:
    """Seconds from starting Python until it has ended."""

    def side() -> None:
        subprocess.run(
            [sys.executable, *arguments], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
        )

    return side


def inside(code: str, before: str = "") -> Side:
    """Seconds that a new Python spends in ``code``."""

    def side() -> float:
        command = [sys.executable, "-c", TIMED.format(before=before and f", {before}", code=code)]
        done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        return float(done.stdout)

    return side


def run(context: Context) -> list[Row]:
    starts = context.interleave(
        {
            "python -m course --help": process("-m", "course", "--help"),
            "python -c pass": process("-c", "pass"),
        }
    )
    imports = context.interleave(
        {
            "import course": inside("import course"),
            "what a chapter imports, torch there": inside(LEARNER, "torch"),
            "import torch": inside("import torch"),
        }
    )
    shown = summary(starts["python -m course --help"]).median
    mine = summary(imports["what a chapter imports, torch there"]).median
    return [
        Row(
            "a command's help", "s", starts,
            [Goal("a command's help", shown, below=0.3, unit="s",
                  why="starting Python itself is the second number")],
        ),
        Row(
            "importing the package", "s", imports,
            [Goal("beyond torch", mine, below=0.15, unit="s",
                  why="the modules import one another; none is to import what it does not use")],
            note="`import course` loads no torch; a chapter's imports do, and torch is most of it.",
        ),
    ]  # fmt: skip


COMPARISON = Comparison(
    name="start-up",
    title="Start-up",
    against="Python's own start, and torch's",
    run=run,
    seconds=40,
    rounds=5,
)
