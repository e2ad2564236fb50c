"""The whole book as a PDF, printed by Chromium from its single page."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from course_book.assets import MissingTool
from course_book.single import PAGE

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Set by build.py where a PDF will be made: then the pages have a link to it.
VARIABLE = "COURSE_BOOK_PDF"
NAME = "attention-from-an-average.pdf"


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


def print_book(html: Path) -> Path:
    """Print the single page of the book in ``html``; returns the PDF, which lies in ``html``.

    Raises
    ------
    MissingTool
        If Chromium or Playwright is missing.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError as error:
        raise MissingTool("printing the book needs Playwright: pip install playwright") from error
    browser_path = find_browser()
    target = html / NAME
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
            page.pdf(
                path=str(part),
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
        finally:
            browser.close()
    os.replace(part, target)
    return target
