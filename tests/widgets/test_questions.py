"""The quizzes' right answers are the computed ones."""

from __future__ import annotations

import pytest

from course.widgets.quiz import chapters_with_questions, read_questions
from tests.widgets.answers import ANSWERS


@pytest.mark.parametrize(("chapter", "number"), ANSWERS, ids=lambda part: str(part))
def test_the_right_choice_is_the_computed_one(chapter: str, number: int) -> None:
    q = read_questions(chapter)[number - 1]
    answer = ANSWERS[chapter, number](list(q["choices"]))
    where = [i for i, choice in enumerate(q["choices"]) if choice.startswith(answer)]
    assert where == [q["correct"]], (q["question"], answer)


def test_nearly_every_question_is_computed() -> None:
    """The rest asks for a reason in words."""
    questions = {
        (c, n) for c in chapters_with_questions() for n in range(1, len(read_questions(c)) + 1)
    }
    assert set(ANSWERS) <= questions
    assert len(ANSWERS) >= 0.6 * len(questions)
