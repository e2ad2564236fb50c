"""What is wider than its column fades out there, and can be scrolled with the keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.book import minibook
from tests.widgets.harness import Page

pytestmark = pytest.mark.browser

STATIC = minibook.REPOSITORY / "book" / "_static"
PAGE = f"""<!doctype html><html lang="en"><title>A</title>
<link rel="stylesheet" href="{(STATIC / "course.css").as_uri()}">
<script src="{(STATIC / "course.js").as_uri()}" defer></script>
<article><pre id="wide">{"a long line " * 6}</pre><pre id="short">a line</pre>
<details><summary>Folded</summary><pre id="folded">{"a long line " * 6}</pre></details></article>
"""
FADES = "id => getComputedStyle(document.getElementById(id)).maskImage !== 'none'"


def test_what_goes_on_to_the_right_fades_out_until_its_end(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(PAGE, encoding="utf-8")
    with Page(browser, viewport={"width": 360, "height": 740}) as tab:
        tab.page.goto(path.as_uri(), wait_until="load")
        wide = tab.page.locator("#wide")
        assert [tab.page.evaluate(FADES, name) for name in ("wide", "short")] == [True, False]
        assert wide.get_attribute("aria-label") == "Code, scrolls sideways"
        wide.evaluate("box => { box.scrollLeft = box.scrollWidth; }")
        tab.page.wait_for_selector("#wide:not(.more)")
        wide.evaluate("box => { box.scrollLeft = 0; }")
        tab.page.wait_for_selector("#wide.more")
        tab.page.get_by_text("Folded").click()
        tab.page.wait_for_selector("#folded.more[tabindex]")
        tab.page.keyboard.press("Tab")
        assert not tab.page.evaluate(FADES, "folded"), "nothing hides what the keyboard has"
        tab.page.set_viewport_size({"width": 1280, "height": 740})
        tab.page.wait_for_selector("#wide:not(.more, [tabindex])")
