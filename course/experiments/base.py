"""What an experiment is: rows to measure, one function that measures a row, and its provenance.

An experiment's file is readable without PyTorch: its description (rows, budgets, published
figures) is plain data, and its functions import what they compute with when they are called.  So
pages, ``--help`` and ``load_records`` never load a numerical library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = [
    "BUDGETS",
    "FIRST_LOSSES",
    "Checkpoint",
    "Experiment",
    "Interrupted",
    "Metric",
    "Replayed",
    "Result",
    "Row",
    "Run",
]

BUDGETS = ("quick", "full")
FIRST_LOSSES = 20  # how many training losses a record keeps, and ``records verify`` replays


class Interrupted(Exception):
    """A run was asked to stop; its checkpoint holds what it had."""


class Replayed(Exception):
    """The first steps of a run were made again, as asked; ``losses`` are theirs."""

    def __init__(self, losses: list[float]) -> None:
        super().__init__(f"replayed {len(losses)} steps")
        self.losses = losses


@dataclass(frozen=True)
class Metric:
    """A measured quantity of an experiment: its unit, and how a table prints it."""

    name: str
    label: str
    unit: str = ""
    digits: int = 2


@dataclass(frozen=True)
class Row:
    """One line of an experiment's table: a configuration, trained or measured once a seed.

    ``published`` maps a metric to the reference's figure, ``approximate`` names those the
    reference only implies.  An ``optional`` row needs what not every machine has (a GPU): it is
    run only when it is named, and its absence is nothing missing.
    """

    name: str
    label: str
    config: Mapping[str, Any]
    published: Mapping[str, float] = field(default_factory=dict)
    approximate: tuple[str, ...] = ()
    optional: bool = False


@dataclass
class Result:
    """What a run found.

    ``metrics`` are single numbers (or strings, booleans); ``curves`` are series, each a mapping of
    equally long lists with the axis first; ``losses`` every training loss in order; ``arrays`` are
    small NumPy arrays stored beside the record; ``notes`` are sentences a reader should see.
    """

    metrics: dict[str, Any]
    losses: list[float] = field(default_factory=list)
    curves: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    arrays: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    corpus: dict[str, Any] | None = None


class Checkpoint(Protocol):
    """Where a run keeps what it would lose if it were killed now."""

    def load(self) -> dict[str, Any] | None:
        """The saved state, or None where there is none that can be read."""

    def save(self, state: dict[str, Any]) -> None:
        """Replace the saved state by this one."""

    def due(self) -> bool:
        """Whether the last save is long enough ago for another."""


@dataclass
class Run:
    """One run as its experiment sees it: what to do, where, and whom to tell about progress."""

    experiment: str
    row: str
    config: dict[str, Any]
    seed: int
    budget: str
    device: str
    checkpoint: Checkpoint
    progress: Callable[[int, int, str], None] = lambda done, total, note: None
    replay: int = 0  # stop after this many training steps by raising Replayed; 0 runs everything


@dataclass(frozen=True)
class Experiment:
    """An experiment: a table of rows, and the function that measures one row with one seed.

    ``quick`` maps the changes that make a row's configuration small; ``evaluation`` names the
    definitions (``module:name``) whose code runs after the first training steps, so that a replay
    of those steps cannot vouch for it: evaluation and schedules.  ``seeds`` is how many seeds a
    full table has.
    """

    name: str
    title: str
    rows: tuple[Row, ...]
    run: Callable[[Run], Result]
    metrics: tuple[Metric, ...]
    claims: tuple[str, ...] = ()
    quick: Mapping[str, Any] = field(default_factory=dict)
    evaluation: tuple[str, ...] = ()
    seeds: int = 1
    trains: bool = True

    def row(self, name: str) -> Row:
        """The row of that name.

        Raises:
            KeyError: there is none; the message lists those there are.
        """
        for row in self.rows:
            if row.name == name:
                return row
        known = ", ".join(row.name for row in self.rows)
        raise KeyError(f"experiment {self.name} has no row {name!r}; it has {known}")

    def config(self, row: Row, budget: str) -> dict[str, Any]:
        """The full configuration of a row at a budget: everything a run's result depends on.

        A quick configuration takes the smaller of a row's own number and the quick one.

        Raises:
            ValueError: the budget is neither quick nor full.
        """
        if budget not in BUDGETS:
            raise ValueError(f"budget must be one of {', '.join(BUDGETS)}, got {budget!r}")
        config = dict(row.config)
        if budget == "quick":
            for key, value in self.quick.items():
                if key in config:
                    config[key] = min(config[key], value)
        return config
