"""One sandbox for all tests of a process: it loads PyTorch once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from course.grading import running
from course.grading.parent import WarmParent
from tests.grading.lab import Lab


@pytest.fixture(scope="session")
def parent(require_tool: Callable[[str], Path]) -> Iterator[WarmParent]:
    """The warm parent that `course.grading.running` uses too."""
    require_tool("bwrap")
    yield running.shared_parent(isolated=True)
    running.close_parents()


@pytest.fixture
def lab(tmp_path: Path, parent: WarmParent) -> Lab:
    """A fresh course."""
    return Lab(tmp_path / "course")
