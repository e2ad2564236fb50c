"""The flash cards: a page of them, and the same as a deck for Anki.

``book/cards/<chapter>.toml`` holds a chapter's cards; those of ``eleven.toml`` come first.
The directive ``{course-cards}`` shows them all; :func:`write_deck` writes the ``.apkg``.
"""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from course.files import atomic_write_bytes

FIRST = "eleven"
DECK = "attention-from-an-average.apkg"
TITLE = "Attention from an average"


@dataclass(frozen=True)
class Card:
    """A question, its answer, and the claim of the ledger that it is about (may be empty)."""

    front: str
    back: str
    claim: str = ""


@dataclass(frozen=True)
class Chapter:
    """The cards of one chapter."""

    slug: str
    title: str
    cards: tuple[Card, ...]
    path: Path


def _title(book: Path, slug: str) -> str:
    """What the chapter is called: the first line of its notebook."""
    if slug == FIRST:
        return "The eleven: the encoder–decoder of 2017"
    path = book / f"{slug}.ipynb"
    if not path.is_file():
        raise ValueError(f"book/cards/{slug}.toml: there is no chapter book/{slug}.ipynb")
    first = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
    title = first.splitlines()[0].removeprefix("# ").strip()
    number = re.match(r"(\d\d)-", slug)
    return f"Chapter {int(number[1])}: {title}" if number else f"Front page: {title}"


def chapters(book: Path) -> list[Chapter]:
    """All cards below ``book/cards``, the eleven first, then chapter by chapter.

    Raises
    ------
    ValueError
        If a card has no front or back, or its file belongs to no chapter.
    """
    order = {FIRST: -2, "intro": -1}
    found = []
    for path in sorted((book / "cards").glob("*.toml"), key=lambda p: (order.get(p.stem, 0), p)):
        written = tomllib.loads(path.read_text(encoding="utf-8")).get("card", [])
        for number, card in enumerate(written, start=1):
            if not card.get("front", "").strip() or not card.get("back", "").strip():
                raise ValueError(f"book/cards/{path.name}: card {number} needs a front and a back")
        cards = tuple(Card(c["front"], c["back"], c.get("claim", "")) for c in written)
        found.append(Chapter(path.stem, _title(book, path.stem), cards, path))
    return found


def _shown(card: Card, anchor: str) -> str:
    claim = ""
    if card.claim:
        target = f'<a class="page" href="claims.ipynb#claim-{card.claim.lower()}">'
        claim = f'\n<p class="card-claim">{target}Claim {card.claim}</a></p>'
    return (
        f'<details class="card" id="{anchor}">\n<summary>{html.escape(card.front)}</summary>\n'
        f'<div class="card-back"><p>{html.escape(card.back)}</p>{claim}</div>\n</details>'
    )


class CourseCards(SphinxDirective):
    """The directive ``course-cards``: every card, folded, chapter by chapter."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        book = Path(self.env.srcdir) / "book"
        made: list[nodes.Node] = []
        try:
            found = chapters(book)
        except ValueError as error:
            raise self.error(str(error)) from error
        self.env.note_dependency(str(book / "cards"))
        count = sum(len(chapter.cards) for chapter in found)
        head = (
            f'<p class="take"><a href="{DECK}" download>The deck for Anki</a>, {count} cards. '
            '<button type="button" class="needs-script" id="turn-all">Turn all cards</button></p>'
        )
        made.append(nodes.raw("", head, format="html"))
        for chapter in found:
            self.env.note_dependency(str(chapter.path))
            section = nodes.section(ids=[f"cards-{chapter.slug}"], names=[f"cards-{chapter.slug}"])
            section += nodes.title(chapter.title, chapter.title)
            shown = [
                _shown(card, f"card-{chapter.slug}-{n}") for n, card in enumerate(chapter.cards, 1)
            ]
            text = '<div class="cards">\n' + "\n".join(shown) + "\n</div>"
            section += nodes.raw("", text, format="html")
            made.append(section)
        return made


def _number(name: str) -> int:
    """A deck's or model's id: the same for the same name on every machine (31 bits, as Anki's)."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % (1 << 30) + (1 << 30)


_CSS = """
.card { font-family: Georgia, serif; font-size: 20px; line-height: 1.5; text-align: left;
  max-width: 34rem; margin: 1.5rem auto; padding: 0 1rem; }
.claim { color: #6b7280; font-size: 15px; }
"""


def _timestamp(found: list[Chapter]) -> float:
    """When the cards were last edited. Anki takes a card again only if it is newer than its own."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    return float(epoch) if epoch else max(chapter.path.stat().st_mtime for chapter in found)


def write_deck(book: Path, target: Path) -> Path:
    """Write all cards as an Anki package, a deck a chapter.

    A card is known by its chapter and its question: importing a later package updates the answers
    of the cards that are there and leaves what Anki knows about the learner alone.
    """
    import genanki

    found = chapters(book)
    model = genanki.Model(
        _number("course.cards.model"),
        f"{TITLE}: question and answer",
        fields=[{"name": name} for name in ("Question", "Answer", "Claim")],
        templates=[
            {
                "name": "Card",
                "qfmt": "{{Question}}",
                "afmt": "{{FrontSide}}<hr id=answer>{{Answer}}"
                "{{#Claim}}<p class=claim>Claim {{Claim}} of the ledger</p>{{/Claim}}",
            }
        ],
        css=_CSS,
    )
    decks = []
    for chapter in found:
        name = f"{TITLE}::{chapter.title.replace('::', ':')}"
        deck = genanki.Deck(_number(f"course.cards.deck.{chapter.slug}"), name)
        for card in chapter.cards:
            fields = [
                html.escape(text, quote=False) for text in (card.front, card.back, card.claim)
            ]
            guid = genanki.guid_for("course.cards", chapter.slug, card.front)
            deck.add_note(genanki.Note(model, fields, guid=guid, tags=[f"chapter-{chapter.slug}"]))
        decks.append(deck)
    part = target.with_suffix(".part")
    genanki.Package(decks).write_to_file(str(part), timestamp=_timestamp(found))
    atomic_write_bytes(target, part.read_bytes())
    part.unlink()
    return target
