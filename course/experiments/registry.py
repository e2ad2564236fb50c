"""All experiments by name.  To add one, write its file and name it here."""

from __future__ import annotations

from collections.abc import Iterator

from course.experiments import (
    cost,
    induction,
    ladder,
    norms,
    positions,
    pronouns,
    recurrence,
    scaling,
    seq2seq,
)
from course.experiments.base import Experiment, Row

__all__ = ["EXPERIMENTS", "get", "module_of", "pieces_of_work"]

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        ladder,
        scaling,
        norms,
        positions,
        cost,
        pronouns,
        recurrence,
        induction,
        seq2seq,
    )
}


def get(name: str) -> Experiment:
    """The experiment of that name.

    Raises:
        KeyError: there is none; the message lists those there are.
    """
    if name not in EXPERIMENTS:
        raise KeyError(f"no experiment {name!r}; there are {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


def module_of(experiment: Experiment) -> str:
    """The module whose imports are the code of the experiment."""
    return experiment.run.__module__


def pieces_of_work(
    names: list[str], rows: list[str] | None, seeds: list[int] | None
) -> Iterator[tuple[Experiment, Row, int]]:
    """(experiment, row, seed) in the order to run them: every row's first seed before any second.

    Args:
        rows: only these rows (each must be in one of the experiments at least).
        seeds: these seeds; None takes as many as each experiment's full table has.

    Raises:
        KeyError: an experiment or row that does not exist.
    """
    experiments = [get(name) for name in names]
    for wanted in rows or ():
        if not any(row.name == wanted for experiment in experiments for row in experiment.rows):
            known = ", ".join(row.name for experiment in experiments for row in experiment.rows)
            raise KeyError(f"no row {wanted!r} in {', '.join(names)}; there are {known}")
    chosen = {
        experiment.name: seeds if seeds is not None else list(range(experiment.seeds))
        for experiment in experiments
    }
    longest = max((len(part) for part in chosen.values()), default=0)
    for turn in range(longest):
        for experiment in experiments:
            if turn >= len(chosen[experiment.name]):
                continue
            for row in experiment.rows:
                if (rows is None and not row.optional) or (rows and row.name in rows):
                    yield experiment, row, chosen[experiment.name][turn]
