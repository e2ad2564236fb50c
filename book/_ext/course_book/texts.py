"""Where on a page a link may be put: not in code, a heading, a note or another link."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from docutils import nodes

_NOT_IN = (nodes.reference, nodes.literal, nodes.literal_block, nodes.title, nodes.raw)


def is_a_note(paragraph: nodes.Element) -> bool:
    """The line under a title, all in italics: how long it takes, which chapter it goes with."""
    return isinstance(paragraph, nodes.paragraph) and all(
        isinstance(child, nodes.emphasis) for child in paragraph.children
    )


def _free(text: nodes.Text) -> bool:
    node = text.parent
    while node is not None:
        if isinstance(node, _NOT_IN) or is_a_note(node):
            return False
        node = node.parent
    return True


def put_links(doctree: nodes.document, linked: Callable[[str], Sequence[nodes.Node]]) -> None:
    """Replace each free text by ``linked(text)`` where that has a link in it."""
    for text in list(doctree.findall(nodes.Text)):
        if _free(text):
            parts = linked(text.astext())
            if any(isinstance(part, nodes.reference) for part in parts):
                text.parent.replace(text, parts)
