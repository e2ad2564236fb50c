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
    found = []
    for tree in site_map.root.subtrees:
        entries = [
            Entry(name, env.titles[name].astext(), _number(env, name), name == current)
            for name in (str(item) for item in tree.items)
            if name in env.titles
        ]
        if entries:
            found.append(Part(tree.caption or "", entries))
    return found


def sections(doctree: nodes.document | None) -> list[tuple[str, str]]:
    """(id, title) of the sections of a page, its title not included."""
    if doctree is None:
        return []
    top = next(iter(doctree.findall(nodes.section)), None)
    if top is None:
        return []
    inner = [s for s in top.children if isinstance(s, nodes.section)]
    return [(s["ids"][0], s.next_node(nodes.title).astext()) for s in inner]  # type: ignore[union-attr]
