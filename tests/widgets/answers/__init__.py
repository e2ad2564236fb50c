"""The quizzes' right answers, computed where they can be: each function returns the choice."""

from tests.widgets.answers import attention, models
from tests.widgets.answers.registry import ANSWERS, Answer

__all__ = ["ANSWERS", "Answer", "attention", "models"]
