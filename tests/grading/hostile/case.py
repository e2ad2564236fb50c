"""A submission, and the three ways to write one down."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.grading.lab import RIGHT, WRONG, Lab

FULL, NOTHING = 10.0, 0.0


@dataclass(frozen=True)
class Case:
    """A submission: ``hand_in`` puts it into the lab's folder for a learner of this name."""

    name: str
    deserves: float
    hand_in: Callable[[Lab, str], None]
    says: str = ""  # what the autograded notebook must say


def cells(name: str, deserves: float, *before: str, answer: str = WRONG, says: str = "") -> Case:
    """A submission that differs from the release by code."""
    return Case(name, deserves, lambda lab, who: lab.submit(who, lab.notebook(answer, before)) and
                None, says)  # fmt: skip


def edited(
    name: str, deserves: float, edit: Callable[[Any], None], answer: str = RIGHT, says: str = ""
) -> Case:
    """A submission that differs from the release by its structure."""

    def hand_in(lab: Lab, who: str) -> None:
        nb = lab.notebook(answer)
        edit(nb)
        folder = lab.submit(who, None)
        # json and not nbformat: many of these are not valid notebooks
        (folder / "tiny.ipynb").write_text(json.dumps(nb), encoding="utf-8")

    return Case(name, deserves, hand_in, says)


def raw(name: str, data: bytes, says: str, file: str = "tiny.ipynb") -> Case:
    """A file that is no notebook: a zero with an explanation."""

    def hand_in(lab: Lab, who: str) -> None:
        lab.submit(who, data, file)

    return Case(name, NOTHING, hand_in, says)
