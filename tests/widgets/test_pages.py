"""The widgets in the built page: dragged, worked by keyboard, narrow, dark, from http and file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from course.figures import palette
from tests.widgets.cases import CASES, WITHOUT_RECORDS
from tests.widgets.harness import Case, Page, Widget

pytestmark = pytest.mark.browser
each = pytest.mark.parametrize("case", CASES, ids=lambda c: c.slug)


def css(hex_colour: str) -> str:
    return "rgb({}, {}, {})".format(*(round(255 * c) for c in palette.rgb(hex_colour)))


def assert_coloured(widget: Widget, theme: str) -> None:
    """Ink on paper, the palette's."""
    found = widget.root.evaluate(
        "el => [getComputedStyle(el).backgroundColor, getComputedStyle(el).color]"
    )
    assert found == [css(palette.THEMES[theme][name]) for name in ("paper", "ink")]


def assert_height_kept(widget: Widget, case: Case) -> None:
    """The place the loader kept is the place the widget takes, so nothing below it jumps."""
    height = widget.root.bounding_box()["height"]
    inside = widget.root.evaluate("el => el.parentElement.clientWidth")
    reserved = case.make().reserve[0 if inside < 520 else 1]
    assert abs(height - reserved) <= 30, f"it takes {height} px of {inside}, not {reserved}"


@each
def test_a_reader_moves_it(case: Case, site: str, browser: Any) -> None:
    twin = case.make()
    with Page(browser) as page:
        widget = page.open(f"{site}/{case.slug}.html", case.name)
        widget.assert_as_python(twin)
        assert_coloured(widget, "light")
        assert_height_kept(widget, case)
        for move in case.moves:
            before = widget.traits([move.trait]) if move.trait in twin.trait_names() else {}
            widget.work(move)
            assert widget.traits(list(before)) != before or not before, f"{move.trait} did not move"
            widget.assert_as_python(twin)
            assert move.check is None or move.check(twin.numbers()), move
        widget.root.locator("[data-act=reset]").click()
        widget.settle()
        widget.assert_as_python(twin)
        assert widget.text() == case.make().readout()


@each
def test_it_is_alive_as_a_file_in_the_dark_without_motion(
    case: Case, pages: Path, browser: Any
) -> None:
    twin = case.make()
    with Page(browser, color_scheme="dark", reduced_motion="reduce") as page:
        widget = page.open(f"{pages.as_uri()}/{case.slug}.html", case.name)
        widget.assert_as_python(twin)
        assert_coloured(widget, "dark")
        widget.work(case.moves[0])
        widget.assert_as_python(twin)
        assert widget.root.evaluate("el => el.getAnimations({ subtree: true }).length") == 0


@each
def test_the_keyboard_alone_reaches_and_moves_everything(
    case: Case, site: str, browser: Any
) -> None:
    with Page(browser) as page:
        widget = page.open(f"{site}/{case.slug}.html", case.name)
        reachable = set()
        widget.root.evaluate("el => { el.tabIndex = -1; el.focus(); }")
        for _ in range(120):
            page.page.keyboard.press("Tab")
            inside = widget.root.evaluate(
                "el => { const a = document.activeElement; return el.contains(a) ?"
                " [a.dataset.trait ?? a.dataset.act ?? '', a.type ?? ''] : null; }"
            )
            if inside is None:
                break
            name, kind = inside
            reachable.add(name)
            before = widget.traits([name])
            if kind == "range":
                for key in ("ArrowRight", "ArrowLeft", "ArrowLeft"):
                    page.page.keyboard.press(key)
                widget.settle()
                if widget.traits([name]) == before:  # it stood at its left end
                    page.page.keyboard.press("ArrowRight")
                    widget.settle()
                assert widget.traits([name]) != before, f"arrow keys do not move {name}"
        names = set(
            widget.root.evaluate(
                "el => [...el.querySelectorAll('[data-trait], [data-act]')]"
                ".filter(e => !e.disabled).map(e => e.dataset.trait ?? e.dataset.act)"
            )
        )
        assert names <= reachable, f"out of the keyboard's reach: {sorted(names - reachable)}"
        widget.assert_as_python(case.make())


def test_a_quiz_is_answered_with_the_keyboard_alone(site: str, browser: Any) -> None:
    case = next(c for c in CASES if c.slug.startswith("quiz-05"))
    questions = case.make().questions
    with Page(browser) as page:
        widget = page.open(f"{site}/{case.slug}.html", case.name)
        keys = page.page.keyboard
        widget.root.evaluate("el => { el.tabIndex = -1; el.focus(); }")
        for q in questions:
            keys.press("Tab")  # to the question's first choice
            keys.press("Space")
            for _ in range(q["correct"]):
                keys.press("ArrowDown")
            keys.press("Tab")
            keys.press("Enter")  # Check
        widget.settle()
        comments = widget.root.locator(".cw-comment").all_inner_texts()
        assert comments == [f"Right. {q['why'][q['correct']]}" for q in questions]
        assert widget.text() == f"{len(questions)} of {len(questions)} answered, in 4 tries."
        keys.press("Shift+Tab")
        keys.press("ArrowDown")  # round to another choice of the last question
        keys.press("Tab")
        keys.press("Enter")
        widget.settle()
        last = questions[-1]
        other = last["why"][(last["correct"] + 1) % len(last["choices"])]
        assert widget.root.locator(".cw-comment").last.inner_text() == f"Not this one. {other}"


def assert_named(widget: Widget) -> None:
    """Every control has a name, every picture a text, and the readout can be heard."""
    unnamed = widget.root.evaluate(
        "el => [...el.querySelectorAll('input, select, button')].filter(e =>"
        " !(e.labels?.length && [...e.labels].some(l => l.textContent.trim())) && "
        " !e.textContent.trim() && !e.getAttribute('aria-label')).map(e => e.outerHTML)"
    )
    assert unnamed == []
    assert widget.root.locator(".cw-spoken[role=status]").count() == 1
    assert widget.root.evaluate(
        "el => [...el.querySelectorAll('[role=img]')].every(e => e.getAttribute('aria-label'))"
    )


@each
def test_it_fits_a_phone(case: Case, site: str, browser: Any) -> None:
    with Page(browser, viewport={"width": 360, "height": 740}, has_touch=True) as page:
        widget = page.open(f"{site}/{case.slug}.html", case.name)
        assert page.page.evaluate("document.documentElement.scrollWidth") <= 360
        assert_named(widget)
        assert_height_kept(widget, case)
        low = widget.root.evaluate(
            "el => [...el.querySelectorAll('input:not([type=checkbox]), select, button')]"
            ".filter(e => e.offsetParent && (e.closest('label, .cw-range') ?? e)"
            ".getBoundingClientRect().height < 44).map(e => e.outerHTML)"
        )
        assert low == [], "touch targets under 44 px"
        outside = widget.root.evaluate(
            "el => { const b = el.getBoundingClientRect();"
            " return [...el.querySelectorAll('text, p, td, th')]"
            ".filter(e => e.textContent && e.getClientRects().length).filter(e => { const r = "
            "e.getBoundingClientRect(); return r.left < b.left - 1 || r.right > b.right + 1; })"
            ".map(e => e.textContent) }"
        )
        assert outside == []
        small = widget.root.evaluate(
            "el => [...el.querySelectorAll('text')].filter(e => parseFloat(getComputedStyle(e)"
            ".fontSize) < 11).map(e => e.textContent)"
        )
        assert small == []
        for move in case.moves[:1]:
            widget.work(move)
            widget.assert_as_python(case.make())


@pytest.mark.parametrize("number", range(len(WITHOUT_RECORDS)))
def test_without_records_it_says_so(number: int, site: str, browser: Any) -> None:
    name = re.split(r"[.(]", WITHOUT_RECORDS[number])[0]
    with Page(browser) as page:
        widget = page.open(f"{site}/missing-{number}.html", name)
        text = widget.root.inner_text()
        assert "Not yet measured" in text
        assert "python -m course experiments run" in text
        assert widget.root.locator("input, button, svg").count() == 0


def test_many_widgets_share_a_page_and_say_when_one_cannot_start(
    pages: Path, site: str, browser: Any
) -> None:
    with Page(browser) as page:
        page.page.goto(f"{site}/index.html", wait_until="load")
        for case in CASES:
            page.widget(case.name).assert_as_python(case.make())
    text = (pages / f"{CASES[0].slug}.html").read_text(encoding="utf-8")
    broken = pages / "broken.html"
    broken.write_text(text.replace("export default course(", "export default broken("), "utf-8")
    page = Page(browser)
    page.page.goto(f"{site}/broken.html", wait_until="load")
    note = page.page.locator(".widget-note")
    note.wait_for()
    assert "could not be started (broken is not defined)" in note.inner_text()
    page.context.close()


def test_a_request_to_another_host_goes_nowhere_and_is_told(browser: Any) -> None:
    tab = Page(browser)
    hosts = ("https://example.org", "http://192.0.2.1")
    reached = [tab.page.evaluate(f"fetch('{h}/x').then(() => 1, () => 0)") for h in hosts]
    assert reached == [0, 0]
    with pytest.raises(AssertionError, match=r"outside request https://example\.org/x") as caught:
        tab.__exit__(None)
    assert "outside request http://192.0.2.1/x" in str(caught.value)


def test_the_loader_and_the_pages_are_light(pages: Path) -> None:
    assert len((pages / "_static" / "widgets-static.js").read_bytes()) <= 6 * 1024
    for case in CASES:
        page = (pages / f"{case.slug}.html").read_bytes()
        assert len(page) < 150 * 1024, f"{case.slug}.html has {len(page) / 1024:.0f} KiB"
