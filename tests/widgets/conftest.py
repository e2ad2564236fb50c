"""The pages and the browser, made once for all the widgets' tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.widgets import harness
from tests.widgets.cases import CASES


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built pages: one a widget, named by its slug, and ``index`` with all of them."""
    folder = tmp_path_factory.mktemp("widget-pages")
    cells = ["from course.widgets import *", *[case.code for case in CASES]]
    notebook = harness.as_the_book(harness.execute(cells, folder))
    source = folder / "source"
    harness.split(notebook, [case.slug for case in CASES], source)
    return harness.build_html(source)


@pytest.fixture(scope="session")
def site(pages: Path) -> Iterator[str]:
    with harness.serve(pages) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    with harness.chromium() as running:
        yield running
