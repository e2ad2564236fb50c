"""A page for each exercise: the released notebook, as its learner gets it.

``book/exercise-<slug>.md`` is a stub; while Sphinx reads it, :func:`source_read` puts the text of
``exercises/<slug>/<slug>.ipynb`` in its place. Nothing is read from ``solutions/``.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from course_book import downloads

PREFIX = "exercise-"
STUB = (
    "<!-- The page shows exercises/{slug}/{slug}.ipynb;\n"
    "     book/_ext/course_book/exercise.py puts it here. -->\n"
)
_GOES_WITH = re.compile(r"\*Goes with chapter (\d+), [\"“](.+?)[\"”]\.?\*", re.DOTALL)


def slug_of(docname: str) -> str:
    """``book/exercise-head`` → ``head``; empty for any other page."""
    name = docname.rpartition("/")[2]
    return name.removeprefix(PREFIX) if name.startswith(PREFIX) else ""


def chapter_of(root: Path, slug: str) -> str:
    """The chapter an assignment follows: ``05-scaling``.

    Raises
    ------
    ValueError
        If there is no such assignment among those released.
    """
    for chapter, slugs in downloads.exercises(root).items():
        if slug in slugs:
            return chapter
    raise ValueError(f"there is no exercise {slug!r} in exercises/")


def _cells(root: Path, slug: str) -> list[dict[str, Any]]:
    path = downloads.exercise_path(root, slug)
    return list(json.loads(path.read_text(encoding="utf-8"))["cells"])


def points(root: Path, slug: str) -> int:
    """What the graded cells of an assignment are worth together."""
    graded = (cell["metadata"].get("nbgrader", {}) for cell in _cells(root, slug))
    return sum(int(meta["points"]) for meta in graded if meta.get("grade"))


def title(root: Path, slug: str) -> str:
    """``Exercise: one attention head`` → ``One attention head``."""
    first = "".join(_cells(root, slug)[0]["source"]).splitlines()[0]
    name = first.removeprefix("# ").removeprefix("Exercise: ").strip()
    return name[:1].upper() + name[1:]


def _linked(root: Path, text: str, slug: str) -> str:
    chapter = chapter_of(root, slug)

    def link(match: re.Match[str]) -> str:
        if not (root / "book" / f"{chapter}.ipynb").is_file():
            return match[0]
        words = " ".join(match[2].split())
        return f"*Goes with chapter {match[1]}, [{words}]({chapter}.ipynb).*"

    return _GOES_WITH.sub(link, text, count=1)


def _blocks(root: Path, slug: str) -> Iterator[str]:
    for number, cell in enumerate(_cells(root, slug)):
        source = "".join(cell["source"]).strip("\n")
        if "setup" in cell["metadata"].get("tags", []) or not source:
            continue
        if cell["cell_type"] == "markdown":
            text = source.replace("<details>", '<details class="reveal hint">')
            yield _linked(root, text, slug) if number == 0 else text
        else:
            fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", source)), default=0))
            yield f"{fence}python\n{source}\n{fence}"


def page(root: Path, slug: str) -> str:
    """The page of an assignment, as Markdown."""
    return "\n\n".join(_blocks(root, slug)) + "\n"


def source_read(app: Sphinx, docname: str, source: list[str]) -> None:
    """The event in which Sphinx lets an extension replace a source."""
    slug = slug_of(docname)
    if slug:
        root = Path(app.srcdir)
        app.env.note_dependency(str(downloads.exercise_path(root, slug)))
        source[0] = page(root, slug)


class CourseExercises(SphinxDirective):
    """The directive ``course-exercises``: all assignments in a table, in the course's order."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        rows = []
        for chapter, slugs in downloads.exercises(root).items():
            for slug in slugs:
                self.env.note_dependency(str(downloads.exercise_path(root, slug)))
                page_link = f'<a class="page" href="{PREFIX}{slug}.md">'
                rows.append(
                    f'<tr><th scope="row">{page_link}{html.escape(title(root, slug))}</a></th>'
                    f'<td><code>{slug}</code></td><td><a class="page" href="{chapter}.ipynb">'
                    f'{int(chapter[:2])}</a></td><td class="number">{points(root, slug)}</td>'
                    f'<td><a href="../exercises/{slug}/{slug}.zip" download '
                    f'aria-label="archive of {slug}: notebook and package">archive</a></td></tr>'
                )
        heads = ("exercise", "name", "chapter", "points", "download")
        head = "".join(f'<th scope="col">{h}</th>' for h in heads)
        text = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        return [nodes.raw("", text, format="html")]


def setup(app: Sphinx) -> None:
    """Called by the extension's own ``setup``."""
    app.add_directive("course-exercises", CourseExercises)
    app.connect("source-read", source_read, priority=100)
