"""The page "speed": the latest results of ``benchmarks/``, read when the page is built.

````
```{course-speed}
```
````

becomes a table of the goals, then a section for each comparison with its date and machine. What
has never been measured says so, and with which command it would be.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

NO_BREAK = "\N{NO-BREAK SPACE}"
NEVER = "not yet measured"
# a figure and its unit stay on one line
# what is typed: a command, a name with dots or with capitals inside it
_TYPED = re.compile(
    r"^(?:python|import) .+|\b[A-Za-z]\w+(?:\.[A-Za-z_]\w*)+|\b(?=\w{8})[A-Z]\w*[a-z]\w*[A-Z]\w*"
)
_UNIT = re.compile(r"(?<=\d) (?=[×%]|(?:ms|s|KiB|MiB|MB|points)\b)")


def cell(text: str) -> nodes.entry:
    """A cell of a table, what is typed in it as code."""
    return nodes.entry("", paragraph(_TYPED.sub(r"`\g<0>`", _UNIT.sub(NO_BREAK, text))))


def row(cells: Sequence[str]) -> nodes.row:
    """A row of a table."""
    return nodes.row("", *map(cell, cells))


def table(
    header: Sequence[str], groups: Iterable[tuple[str, Iterable[Sequence[str]]]]
) -> nodes.table:
    """A table of plain text; over the rows of a group stands its name, if it has one."""
    made = nodes.tgroup(cols=len(header))
    made += nodes.colspec(colwidth=1, stub=1)
    made += [nodes.colspec(colwidth=1) for _ in header[1:]]
    made += nodes.thead("", row(header))
    for name, rows in groups:
        body = nodes.tbody("", *map(row, rows))
        if name:
            over = cell(name)
            over["morecols"] = len(header) - 1
            body.insert(0, nodes.row("", over))
        made += body
    return nodes.table("", made)


def paragraph(text: str) -> nodes.paragraph:
    """A sentence, what stands in backticks as code."""
    made = nodes.paragraph(text, "")
    for i, part in enumerate(text.split("`")):
        made += nodes.literal(part, part) if i % 2 else nodes.Text(part)
    return made


def median(side: Mapping[str, Any]) -> str:
    """The median of a side and the spread of its rounds."""
    from benchmarks.report import number

    if len(side["values"]) < 2:
        return number(side["median"])
    spread = f"({number(side['low'])} to {number(side['high'])})"
    return f"{number(side['median'])} {spread.replace(' ', NO_BREAK)}"


def sides(works: Sequence[Mapping[str, Any]]) -> nodes.table:
    """A line a side, under its work: median and spread, how many times ours.

    Where no work has two sides, a line a work.
    """
    from benchmarks.report import number

    named = [(f"{work['work']}, {work['unit']}", work["sides"]) for work in works]
    if all(len(found) == 1 for _, found in named):
        lines = [(name, median(side)) for name, found in named for side in found.values()]
        return table(("work", "median"), [("", lines)])

    def line(name: str, side: Mapping[str, Any]) -> tuple[str, str, str]:
        return name, median(side), f"{number(side['ratio'])} ×" if "ratio" in side else ""

    groups = [(name, [line(*one) for one in found.items()]) for name, found in named]
    return table(("side", "median", "times ours"), groups)


def remarks(result: Mapping[str, Any]) -> Iterable[str]:
    """What explains the numbers: why a goal is missed, shares of a profile, notes."""
    from benchmarks.report import number

    for row in result["rows"]:
        for goal in row["goals"]:
            if not goal["reached"]:
                yield f"Short of the goal ({row['work']}): {goal['why']}."
        if row["details"]:
            listed = "; ".join(f"{name} {number(value)}" for name, value in row["details"].items())
            yield f"{row['work']}: {listed}."
        if row["note"]:
            yield row["note"]
    yield from result["notes"]


class CourseSpeed(SphinxDirective):
    """The directive ``course-speed``: no arguments, no content."""

    def run(self) -> list[nodes.Node]:
        from benchmarks import registry, report

        latest = {name: self.latest(name) for name in registry.NAMES}
        header = ("work", "measured", "goal", "reached")
        goals = table(header, [("", report.goals_table(latest))])
        made: list[nodes.Node] = [goals]
        for name, result in latest.items():
            made.append(self.section(name, result))
        return made

    def latest(self, name: str) -> dict[str, Any] | None:
        """The result of a comparison; the page is made again when its file changes."""
        from benchmarks import results

        folder = Path(self.env.srcdir) / "benchmarks" / "results"
        self.env.note_dependency(str(folder / f"{name}.json"))
        try:
            return results.read(name, folder)
        except ValueError as error:
            raise self.error(str(error)) from error

    def section(self, name: str, result: Mapping[str, Any] | None) -> nodes.section:
        from benchmarks import report

        title = result["title"] if result else name.replace("-", " ").capitalize()
        section = nodes.section(ids=[f"speed-{name}"], names=[f"speed-{name}"])
        section += nodes.title(title, title)
        self.state.document.note_explicit_target(section)
        if result is None:
            command = f"python -m benchmarks {name}"
            section += nodes.paragraph(
                "", "", nodes.Text(f"{NEVER}: "), nodes.literal(command, command)
            )
            return section
        section += paragraph(f"Against {result['against']}.")
        section += sides(result["rows"])
        items = [nodes.list_item("", paragraph(text)) for text in remarks(result)]
        if items:
            section += nodes.bullet_list("", *items)
        section += paragraph(f"Taken {report.machine(result)}.")
        return section


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by the extension's own ``setup``."""
    app.add_directive("course-speed", CourseSpeed)
    return {"parallel_read_safe": True}
