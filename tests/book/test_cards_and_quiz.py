"""Flash cards and quiz questions: complete, and about claims and chapters that exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

BOOK = Path(__file__).parents[2] / "book"
CARDS = sorted((BOOK / "cards").glob("*.toml"))
QUIZ = sorted((BOOK / "quiz").glob("*.toml"))


def read(path: Path) -> dict[str, list[dict[str, object]]]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def slug(path: Path) -> str:
    return path.stem


def test_there_are_cards_and_questions():
    assert CARDS
    assert QUIZ


@pytest.mark.parametrize("path", CARDS, ids=slug)
def test_cards_are_whole(path):
    cards = read(path)["card"]
    assert len(cards) >= 4
    assert len({card["front"] for card in cards}) == len(cards)
    for card in cards:
        assert {"front", "back"} <= set(card) <= {"front", "back", "claim"}
        assert str(card["front"]).strip()
        assert str(card["back"]).strip()
        assert re.fullmatch(r"[ABC]\d+", str(card.get("claim", "A1")))


@pytest.mark.parametrize("path", QUIZ, ids=slug)
def test_questions_have_one_answer_and_a_reason(path):
    questions = read(path)["question"]
    assert len(questions) >= 3
    for q in questions:
        assert set(q) == {"question", "choices", "correct", "why"}
        choices = q["choices"]
        assert isinstance(choices, list)
        assert len(set(choices)) == len(choices) >= 3
        assert q["correct"] in range(len(choices))
        assert str(q["question"]).strip()
        assert str(q["why"]).strip()


@pytest.mark.parametrize("path", QUIZ, ids=slug)
def test_the_answer_is_not_always_in_the_same_place(path):
    assert len({q["correct"] for q in read(path)["question"]}) > 1


@pytest.mark.parametrize("path", [*CARDS, *QUIZ], ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_a_chapter_has_both(path):
    assert (BOOK / "cards" / path.name).is_file()
    assert (BOOK / "quiz" / path.name).is_file()
