"""The book's table of contents as data for the sidebar: parts, chapters, sections of this page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


@dataclass(frozen=True)
class Entry:
    """A page in the sidebar."""

    docname: str
    title: str
    number: str
    current: bool
    below: tuple[Entry, ...] = ()

    @property
    def open(self) -> bool:
        """Whether it, or a page below it, is the one being read."""
        return self.current or any(entry.current for entry in self.below)


@dataclass(frozen=True)
class Part:
    """A part of the book: its heading (may be empty) and its pages."""

    caption: str
    entries: list[Entry] = field(default_factory=list)


def _number(env: Any, docname: str) -> str:
    numbers = env.toc_secnumbers.get(docname, {}).get("", ())
    return ".".join(str(n) for n in numbers)


def parts(app: Sphinx, current: str) -> list[Part]:
    """All pages in order, part by part; the front page is not among them."""
    env = app.env
    site_map = env.external_site_map  # type: ignore[attr-defined]  # set by sphinx_external_toc

    def entries(tree: Any) -> list[Entry]:
        return [
            Entry(
                name,
                env.titles[name].astext(),
                _number(env, name),
                name == current,
                tuple(e for below in site_map[name].subtrees for e in entries(below)),
            )
            for name in (str(item) for item in tree.items)
            if name in env.titles
        ]

    made = [Part(tree.caption or "", entries(tree)) for tree in site_map.root.subtrees]
    return [part for part in made if part.entries]


def docnames(app: Sphinx) -> list[str]:
    """The pages in the order of reading, those below a page after it; without the front page."""
    entries = [entry for part in parts(app, "") for entry in part.entries]
    return [e.docname for entry in entries for e in (entry, *entry.below)]


def sections(doctree: nodes.document | None) -> list[tuple[str, str]]:
    """(id, title) of the sections of a page, its title not included."""
    if doctree is None:
        return []
    top = next(iter(doctree.findall(nodes.section)), None)
    if top is None:
        return []
    inner = [s for s in top.children if isinstance(s, nodes.section)]
    return [(s["ids"][0], s.next_node(nodes.title).astext()) for s in inner]  # type: ignore[union-attr]
