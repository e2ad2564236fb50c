"""The pages in a real browser, with every outside request blocked, over HTTP and from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.book import weight
from tests.widgets.harness import Page

# building the pages may wait long for its turn on a busy machine
pytestmark = [pytest.mark.book, pytest.mark.browser, pytest.mark.timeout(900)]

NAMES = ("intro", "01-average", "other")
LIGHT_PAPER, DARK_PAPER = "rgb(255, 253, 249)", "rgb(21, 24, 28)"
PAPER = "getComputedStyle(document.documentElement).backgroundColor"


@pytest.fixture(params=["http", "file"])
def address(request: pytest.FixtureRequest, site: str, html: Path) -> str:
    return site if request.param == "http" else html.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_pages_open_without_a_trouble(browser: Any, address: str, scheme: str, width: int) -> None:
    view = {"width": width, "height": 800}
    with Page(browser, viewport=view, color_scheme=scheme) as tab:
        for name in NAMES:
            tab.page.goto(f"{address}/book/{name}.html", wait_until="load")
            assert tab.page.evaluate(PAPER) == (LIGHT_PAPER if scheme == "light" else DARK_PAPER)
            across = tab.page.evaluate("document.documentElement.scrollWidth")
            assert across <= width, f"{name} is {across} px wide"
            families = "[...document.fonts].filter(f => f.status === 'loaded').map(f => f.family)"
            assert "Source Serif 4" in "".join(
                tab.page.evaluate(f"document.fonts.ready.then(() => {families})")
            )


def test_the_reader_chooses_the_theme_and_it_stays(browser: Any, address: str) -> None:
    with Page(browser, color_scheme="light") as tab:
        tab.page.goto(f"{address}/book/01-average.html")
        tab.page.get_by_role("button", name="Dark or light page").click()
        assert tab.page.evaluate(PAPER) == DARK_PAPER
        stroke = "getComputedStyle(document.querySelector('svg.figure text')).fill"
        assert tab.page.evaluate(stroke) != "rgb(29, 34, 41)", "the figure follows"
        tab.page.goto(f"{address}/book/other.html")
        assert tab.page.evaluate(PAPER) == DARK_PAPER


def test_search_finds_a_page_without_a_server(browser: Any, address: str) -> None:
    with Page(browser) as tab:
        tab.page.goto(f"{address}/book/other.html")
        tab.page.get_by_role("searchbox", name="Search the book").fill("shuffle")
        tab.page.keyboard.press("Enter")
        result = tab.page.locator("#search-results li a").first
        result.wait_for(timeout=10_000)
        assert "The average cannot see order" in result.inner_text()
        result.click()
        assert "01-average.html" in tab.page.url


def test_formulas_and_text_need_no_script(browser: Any, site: str) -> None:
    with Page(browser, java_script_enabled=False) as tab:
        tab.page.goto(f"{site}/book/01-average.html")
        box = tab.page.locator(".katex-display").first.bounding_box()
        assert box is not None
        assert box["height"] > 30
        assert tab.page.locator("svg.figure").is_visible()
        assert not tab.page.get_by_role("button", name="Dark or light page").is_visible()
        tab.page.get_by_text("How far apart are the two averages?", exact=True).click()
        assert tab.page.get_by_text("rounding", exact=True).is_visible()


def test_the_contents_open_and_close_on_a_phone(browser: Any, site: str) -> None:
    with Page(browser, viewport={"width": 360, "height": 740}) as tab:
        tab.page.goto(f"{site}/book/01-average.html")
        contents = tab.page.get_by_role("navigation", name="Contents")
        assert not contents.is_visible()
        menu = tab.page.get_by_role("button", name="Contents")
        menu.click()
        assert contents.is_visible()
        assert menu.get_attribute("aria-expanded") == "true"
        tab.page.keyboard.press("Escape")
        assert not contents.is_visible()
        menu.click()
        contents.get_by_role("link", name="Another page").click()
        assert tab.page.url.endswith("other.html")


def test_touch_targets_of_the_top_line_are_large_enough(browser: Any, site: str) -> None:
    with Page(browser, viewport={"width": 360, "height": 740}) as tab:
        tab.page.goto(f"{site}/book/other.html")
        for name in ("Dark or light page", "Contents"):
            box = tab.page.get_by_role("button", name=name).bounding_box()
            assert box is not None
            assert min(box["width"], box["height"]) >= 44, name


def test_code_can_be_copied(browser: Any, site: str) -> None:
    with Page(browser, permissions=["clipboard-read", "clipboard-write"]) as tab:
        tab.page.goto(f"{site}/book/other.html")
        tab.page.locator("div.highlight").hover()
        tab.page.get_by_role("button", name="Copy").click()
        tab.page.get_by_role("button", name="Copied").wait_for(timeout=5000)
        assert tab.page.evaluate("navigator.clipboard.readText()") == "q, k = 1, 2  # not run"


def test_the_measure_is_about_68_characters(browser: Any, site: str) -> None:
    with Page(browser, viewport={"width": 1280, "height": 900}) as tab:
        tab.page.goto(f"{site}/book/01-average.html")
        style = tab.page.evaluate(
            "(() => { const p = document.querySelector('article section section p');"
            " const s = getComputedStyle(p);"
            " const c = document.createElement('canvas').getContext('2d');"
            " c.font = `${s.fontSize} ${s.fontFamily}`;"
            " const text = 'the average weighs what came before and forgets where it was ';"
            " return [s.fontSize, parseFloat(s.lineHeight) / parseFloat(s.fontSize),"
            " p.clientWidth / c.measureText(text).width * text.length]; })()"
        )
        assert style[0] == "18px"
        assert style[1] == pytest.approx(1.6)
        assert 62 <= style[2] <= 76


def test_a_page_is_light_and_stands_still(browser: Any, site: str, html: Path) -> None:
    with Page(browser, viewport={"width": 412, "height": 823}) as tab:
        weight.watch_shift(tab.page)
        weight.open_alive(tab.page, f"{site}/book/01-average.html")
        sizes = weight.sizes(tab.page, site, html)
        assert "book/01-average.html" in sizes
        assert sum(sizes.values()) < 300 * 1024, sizes
        assert len(sizes) <= 17
        assert weight.shift(tab.page) <= 0.05
