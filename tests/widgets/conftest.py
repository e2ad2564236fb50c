"""The pages and the browser, made once for all the widgets' tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.widgets import harness
from tests.widgets.cases import CASES, WITHOUT_RECORDS

NOTHING_RECORDED = "import os, tempfile; os.environ['COURSE_RECORDS'] = tempfile.mkdtemp();"


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built pages: one a widget, named by its slug, and ``index`` with all of them."""
    folder = tmp_path_factory.mktemp("widget-pages")
    cells = [harness.IMPORTS, *[case.code for case in CASES]]
    cells += [NOTHING_RECORDED, *WITHOUT_RECORDS]
    notebook = harness.as_the_book(harness.execute(cells, folder))
    source = folder / "source"
    names = [*[case.slug for case in CASES], *[f"missing-{i}" for i in range(len(WITHOUT_RECORDS))]]
    harness.split(notebook, names, source)
    return harness.build_html(source)


@pytest.fixture(scope="session")
def site(pages: Path) -> Iterator[str]:
    with harness.serve(pages) as address:
        yield address
