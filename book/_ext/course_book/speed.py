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

NEVER = "not yet measured"
# a figure and its unit stay on one line
_UNIT = re.compile(r"(?<=\d) (?=[×%]|(?:ms|s|KiB|MiB|MB|points)\b)")


def cell(text: str) -> nodes.entry:
    """A cell of a table."""
    return nodes.entry("", paragraph(_UNIT.sub("\N{NO-BREAK SPACE}", text)))


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> nodes.table:
    """A table of plain text."""
    group = nodes.tgroup(cols=len(header))
    group += [nodes.colspec(colwidth=1) for _ in header]
    group += nodes.thead("", nodes.row("", *map(cell, header)))
    group += nodes.tbody("", *(nodes.row("", *map(cell, row)) for row in rows))
    return nodes.table("", group)


def paragraph(text: str) -> nodes.paragraph:
    """A sentence, what stands in backticks as code."""
    made = nodes.paragraph(text, "")
    for i, part in enumerate(text.split("`")):
        made += nodes.literal(part, part) if i % 2 else nodes.Text(part)
    return made


def sides(rows: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, str, str, str]]:
    """One line a side: work (named once), side, median and spread, how many times ours."""
    from benchmarks.report import number

    for row in rows:
        work = f"{row['work']}, {row['unit']}"
        for name, side in row["sides"].items():
            spread = ""
            if len(side["values"]) > 1:
                spread = f" ({number(side['low'])} to {number(side['high'])})"
            ratio = f"{number(side['ratio'])} ×" if "ratio" in side else ""
            yield work, name, number(side["median"]) + spread, ratio
            work = ""


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
        goals = table(("work", "measured", "goal", "reached"), report.goals_table(latest))
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
        section += table(("work", "side", "median", "times ours"), sides(result["rows"]))
        items = [nodes.list_item("", paragraph(text)) for text in remarks(result)]
        if items:
            section += nodes.bullet_list("", *items)
        section += paragraph(f"Taken {report.machine(result)}.")
        return section


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by the extension's own ``setup``."""
    app.add_directive("course-speed", CourseSpeed)
    return {"parallel_read_safe": True}
