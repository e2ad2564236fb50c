"""The printed book's table of contents: titles, sections, and on which sheet each begins.

A browser can print a link but not the number of the page that it leads to. So the book is printed
twice: from the first printing the numbers are read, and for the second they are written in.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_SECTION = re.compile(
    r'<section id="([^"]+)">\s*(?:<span id="[^"]*"></span>\s*)*<h2>(.*?)</h2>', re.S
)
_TITLE = re.compile(r"<h1>(.*?)</h1>", re.S)
_NUMBER = re.compile(r'<span class="section-number">(.*?)</span>')


@dataclass(frozen=True)
class Entry:
    """A line of the contents: where it leads, what it says (plain text), and how deep it is."""

    anchor: str
    title: str
    level: int


def _plain(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", markup)).split())


def title(body: str) -> str:
    """The title of a page, as ``Chapter 5: Divide by …`` where it is numbered; "…" without one."""
    found = _TITLE.search(body)
    return _plain(_NUMBER.sub(r"\1: ", found[1])).replace(" :", ":") if found else "…"


def entries(anchor: str, body: str) -> list[Entry]:
    """The lines for one page: its title, and, of a numbered chapter, the sections."""
    found = [Entry(anchor, title(body), 1)]
    if _NUMBER.search(body):
        found += [Entry(a, _plain(words), 2) for a, words in _SECTION.findall(body)]
    return found


def nav(lines: Iterable[Entry]) -> str:
    """The contents as HTML; each line's number is still empty."""
    items = "\n".join(
        f'<li class="level-{e.level}"><a href="#{html.escape(e.anchor)}">{html.escape(e.title)}</a>'
        f'<span class="sheet" data-for="{html.escape(e.anchor)}"></span></li>'
        for e in lines
    )
    return (
        f'<nav class="sheets" aria-label="Contents">\n<p>Contents</p>\n<ul>\n{items}\n</ul>\n</nav>'
    )


def sheets(pdf: Path) -> Mapping[str, int]:
    """On which sheet of a printed book, counted from 1, each anchor is that a link leads to."""
    from pypdf import PdfReader

    reader = PdfReader(pdf)
    found = {}
    for name, place in reader.named_destinations.items():
        number = reader.get_destination_page_number(place)
        if number is not None:
            found[name.removeprefix("/")] = number + 1
    return found
