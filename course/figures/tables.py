"""A small table as a cell's result: HTML on a page, aligned text in a terminal.

Plain HTML rather than a data frame: it works in the static page, in JupyterLab and in Colab, its
header cells are announced by a screen reader, and it needs no further package.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Cell = str | int | float
# What a column of figures may hold besides digits: signs, spreads, units, and the lack of one.
_FIGURE = re.compile(r"[\d\s.,±≈+−–%×e-]*(not yet measured|out of memory|\(stale\)|inf|nan|)")

_MINUS = re.compile(r"(?<![\w.])-(?=\d)")


def _text(cell: Cell) -> str:
    return cell if isinstance(cell, str) else f"{cell:,}"


@dataclass(frozen=True)
class Table:
    """A header, rows of the same length, and a caption. Made by :func:`table`."""

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""

    def _holds_figures(self, column: int) -> bool:
        """Whether a column aligns at the right: it has nothing but figures."""
        return all(_FIGURE.fullmatch(_text(row[column])) for row in self.rows)

    def _repr_html_(self) -> str:
        right = [False, *(self._holds_figures(i) for i in range(1, len(self.header)))]

        def cell(column: int, content: Cell, scope: str = "") -> str:
            align = "right" if right[column] else "left"
            text = html.escape(_text(content), quote=False)
            text = _MINUS.sub("−", text) if right[column] else text
            # a heading that says nothing is none: a screen reader would announce it all the same
            tag, of = ("th", f' scope="{scope}"') if scope and text.strip() else ("td", "")
            return f'<{tag}{of} style="text-align:{align}">{text}</{tag}>'

        head = "".join(cell(i, c, "col") for i, c in enumerate(self.header))
        body = []
        for row in self.rows:
            cells = [cell(0, row[0], "row")]
            cells += [cell(i, c) for i, c in enumerate(row[1:], start=1)]
            body.append(f"<tr>{''.join(cells)}</tr>")
        caption = f"<caption>{html.escape(self.caption, quote=False)}</caption>\n"
        return (
            f'<table class="course-table">\n{caption if self.caption else ""}'
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(body) + "\n</tbody>\n</table>"
        )

    def __repr__(self) -> str:
        columns = [
            [_text(c) for c in column] for column in zip(self.header, *self.rows, strict=True)
        ]
        widths = [max(map(len, column)) for column in columns]
        padded = [
            [c.rjust(width) if i else c.ljust(width) for c in column]
            for i, (column, width) in enumerate(zip(columns, widths, strict=True))
        ]
        text = ["  ".join(line).rstrip() for line in zip(*padded, strict=True)]
        return "\n".join([*([self.caption] if self.caption else []), *text])


def table(header: Sequence[str], rows: Iterable[Sequence[Cell]], caption: str = "") -> Table:
    """A table; the first column names the rows.

    Args:
        header: the names of the columns.
        rows: cells, already formatted where they are text; whole numbers get thousands separators.
        caption: a sentence above it.

    Raises:
        ValueError: there are no rows, or one has another number of cells than the header.
    """
    kept = tuple(tuple(row) for row in rows)
    if not kept:
        raise ValueError(f"a table with the columns {', '.join(header)} needs at least one row")
    for row in kept:
        if len(row) != len(header):
            raise ValueError(
                f"the row {row[0]!r} has {len(row)} cells, the header has {len(header)}"
            )
    return Table(tuple(header), kept, caption)
