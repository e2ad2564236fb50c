"""Flash cards and quiz questions: complete, and about claims and chapters that exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from course.widgets.quiz import chapters_with_questions, read_questions
from tests.book import sources

BOOK = Path(__file__).parents[2] / "book"
CARDS = sorted((BOOK / "cards").glob("*.toml"))
QUIZ = chapters_with_questions()
CHAPTERS = sorted(p.stem for p in BOOK.glob("*.ipynb") if re.match(r"\d\d-|intro$", p.stem))


def slug(path: Path) -> str:
    return path.stem


def test_cards_and_questions_are_those_of_the_chapters():
    assert set(QUIZ) == set(CHAPTERS)
    assert {path.stem for path in CARDS} == {*CHAPTERS, "eleven"}
    assert len(CHAPTERS) == 13


@pytest.mark.parametrize("path", CARDS, ids=slug)
def test_cards_are_whole(path):
    cards = tomllib.loads(path.read_text(encoding="utf-8"))["card"]
    assert len(cards) >= 4
    assert len({card["front"] for card in cards}) == len(cards)
    for card in cards:
        assert {"front", "back"} <= set(card) <= {"front", "back", "claim"}
        assert str(card["front"]).strip()
        assert str(card["back"]).strip()
        assert re.fullmatch(r"[ABC]\d+", str(card.get("claim", "A1")))


@pytest.mark.parametrize("name", QUIZ)
def test_questions_are_enough_and_belong_to_a_chapter(name):
    questions = read_questions(name)
    assert len(questions) >= 3
    assert len({q["question"] for q in questions}) == len(questions)
    for q in questions:
        assert len(q["choices"]) >= 3
        assert len(set(q["why"])) == len(q["why"]), "a choice has a sentence of its own"


@pytest.mark.parametrize("name", QUIZ)
def test_the_answer_is_not_always_in_the_same_place(name):
    assert len({q["correct"] for q in read_questions(name)}) > 1


def last_code(name: str) -> dict[str, Any]:
    return sources.cells(BOOK / f"{name}.ipynb")[-1]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_ends_with_its_questions(name):
    cell = last_code(name)
    assert "".join(cell["source"]).splitlines() == [
        "from course.widgets import Quiz",
        "",
        f'Quiz("{name}")',
    ]
    assert "hide-input" in cell["metadata"]["tags"]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_has_cards_and_questions(name):
    assert (BOOK / "cards" / f"{name}.toml").is_file()
    assert name in QUIZ
