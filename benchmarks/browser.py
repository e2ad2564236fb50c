"""A headless Chromium and a local server, for the comparisons that look at pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.comparison import CannotMeasure


def chromium_path() -> str:
    """Raises CannotMeasure: there is no Chromium on this machine."""
    from tests.conftest import CHROMIUM

    for name in CHROMIUM:
        if found := shutil.which(name):
            return found
    raise CannotMeasure("no Chromium here: apt-get install chromium")


@contextmanager
def chromium(*further: str) -> Iterator[Any]:
    """A browser of its own, with the arguments of the course's browser tests and further ones."""
    path = chromium_path()
    from playwright.sync_api import sync_playwright

    from tests.widgets.harness import CHROMIUM_ARGS

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=[*CHROMIUM_ARGS, *further])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def fresh_page(browser: Any, allowed: str, outside: list[str]) -> Iterator[Any]:
    """A page with an empty cache; ``outside`` collects what it wants from beyond ``allowed``.

    The browser's arguments let it reach nothing but this machine.
    """
    context = browser.new_context(viewport={"width": 1000, "height": 900})
    own = (allowed, "data:", "blob:")

    def note(request: Any) -> None:
        if not request.url.startswith(own):
            outside.append(request.url)

    try:
        # Listened to, not intercepted: a question to Python about every file would be measured too.
        context.on("request", note)
        yield context.new_page()
    finally:
        context.close()
