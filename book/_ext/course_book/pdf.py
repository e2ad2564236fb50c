"""The whole book as a PDF, printed by Chromium from its single page."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from course_book import contents
from course_book.assets import MissingTool
from course_book.single import PAGE

if TYPE_CHECKING:
    from playwright.sync_api import Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Set by build.py where a PDF will be made: then the pages have a link to it.
VARIABLE = "COURSE_BOOK_PDF"
NAME = "attention-from-an-average.pdf"
_NUMBER = """sheets => document.querySelectorAll(".sheet").forEach(place => {
  if (!(place.dataset.for in sheets)) throw new Error("not printed: " + place.dataset.for);
  place.textContent = sheets[place.dataset.for];
})"""


def find_browser() -> str:
    """A Chromium on the path.

    Raises
    ------
    MissingTool
        If there is none.
    """
    for name in BROWSERS:
        found = shutil.which(name)
        if found:
            return found
    raise MissingTool("printing the book needs Chromium: apt-get install chromium")


def print_book(html: Path, target: Path | None = None) -> Path:
    """Print the single page of the book in ``html`` to ``target`` (default: `NAME` in ``html``).

    Returns the PDF.

    Raises
    ------
    MissingTool
        If Chromium, Playwright or pypdf is missing.
    """
    try:
        import pypdf  # noqa: F401 (a minute of printing is spared where it is not there)
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError as error:
        name = error.name
        raise MissingTool(f"printing the book needs {name}: pip install {name}") from error
    browser_path = find_browser()
    target = target or html / NAME
    part = target.with_suffix(".part")
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=browser_path, args=arguments)
        try:
            page = browser.new_page(viewport={"width": 900, "height": 1200})
            page.goto((html.parent / PAGE).as_uri(), wait_until="load", timeout=240_000)
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
            # a widget's place keeps a height of its own until the widget is drawn
            drawn = "!document.querySelector('.widget-place[style]')"
            page.wait_for_function(drawn, timeout=240_000)
            page.wait_for_timeout(1000)
            _print(page, part)
            # Which sheet each line of the contents leads to is known once it is printed; the
            # numbers take no room of their own, so that nothing moves in the second printing.
            page.evaluate(_NUMBER, dict(contents.sheets(part)))
            _print(page, part)
        finally:
            browser.close()
    os.replace(part, target)
    return target


def _print(page: Page, target: Path) -> None:
    page.pdf(
        path=str(target),
        format="A4",
        margin={"top": "18mm", "bottom": "20mm", "left": "18mm", "right": "18mm"},
        display_header_footer=True,
        header_template="<span></span>",
        footer_template='<div style="font-size:8px;width:100%;text-align:center">'
        '<span class="pageNumber"></span></div>',
        print_background=True,
        tagged=True,
        outline=True,
    )
