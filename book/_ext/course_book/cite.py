"""Papers named in the text lead to their entries: "Su et al. (2021)" becomes a link.

The notebooks name papers in plain words, which read the same in Colab and JupyterLab, where a
Sphinx role would be shown as it is written. When a page is made, an author and a year that the
bibliography knows become a reference to its entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from course_book import texts

PAGE = "book/references"
# "Ba et al. 2016", "He et al. (2015)", "Hendrycks and Gimpel, 2016", "Alammar 2018"
NAMED = re.compile(
    r"\b(?P<name>[A-Z]\w+)(?:\s+et\s+al\.|\s+and\s+[A-Z]\w+)?,?\s+\(?(?P<year>(?:19|20)\d\d)\b\)?"
)
_ENTRY = re.compile(r"^@\w+\{(?P<key>[^,\s]+),(?P<fields>.*?)(?=^@|\Z)", re.MULTILINE | re.DOTALL)


def entries(bibliography: Path) -> dict[tuple[str, str], str]:
    """(family name of the first author, year) → key.

    Raises
    ------
    ValueError
        If two entries have the same first author and year: the text could mean either.
    """
    found: dict[tuple[str, str], str] = {}
    for match in _ENTRY.finditer(bibliography.read_text(encoding="utf-8")):
        author = re.search(r"author\s*=\s*\{+\s*([^,}]+)", match["fields"])
        year = re.search(r"year\s*=\s*\{?(\d{4})", match["fields"])
        if author is None or year is None:
            raise ValueError(f"{bibliography.name}: {match['key']} has no author or no year")
        who = (author[1].strip(), year[1])
        if who in found:
            raise ValueError(f"{bibliography.name}: {found[who]} and {match['key']} are both {who}")
        found[who] = match["key"]
    return found


def keys_in(text: str, known: dict[tuple[str, str], str]) -> Iterator[tuple[re.Match[str], str]]:
    """The papers of the bibliography that a text names: where, and which."""
    for match in NAMED.finditer(text):
        key = known.get((match["name"], match["year"]))
        if key is not None:
            yield match, key


def linked(text: str, known: dict[tuple[str, str], str], uris: dict[str, str]) -> list[nodes.Node]:
    """A text with references in it; the text alone where it names no paper."""
    parts: list[nodes.Node] = []
    end = 0
    for match, key in keys_in(text, known):
        if key not in uris:
            continue
        said = match[0]
        if said.endswith(")") and "(" not in said:  # the bracket was opened before the name
            said = said[:-1]
        if match.start() > end:
            parts.append(nodes.Text(text[end : match.start()]))
        parts.append(
            nodes.reference("", said, refuri=uris[key], internal=True, classes=["citation"])
        )
        end = match.start() + len(said)
    return [*parts, nodes.Text(text[end:])] if end < len(text) else parts


def link(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """The ``doctree-resolved`` event: papers named on a page of the book become links."""
    if app.builder.format != "html" or PAGE not in app.env.found_docs:
        return
    known = entries(Path(app.srcdir) / "book" / "references.bib")
    page = app.builder.get_relative_uri(docname, PAGE)
    citations = app.env.get_domain("cite").citations  # type: ignore[attr-defined]
    uris = {one.key: f"{page}#{one.citation_id}" for one in citations}
    texts.put_links(doctree, lambda text: linked(text, known, uris))
