"""A widget draws by changing what is there: the picture is the one a fresh drawing would give."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from course.figures import palette
from course.widgets import base
from tests.widgets.cases import CASES
from tests.widgets.harness import Case, Page, Widget
from tests.widgets.test_numbers import run_frame

pytestmark = pytest.mark.browser
each = pytest.mark.parametrize("case", CASES, ids=lambda c: c.slug)

TOOLS = Path(__file__).with_name("drawing.js").read_text(encoding="utf-8")


@contextmanager
def tools_beside(case: Case, site: str, browser: Any) -> Iterator[tuple[Page, Any]]:
    """The case's page, and ``drawing.js`` in it."""
    with Page(browser) as page:
        page.open(f"{site}/{case.slug}.html", case.name)
        yield page, page.page.evaluate_handle(TOOLS)


def states_of(case: Case) -> list[dict[str, Any]]:
    """The case's states, and the one it is made in before and after them."""
    names = {name for state in case.states for name in state}
    start = {name: getattr(case.make(), name) for name in names}
    return [start, *[dict(state) for state in case.states], start]


@each
def test_a_picture_that_was_moved_is_the_one_a_fresh_drawing_gives(
    case: Case, site: str, browser: Any
) -> None:
    with tools_beside(case, site, browser) as (page, tools):
        moved = tools.evaluate_handle("t => t.view({}, 700)")
        for number, state in enumerate(states_of(case)):
            width = (700, 340)[number % 2]
            before, after = page.page.evaluate(
                "async ([t, moved, state, width]) => {"
                " moved.el.style.width = `${width}px`; moved.model.set(state); await t.frames();"
                " const fresh = await t.view(state, width);"
                " const both = [t.seen(moved.root), t.seen(fresh.root)]; fresh.el.remove();"
                " return both; }",
                [tools, moved, state, width],
            )
            assert len(after) > 10
            assert before == after, state


@each
def test_a_draw_reads_no_size_and_what_it_has_drawn_before_adds_no_node(
    case: Case, site: str, browser: Any
) -> None:
    with tools_beside(case, site, browser) as (page, tools):
        asked, added = page.page.evaluate(
            "([t, states]) => t.watched(states)", [tools, states_of(case)]
        )
        assert asked == []
        assert added == []


def pixels(widget: Widget) -> np.ndarray[Any, Any]:
    """The first map's pixels (rows, columns, RGBA)."""
    found = widget.root.locator("canvas").first.evaluate(
        "c => [c.height, c.width, Array.from(c.getContext('2d').getImageData(0, 0, c.width,"
        " c.height).data)]"
    )
    return np.asarray(found[2], dtype=float).reshape(found[0], found[1], 4)


def test_a_map_shows_each_weight_and_follows_the_pages_theme(site: str, browser: Any) -> None:
    case = next(c for c in CASES if c.name == "HeadMaps")
    twin = case.make()
    with Page(browser) as page:
        widget = page.open(f"{site}/{case.slug}.html", case.name)
        for head in (1, 3, 0):
            widget.root.evaluate("(el, head) => el.course.set('head', head)", head)
            widget.settle()
            twin.head = head
            assert np.abs(pixels(widget)[..., 3] / 255 - twin._map()).max() <= 0.5 / 255 + 1e-9
        for theme in ("dark", "light"):
            page.page.evaluate("t => { document.documentElement.dataset.theme = t; }", theme)
            widget.settle()
            full = pixels(widget)
            full = full[full[..., 3] > 250]  # where a colour shows as it is
            assert len(full) > 0
            wanted = 255 * np.array(palette.rgb(palette.THEMES[theme]["attention"]))
            assert np.abs(full[:, :3] - wanted).max() <= 2


def test_a_map_stays_under_its_frame_where_the_picture_is_shown_narrower(
    site: str, browser: Any
) -> None:
    """As on paper, where nothing is drawn anew: the widths are read before the widget hears."""
    case = next(c for c in CASES if c.name == "FromAverage")
    with Page(browser) as page:
        widget = page.open(f"{site}/{case.slug}.html", case.name)
        maps, frames = widget.root.evaluate(
            "el => { el.querySelector('.cw-picture').style.width = '70%';"
            " const all = (which) => [...el.querySelectorAll(which)].map(e => {"
            " const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; });"
            " return [all('canvas'), all('.cw-box')]; }"
        )
    assert len(maps) == len(frames) == 2
    assert np.abs(np.array(maps) - np.array(frames)).max() < 1.5


def test_every_attribute_that_names_a_theme_is_watched() -> None:
    named = set(re.findall(r"(?:html|body)[^{}]*?\[([\w-]+)", base.theme_css()))
    frame = (base.HERE / "frame.js").read_text(encoding="utf-8")
    watched = re.search(r"const THEMES = \[(.*?)\]", frame)
    assert watched is not None
    assert len(named) >= 3
    assert named <= set(re.findall(r'"([\w-]+)"', watched.group(1)))


@each
def test_a_rehearsal_changes_nothing_and_ends(case: Case, site: str, browser: Any) -> None:
    with Page(browser) as page:
        widget = page.open(f"{site}/{case.slug}.html", case.name)
        tools = page.page.evaluate_handle(TOOLS)
        if not widget.root.locator("[data-trait]:not([data-trait^=answer])").count():
            assert case.name == "Quiz"  # no states to go through
            return
        fresh = tools.evaluate_handle("t => t.view({}, 700)")
        before = page.page.evaluate("([t, v]) => t.seen(v.root)", [tools, fresh])
        page.page.wait_for_function("v => v.root.course.rehearsed", arg=fresh, timeout=20_000)
        assert page.page.evaluate("([t, v]) => t.seen(v.root)", [tools, fresh]) == before
        assert fresh.evaluate("v => v.root.dataset.ready") == "yes"
        widget.assert_as_python(case.make())


def test_a_rehearsal_asks_for_nothing_a_control_could_not() -> None:
    controls = [
        {"kind": "range", "trait": "p", "min": 0.05, "max": 1, "step": 0.05},
        {"kind": "range", "trait": "n", "min": 1, "max": 3},
        {"kind": "range", "trait": "width", "values": [64, 128, 256]},
        {"kind": "choice", "trait": "mask", "options": [["a", "A"], ["b", "B"]]},
        {"kind": "check", "trait": "on"},
        {"kind": "button", "act": "again"},
        {"kind": "columns", "trait": "scores"},
    ]
    states = run_frame("[...rehearsal(given)]", controls)
    assert isinstance(states, list)
    asked: dict[str, set[Any]] = {}
    for state in states:
        for name, value in state.items():
            asked.setdefault(name, set()).add(value)
    assert asked["n"] == {1, 2, 3}
    assert asked["width"] == {64, 128, 256}
    assert asked["mask"] == {"a", "b"}
    assert asked["on"] == {True, False}
    steps = [(v - 0.05) / 0.05 for v in asked["p"]]
    assert max(abs(s - round(s)) for s in steps) < 1e-9
    assert max(asked["p"]) <= 1 + 1e-9
    assert set(asked) == {"p", "n", "width", "mask", "on"}


def test_all_the_text_of_the_frame_is_written_in_place() -> None:
    for path in sorted(Path(base.HERE).glob("*.js")):
        assert ".textContent =" not in path.read_text(encoding="utf-8"), path.name
