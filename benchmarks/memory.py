"""Peaks of memory: a ladder run, a notebook, a grading worker, a build; and whether they grow."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks import classes
from benchmarks.comparison import ROOT, Comparison, Context
from benchmarks.results import Goal, Row
from benchmarks.watch import watch

PYTHON = sys.executable
CHAPTER = """\
# A chapter

One sum: $\\sum_t w_t = 1$. See [the front page](intro.ipynb).
"""


def ladder(folder: Path, rows: int) -> float:
    """MiB of a ladder run, quick budget, some rows one after the other."""
    names = ["no-context", "average", "head", "one-block"][-rows:]
    own = {"COURSE_RECORDS": str(folder / "records"), "COURSE_CACHE": str(folder / "cache")}
    shutil.rmtree(folder, ignore_errors=True)
    command = [PYTHON, "-m", "course", "experiments", "run", "ladder", "--seeds", "0"]
    return watch([*command, "--budget", "quick", "--rows", *names], ROOT, own).peak_mb


def notebook(folder: Path, chapters: int) -> float:
    """MiB of running notebooks, one at a time."""
    root = book(folder, chapters, "import torch\ntorch.ones(3).sum()")
    script = str(ROOT / "book" / "_ext" / "execute.py")
    return watch([PYTHON, script, "--root", str(root), "--jobs", "1", "book"], ROOT).peak_mb


def build(folder: Path, chapters: int) -> float:
    """MiB of building the pages of a small book."""
    root = book(folder, chapters, "1 + 1")
    script = str(ROOT / "book" / "_ext" / "build.py")
    return watch([PYTHON, script, "--root", str(root), "--jobs", "1"], ROOT).peak_mb


def book(folder: Path, chapters: int, code: str) -> Path:
    """A book of this course's extension with so many small chapters."""
    from tests.book import minibook

    shutil.rmtree(folder, ignore_errors=True)
    names = [f"{number:02d}-chapter" for number in range(1, chapters + 1)]
    listed = "".join(f"\n  - file: book/{name}" for name in names)
    toc = f"format: jb-book\nroot: book/intro\nparts:\n- caption: All\n  chapters:{listed}\n"
    minibook.make(folder, toc)
    for name in ["intro", *names]:
        cells = (minibook.md(CHAPTER), minibook.SETUP, minibook.PARAMETERS, minibook.code(code))
        minibook.notebook(folder / "book" / f"{name}.ipynb", *cells)
    return folder


def grading(folder: Path, learners: int) -> float:
    """MiB of grading so many submissions with one worker."""
    shutil.rmtree(folder, ignore_errors=True)
    room = classes.make(folder, learners, plain=False)
    return watch(classes.ours(room, 1), ROOT).peak_mb


# What runs, what is counted, few of them, many of them, and the same for --quick.
WORK: list[tuple[str, Callable[[Path, int], float], str, tuple[int, int], tuple[int, int]]] = [
    ("a ladder run", ladder, "rows", (1, 2), (1, 1)),
    ("running notebooks", notebook, "chapters", (1, 4), (1, 1)),
    ("grading", grading, "submissions", (2, 6), (1, 1)),
    ("building pages", build, "chapters", (2, 8), (1, 1)),
]


def run(context: Context) -> list[Row]:
    rows = []
    for name, work, counted, full, quick in WORK:
        if name == "grading" and shutil.which("bwrap") is None:
            context.say("no bubblewrap: grading is left out")
            continue
        few, many = context.pick(full, quick)
        folder = context.folder / name.replace(" ", "-")
        peaks = {}
        for count in dict.fromkeys((many, few)):
            context.say(f"{name}, {count} {counted}")
            peaks[count] = context.part(
                f"{name}-{count}".replace(" ", "-"), partial(work, folder, count)
            )
        goals = []
        if many != few:
            goals = [
                Goal(
                    f"peak with {many} {counted} against {few}", peaks[many] / peaks[few], unit="×",
                    below=1.2,
                    why=f"{(peaks[many] - peaks[few]) / (many - few):.1f} MiB more for each",
                )
            ]  # fmt: skip
        sides = {f"{count} {counted}": [peak] for count, peak in peaks.items()}
        rows.append(Row(name, "MiB at the peak", sides, goals))
    return rows


COMPARISON = Comparison(
    name="memory",
    title="Memory",
    against="the same with fewer of them",
    run=run,
    seconds=150,
    peers=("psutil",),
    rounds=1,
    notes=(
        "All processes of a command at one moment; what two of them share counts once.",
        "Chapters here are small ones, made for the purpose; the whole book's build is in its own "
        "comparison.",
    ),
)
