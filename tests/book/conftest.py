"""The small book that the tests read, built once a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.book import minibook
from tests.widgets.harness import serve


@pytest.fixture(scope="session")
def showcase(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Root of a book with everything a chapter has, executed and built without a warning."""
    root = minibook.showcase(tmp_path_factory.mktemp("showcase") / "book")
    done = minibook.build(root)
    assert done.returncode == 0, done.stdout
    return root


@pytest.fixture(scope="session")
def html(showcase: Path) -> Path:
    """Its pages."""
    return showcase / "_build" / "html"


@pytest.fixture(scope="session")
def site(html: Path) -> Iterator[str]:
    """Its pages over HTTP."""
    with serve(html) as address:
        yield address


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """An empty book's root for a test to fill: the front page only."""
    root = minibook.make(tmp_path / "book", "format: jb-book\nroot: book/intro\n")
    minibook.notebook(
        root / "book" / "intro.ipynb",
        minibook.md("# A front page\n\nWith a sentence that says what the pages after it are for."),
        minibook.SETUP,
        minibook.PARAMETERS,
        minibook.code("6 * 7"),
    )
    return root
