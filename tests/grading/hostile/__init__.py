"""Submissions that cheat, break things or were unlucky: what each hands in, and what it deserves.

Every row of the specification's table is here. All are graded in one run (`test_hostile.py`), so
that each also shows that the others do not suffer.
"""

from __future__ import annotations

from pathlib import Path

from tests.grading.hostile.breaking import breaking
from tests.grading.hostile.case import Case
from tests.grading.hostile.dying import dying
from tests.grading.hostile.forging import forging
from tests.grading.hostile.smuggling import smuggling
from tests.grading.hostile.spying import spying
from tests.grading.hostile.unlucky import unlucky
from tests.grading.hostile.unreadable import unreadable

__all__ = ["Case", "all_cases"]


def all_cases(root: Path, port: int) -> list[Case]:
    """Everything, by unique name."""
    found = [*forging(), *smuggling(), *spying(root), *breaking(root, port), *dying(), *unlucky(),
             *unreadable()]  # fmt: skip
    assert len({c.name for c in found}) == len(found)
    return found
