"""Questions at the end of a chapter: one at a time to choose, check, and try again."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import traitlets

from course.widgets.base import CourseWidget, Strings

Source = str | Path | Sequence[Mapping[str, Any]]

QUESTIONS = Path(__file__).parent / "questions"


def chapters_with_questions() -> list[str]:
    """The chapters that have questions in the package: ``["01-average", …, "intro"]``."""
    return sorted(path.stem for path in QUESTIONS.glob("*.toml"))


def _found(source: Source) -> tuple[Sequence[Mapping[str, Any]], str]:
    """The questions as written, and what an error calls the place they are from."""
    if not isinstance(source, (str, Path)):
        return source, "the list"
    path = Path(source)
    if isinstance(source, str) and path.suffix != ".toml":
        path = QUESTIONS / f"{source}.toml"
        if source not in chapters_with_questions():
            known = ", ".join(chapters_with_questions())
            raise ValueError(f"no questions for {source!r}; there are some for: {known}")
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"the questions cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path.name} is not valid TOML: {error}") from error
    return data.get("question", []), path.name


def read_questions(source: Source) -> list[dict[str, Any]]:
    """Questions of a chapter (``"05-scaling"``), from a TOML file, or from a list of mappings.

    Each has ``question``, ``choices`` (2 to 6 different ones), ``correct`` (an index into them)
    and ``why``: a sentence for each choice, in their order, that says why it is right or wrong.

    Raises:
        ValueError: there is no such chapter or file, a question lacks a part, its ``correct`` is
            no index into its choices, or a choice has no sentence.
    """
    found, where = _found(source)
    if not found:
        raise ValueError(f"there is no question in {where}")
    questions = []
    for number, q in enumerate(found, start=1):
        this = f"question {number} of {where}"
        if lacking := [k for k in ("question", "choices", "correct", "why") if k not in q]:
            raise ValueError(f"{this} has no {' and no '.join(lacking)}")
        choices, correct, why = list(q["choices"]), q["correct"], q["why"]
        if not 2 <= len(choices) <= 6 or len(set(choices)) != len(choices):
            raise ValueError(f"{this} needs 2 to 6 different choices, not {choices}")
        if type(correct) is not int or not 0 <= correct < len(choices):
            raise ValueError(f"{this}: correct is {correct!r} of {len(choices)} choices")
        if isinstance(why, str) or len(why) != len(choices) or not all(map(str.strip, why)):
            raise ValueError(f"{this} needs one sentence in why for each of its choices")
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
        questions: a chapter (``Quiz("05-scaling")``), a TOML file or a list, see
            :func:`read_questions`.
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
        "wrong": "Not this one.",
        "choose": "Choose an answer first.",
        "readout": "{right:d} of {total:d} answered, in {tries:d} tries.",
    }

    def __init__(self, questions: Source, **traits: Any) -> None:
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
