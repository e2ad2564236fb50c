"""A run to look at: a row of an experiment at the quick budget."""

from __future__ import annotations

from course.experiments.base import Run
from course.experiments.checkpoints import NoCheckpoint
from course.experiments.registry import EXPERIMENTS


def run_of(name: str, row: str, seed: int = 0, **changes) -> Run:
    """A run of a row at the quick budget, with some of its configuration replaced."""
    experiment = EXPERIMENTS[name]
    config = {**experiment.config(experiment.row(row), "quick"), **changes}
    return Run(name, row, config, seed, "quick", "cpu", NoCheckpoint())
