"""Numbered formulas and figures, and what leads to them.

Notebooks are read in Colab and JupyterLab too, where a Sphinx role would be shown as it is written.
So their sources have only what every reader of Markdown and TeX understands: a formula is named by
a comment in it (``% eq-softmax``), and the text leads to a formula or figure by an ordinary link,
``[the formula](#eq-softmax)`` or, from another chapter, ``(03-softmax.ipynb#eq-softmax)``. The page
gets the number: "the formula (3.1)". The words "chapter 7" become a link to that chapter.
"""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx

from course_book import texts

_NAME = r"(?P<name>[a-z0-9]+(?:-[a-z0-9]+)*)"
NAMED_FORMULA = re.compile(rf"\n\s*% (?P<label>eq-{_NAME})\s*\n\$\$")
LINK = re.compile(rf"\[(?P<text>[^\]\n]+)\]\([\w./-]*#(?P<label>(?P<kind>eq|fig)-{_NAME})\)")
CHAPTER = re.compile(r"\b[Cc]hapter[\s\xa0](?P<number>\d+)\b")
_NUMBERED = re.compile(r"book/(\d\d)-[\w-]+")


def _led(match: re.Match[str]) -> str:
    if match["kind"] == "eq":
        return f"{match['text']} {{eq}}`{match['label']}`"
    return f"{match['text']} ({{numref}}`{match['label']}`)"


def numbered(markdown: str) -> str:
    """A cell of Markdown with its formulas labelled and its links to numbered things as roles.

    >>> numbered("$$\\na = b\\n% eq-same\\n$$\\nSee [the formula](#eq-same).")
    '$$\\na = b\\n$$ (eq-same)\\nSee the formula {eq}`eq-same`.'
    """
    labelled = NAMED_FORMULA.sub(lambda match: f"\n$$ ({match['label']})", markdown)
    return LINK.sub(_led, labelled)


def chapters(app: Sphinx) -> dict[int, str]:
    """Number → name of each chapter's page."""
    found = (_NUMBERED.fullmatch(name) for name in app.env.found_docs)
    return {int(match[1]): match[0] for match in found if match}


def _linked(text: str, uris: dict[int, str]) -> list[nodes.Node]:
    parts: list[nodes.Node] = []
    end = 0
    for match in CHAPTER.finditer(text):
        uri = uris.get(int(match["number"]))
        if uri is None:
            continue
        parts.append(nodes.Text(text[end : match.start()]))
        parts.append(nodes.reference("", match[0], refuri=uri, internal=True, classes=["chapter"]))
        end = match.end()
    return [part for part in (*parts, nodes.Text(text[end:])) if part.astext()]


def link(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """The ``doctree-resolved`` event: "chapter 7" leads there, except on its own page."""
    if app.builder.format != "html":
        return
    uris = {
        number: app.builder.get_relative_uri(docname, name)
        for number, name in chapters(app).items()
        if name != docname
    }
    texts.put_links(doctree, lambda text: _linked(text, uris))
