"""Questions at the end of a chapter: one at a time to choose, check, and try again."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import traitlets

from course.widgets.base import CourseWidget, Strings


def read_questions(source: str | Path | Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Questions from a TOML file (``[[question]]`` tables) or a list of mappings.

    Each has ``question``, ``choices`` (2 to 6 different ones), ``correct`` (an index into them)
    and ``why``.

    Raises:
        ValueError: a question lacks a part, or its ``correct`` is no index into its choices.
    """
    if isinstance(source, (str, Path)):
        found: Any = tomllib.loads(Path(source).read_text(encoding="utf-8")).get("question", [])
    else:
        found = source
    if not found:
        raise ValueError(f"there is no question in {source!r}")
    questions = []
    for number, q in enumerate(found, start=1):
        if lacking := [k for k in ("question", "choices", "correct", "why") if k not in q]:
            raise ValueError(f"question {number} has no {' and no '.join(lacking)}")
        choices, correct = list(q["choices"]), q["correct"]
        if not 2 <= len(choices) <= 6 or len(set(choices)) != len(choices):
            raise ValueError(f"question {number} needs 2 to 6 different choices, not {choices}")
        if not isinstance(correct, int) or not 0 <= correct < len(choices):
            raise ValueError(f"question {number}: correct is {correct!r} of {len(choices)} choices")
        questions.append({k: q[k] for k in ("question", "choices", "correct", "why")})
    return questions


def _height(questions: Sequence[Mapping[str, Any]], base: int, column: int) -> int:
    """About how many px the quiz needs where a line holds ``column`` characters."""
    total = base
    for q in questions:
        total += 115 + 22 * (len(q["question"]) // column)
        total += sum(44 + 22 * (len(choice) // column) for choice in q["choices"])
    return total


class Quiz(CourseWidget):
    """A short quiz: choose, check, read why; wrong answers may be tried again.

    Args:
        questions: a TOML file or a list, see :func:`read_questions`.
        answers: chosen index a question, −1 for none yet.
        checked: which answers have been checked.
        tries: how many checks were made a question.
    """

    HEIGHTS = (760, 620)

    questions = traitlets.List(traitlets.Dict()).tag(sync=True)
    answers = traitlets.List(traitlets.Int()).tag(sync=True)
    checked = traitlets.List(traitlets.Bool()).tag(sync=True)
    tries = traitlets.List(traitlets.Int()).tag(sync=True)

    STRINGS: ClassVar[Strings] = {
        "title": "Check yourself",
        "look_for": "the reason, not the answer: say it before you press Check.",
        "check": "Check",
        "right": "Right.",
        "wrong": "Not this one. Choose another.",
        "choose": "Choose an answer first.",
        "readout": "{right:d} of {total:d} answered, in {tries:d} tries.",
    }

    def __init__(self, questions: str | Path | Sequence[Mapping[str, Any]], **traits: Any) -> None:
        read = read_questions(questions)
        empty: dict[str, Any] = {
            "answers": [-1] * len(read),
            "checked": [False] * len(read),
            "tries": [0] * len(read),
        }
        empty["reserve"] = [_height(read, 178, 36), _height(read, 161, 82)]
        super().__init__(questions=read, **{**empty, **traits})

    def numbers(self) -> dict[str, Any]:
        """How many are answered right, of how many, in how many tries."""
        state = zip(self.questions, self.answers, self.checked, strict=True)
        right = [checked and q["correct"] == answer for q, answer, checked in state]
        return {"right": sum(right), "total": len(right), "tries": sum(self.tries)}
