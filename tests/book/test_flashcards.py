"""The flash cards: their order, and a deck that Anki can take, and take again."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.book import minibook

from course_book import cards  # isort: skip

BOOK = minibook.REPOSITORY / "book"


def notes(package: Path, folder: Path) -> list[tuple[int, str, int, str, str]]:
    """(id, guid, model, fields, tags) of every note in an Anki package."""
    folder.mkdir()
    with zipfile.ZipFile(package) as archive:
        assert "collection.anki2" in archive.namelist()
        archive.extract("collection.anki2", folder)
    with sqlite3.connect(folder / "collection.anki2") as base:
        return base.execute("select id, guid, mid, flds, tags from notes").fetchall()


def decks(folder: Path) -> dict[str, str]:
    """Deck id → name, of the package extracted into ``folder``."""
    with sqlite3.connect(folder / "collection.anki2") as base:
        (text,) = base.execute("select decks from col").fetchone()
    return {key: deck["name"] for key, deck in json.loads(text).items() if key != "1"}


def test_the_eleven_come_first_then_chapter_by_chapter():
    found = cards.chapters(BOOK)
    assert [c.slug for c in found[:3]] == ["eleven", "intro", "01-average"]
    assert len(found[0].cards) == 11
    assert {card.claim for card in found[0].cards} == {"C12"}
    slugs = [c.slug for c in found[2:]]
    assert slugs == sorted(slugs)
    assert found[2].title == "Chapter 1: " + found[2].title.partition(": ")[2]


def test_the_package_holds_every_card(tmp_path: Path):
    package = cards.write_deck(BOOK, tmp_path / cards.DECK)
    found = notes(package, tmp_path / "opened")
    written = [
        card
        for path in (BOOK / "cards").glob("*.toml")
        for card in tomllib.loads(path.read_text(encoding="utf-8"))["card"]
    ]
    assert len(found) == len(written) > 40
    assert len({guid for _, guid, *_ in found}) == len(found)
    fronts = {fields.split("\x1f")[0] for *_, fields, _ in found}
    assert "Derive the √dₖ in two lines." in fronts
    assert sum("chapter-eleven" in tags for *_, tags in found) == 11
    with sqlite3.connect(tmp_path / "opened" / "collection.anki2") as base:
        assert base.execute("select count(*) from cards").fetchone() == (len(written),)
    names = set(decks(tmp_path / "opened").values())
    assert len(names) == len(cards.chapters(BOOK))
    assert all(name.startswith("Attention from an average::") for name in names)


def copy(tmp_path: Path) -> Path:
    book = tmp_path / "book"
    shutil.copytree(BOOK / "cards", book / "cards")
    for path in BOOK.glob("*.ipynb"):
        shutil.copy(path, book)
    return book


def test_a_later_package_renews_the_cards_and_adds_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    book = copy(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    before = notes(cards.write_deck(book, tmp_path / "a.apkg"), tmp_path / "a")
    path = book / "cards" / "05-scaling.toml"
    text = path.read_text(encoding="utf-8").replace("It is there", "It was there")
    text = text.replace("so standard deviation √dₖ", "so a standard deviation of √dₖ")
    path.write_text(text, encoding="utf-8")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000001")
    after = notes(cards.write_deck(book, tmp_path / "b.apkg"), tmp_path / "b")
    assert [(guid, model) for _, guid, model, *_ in after] == [(g, m) for _, g, m, *_ in before]
    assert [a for a, b in zip(after, before, strict=True) if a[3] != b[3]] != []
    assert decks(tmp_path / "a") == decks(tmp_path / "b")
    with sqlite3.connect(tmp_path / "b" / "collection.anki2") as base:
        assert base.execute("select min(mod) from notes").fetchone() == (1000000001,)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("05-scaling", '[[card]]\nfront = "?"\nback = " "\n', "card 1 needs a front and a back"),
        ("77-nothing", '[[card]]\nfront = "?"\nback = "!"\n', "no chapter book/77-nothing.ipynb"),
    ],
)
def test_a_card_that_is_not_whole_is_named(tmp_path: Path, name: str, text: str, said: str):
    book = copy(tmp_path)
    (book / "cards" / f"{name}.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=said):
        cards.chapters(book)


def test_the_eleven_say_what_the_package_computes():
    import torch

    from course.models.counting import count_parameters
    from course.models.encoder_decoder import EncoderDecoder
    from course.training import noam_rate

    backs = " ".join(card.back for card in cards.chapters(BOOK)[0].cards)
    with torch.device("meta"):
        model = EncoderDecoder(37_000)
    first = model.encoder[0]
    assert f"{count_parameters(model) / 1e6:.1f} million" in backs
    assert f"512 / {first.attention.n_heads} = {first.attention.d_head}." in backs
    assert f"{first.feed_forward.up.out_features}, four times the width" in backs
    assert f"step 4000 with {noam_rate(4000, 512):.3e}".replace("e-04", "e-4") in backs
    assert f"times {512**0.5:.1f} at width 512" in backs
    eps, K = 0.1, 4
    assert f"{1 - eps + eps / K:.3f} and {eps / K:.3f}" in backs
