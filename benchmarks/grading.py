"""Grading a class: 24 submissions of ``head``, isolated, against plain ``nbgrader autograde``.

Ours runs each learner's code in a sandbox of its own; nbgrader runs it with the instructor's
rights, in a new kernel each time.
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from benchmarks import classes
from benchmarks.comparison import ROOT, CannotMeasure, Comparison, Context
from benchmarks.measure import summary
from benchmarks.results import Goal, Row
from benchmarks.watch import watch
from course.parallel import available_cores

SIDES = {"course, 2 workers": 2, "course, 1 worker": 1, "nbgrader autograde": 0}


def grade(folder: Path, workers: int, learners: int) -> list[float]:
    """Submissions a minute, peak memory, points and busy cores of one grading, in a fresh copy.

    Raises:
        RuntimeError: not everybody has a grade.
    """
    plain = workers == 0
    template = classes.make(folder / ("plain" if plain else "ours"), learners, plain)
    room = folder / "room"
    shutil.rmtree(room, ignore_errors=True)
    shutil.copytree(template, room)
    command = classes.plain() if plain else classes.ours(room, workers)
    taken = watch(command, room if plain else ROOT, {"PYTHONPATH": str(ROOT)})
    points = classes.points(room)
    if len(points) != learners or len(set(points.values())) != 1 or not min(points.values()):
        raise RuntimeError(f"{' '.join(command)}: {learners} equal answers were graded {points}")
    busy = taken.cpu_seconds / taken.seconds
    return [learners / taken.seconds * 60, taken.peak_mb, min(points.values()), busy]


def second_worker(medians: dict[str, float], busy: dict[str, float]) -> Goal:
    """What a second worker gains, of what the cores that the first left idle allow."""
    cores = available_cores()
    gain = medians["course, 2 workers"] / medians["course, 1 worker"]
    room = min(2.0, max(1.0, cores / busy["course, 1 worker"]))
    return Goal(
        f"a second worker's gain ({gain:.2f} ×), of what {cores} cores leave it ({room:.2f} ×)",
        100 * gain / room,
        at_least=90.0,
        unit="%",
        why="starting it takes as long as grading several submissions: a larger class gains more",
    )


def run(context: Context) -> list[Row]:
    if shutil.which("bwrap") is None:
        raise CannotMeasure("bubblewrap is not here: apt-get install bubblewrap")
    learners = context.pick(24, 1)
    sides = context.pick(list(SIDES), ["course, 1 worker", "nbgrader autograde"])
    taken: dict[str, list[list[float]]] = {name: [] for name in sides}
    for number in range(context.rounds):
        for name in sides:
            context.say(f"round {number + 1} of {context.rounds}: {name}")
            workers = SIDES[name]
            taken[name].append(
                context.part(
                    f"{number}-{workers}", partial(grade, context.folder, workers, learners)
                )
            )
    points = {value[2] for values in taken.values() for value in values}
    if len(points) != 1:
        raise RuntimeError(f"the sides gave different points for the same answers: {points}")
    rates = {name: [value[0] for value in values] for name, values in taken.items()}
    medians = {name: summary(values).median for name, values in rates.items()}
    goals = []
    for name, bound in (("course, 2 workers", 4.0), ("course, 1 worker", 2.0)):
        if name in medians:
            goals.append(
                Goal(
                    f"throughput against nbgrader ({name})",
                    medians[name] / medians["nbgrader autograde"],
                    at_least=bound,
                    unit="×",
                    why=f"a submission takes {60 / medians[name]:.1f} s of ours and "
                    f"{60 / medians['nbgrader autograde']:.1f} s of nbgrader's, on "
                    f"{available_cores()} cores; both run the same tests",
                )
            )
    busy = {name: summary([v[3] for v in values]).median for name, values in taken.items()}
    if "course, 2 workers" in medians:
        goals.append(second_worker(medians, busy))
    details = {f"{name}: peak MiB": max(v[1] for v in values) for name, values in taken.items()}
    details |= {f"{name}: cores busy": cores for name, cores in busy.items()}
    work = f"{learners} submissions of {classes.ASSIGNMENT}"
    return [Row(work, "submissions a minute", rates, goals, details, better="higher")]


COMPARISON = Comparison(
    name="grading",
    title="Grading a class",
    against="plain nbgrader autograde, without isolation",
    run=run,
    seconds=700,
    default=False,
    rounds=2,
    notes=("Both sides give the same points; the run stops where they do not.",),
)
