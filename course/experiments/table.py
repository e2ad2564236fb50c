"""Records as a table: mean, spread and the published figure; the only way to a number on a page.

Reading needs no PyTorch: figures and pages load records, they never train.
"""

from __future__ import annotations

import html
import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from course.experiments.base import Metric, Row
from course.experiments.records import Record, RecordError, read_record, records_of
from course.experiments.registry import get
from course.experiments.runner import is_current

__all__ = ["Records", "RowSummary", "Stat", "load_records"]


@dataclass(frozen=True)
class Stat:
    """A quantity over seeds: mean, standard deviation (0 for one seed), how many, and each."""

    mean: float
    sd: float
    n: int
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: list[float]) -> Stat:
        """The statistics of at least one value.

        >>> Stat.of([1.0, 3.0]).mean
        2.0
        """
        finite = all(math.isfinite(value) for value in values)
        sd = statistics.stdev(values) if len(values) > 1 and finite else 0.0
        mean = statistics.fmean(values) if finite else math.inf
        return cls(mean, sd, len(values), tuple(values))

    def format(self, digits: int = 2) -> str:
        """``38.07 ± 0.12``; without a spread where there is one seed.

        >>> Stat.of([2.0, 4.0]).format(1)
        '3.0 ± 1.4'
        """
        if self.n == 1 or digits == 0:
            return f"{self.mean:,.{digits}f}"
        return f"{self.mean:,.{digits}f} ± {self.sd:.{digits}f}"


@dataclass(frozen=True)
class RowSummary:
    """One row of the table: its records, and what they say of each metric.

    ``mean``, ``sd``, ``n`` and ``published`` are those of the experiment's first metric; ``mean``
    is None where nothing is recorded yet.
    """

    row: Row
    records: tuple[Record, ...]
    primary: str
    stale: bool

    @property
    def name(self) -> str:
        """The row's name."""
        return self.row.name

    @property
    def label(self) -> str:
        """The row in words."""
        return self.row.label

    @property
    def published(self) -> float | None:
        """The reference's figure for the first metric."""
        return self.row.published.get(self.primary)

    @property
    def approximate(self) -> bool:
        """Whether the reference only implies its figure."""
        return self.primary in self.row.approximate

    @property
    def n(self) -> int:
        """How many seeds are recorded."""
        return len(self.records)

    @property
    def mean(self) -> float | None:
        """Mean over seeds of the first metric."""
        return self[self.primary].mean if self.records else None

    @property
    def sd(self) -> float | None:
        """Standard deviation over seeds of the first metric."""
        return self[self.primary].sd if self.records else None

    def __getitem__(self, metric: str) -> Stat:
        """A metric over the seeds.

        Raises:
            KeyError: nothing is recorded, or the records do not have the metric.
        """
        values = [record.metrics[metric] for record in self.records if metric in record.metrics]
        if not values:
            raise KeyError(f"row {self.name} has no recorded {metric!r}")
        return Stat.of([float(value) for value in values])

    def curve(self, name: str = "loss", y: str | None = None, x: str | None = None) -> CurveSummary:
        """A curve averaged over seeds, with its spread.

        Args:
            y, x: which series of the curve; by default its last and its first.

        Raises:
            KeyError: nothing is recorded, or there is no such curve.
        """
        curves = [record.curves[name] for record in self.records if name in record.curves]
        if not curves:
            raise KeyError(f"row {self.name} has no recorded curve {name!r}")
        keys = list(curves[0])
        x, y = x or keys[0], y or keys[-1]
        series = list(zip(*(curve[y] for curve in curves), strict=True))
        return CurveSummary(
            x=tuple(curves[0][x]),
            mean=tuple(statistics.fmean(point) for point in series),
            low=tuple(min(point) for point in series),
            high=tuple(max(point) for point in series),
            n=len(curves),
        )


@dataclass(frozen=True)
class CurveSummary:
    """A curve over seeds: where, the mean, and the lowest and highest seed at each point."""

    x: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    n: int


@dataclass(frozen=True)
class Records:
    """All rows of an experiment, in its order, with what is recorded of each."""

    experiment: str
    title: str
    budget: str
    metrics: tuple[Metric, ...]
    rows: tuple[RowSummary, ...]

    def __getitem__(self, row: str) -> RowSummary:
        """The row of that name.

        Raises:
            KeyError: there is none.
        """
        for summary in self.rows:
            if summary.name == row:
                return summary
        known = ", ".join(summary.name for summary in self.rows)
        raise KeyError(f"{self.experiment} has no row {row!r}; it has {known}")

    def __iter__(self) -> Iterator[RowSummary]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def as_dict(self) -> dict[str, Any]:
        """The table as plain data."""
        rows = []
        for row in self.rows:
            metrics = {}
            for metric in self.metrics:
                if any(metric.name in record.metrics for record in row.records):
                    stat = row[metric.name]
                    metrics[metric.name] = {
                        "mean": stat.mean,
                        "sd": stat.sd,
                        "n": stat.n,
                        "values": list(stat.values),
                    }
            rows.append(
                {
                    "row": row.name,
                    "label": row.label,
                    "n": row.n,
                    "stale": row.stale,
                    "devices": sorted({record.device for record in row.records}),
                    "published": dict(row.row.published),
                    "metrics": metrics,
                }
            )
        return {
            "experiment": self.experiment,
            "title": self.title,
            "budget": self.budget,
            "rows": rows,
        }

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Heading and rows as text, as every rendering prints them."""
        published = [m for m in self.metrics if any(m.name in r.row.published for r in self.rows)]
        head = [
            "row",
            *(f"{m.label}{f' ({m.unit})' if m.unit else ''}" for m in self.metrics),
            *(f"published: {m.label}" for m in published),
            "seeds",
        ]
        lines = []
        for row in self.rows:
            line = [row.label]
            for metric in self.metrics:
                try:
                    line.append(row[metric.name].format(metric.digits))
                except KeyError:
                    line.append(
                        "not yet measured" if not row.n and metric is self.metrics[0] else ""
                    )
            for metric in published:
                value = row.row.published.get(metric.name)
                about = "≈ " if metric.name in row.row.approximate else ""
                line.append("" if value is None else f"{about}{value:,.{metric.digits}f}")
            line.append(f"{row.n or ''}{' (stale)' if row.stale else ''}")
            lines.append(line)
        return head, lines

    def text(self) -> str:
        """The table for a terminal."""
        head, lines = self.cells()
        widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in [head, *lines]
        )

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        """The table for a page: plain markup, styled by the book."""
        head, lines = self.cells()
        out = [
            '<table class="records">',
            "<thead><tr>",
            *(f'<th scope="col">{html.escape(cell)}</th>' for cell in head),
            "</tr></thead><tbody>",
        ]
        for summary, line in zip(self.rows, lines, strict=True):
            out.append('<tr class="stale">' if summary.stale else "<tr>")
            out.append(f'<th scope="row">{html.escape(line[0])}</th>')
            out.extend(f"<td>{html.escape(cell)}</td>" for cell in line[1:])
            out.append("</tr>")
        return "".join([*out, "</tbody></table>"])


def load_records(experiment: str, budget: str = "full") -> Records:
    """An experiment's table from its records; rows without any are there and say so.

    Raises:
        KeyError: no such experiment.
        RecordError: a record is damaged; the message says what to do.
    """
    known = get(experiment)
    by_row: dict[str, list[Record]] = {row.name: [] for row in known.rows}
    for path in records_of(experiment, budget):
        record = read_record(path)
        if record.data["budget"] != budget:
            raise RecordError(
                f"{path} is of the {record.data['budget']} budget and has no place "
                f"among the {budget} ones"
            )
        if record.row in by_row:
            by_row[record.row].append(record)
    primary = known.metrics[0].name
    rows = tuple(
        RowSummary(
            row,
            tuple(sorted(by_row[row.name], key=lambda record: record.seed)),
            primary,
            stale=any(not is_current(record, known) for record in by_row[row.name]),
        )
        for row in known.rows
    )
    return Records(experiment, known.title, budget, known.metrics, rows)
