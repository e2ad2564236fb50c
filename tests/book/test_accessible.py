"""Every page of the built book for every reader: axe in light and dark, bytes, layout shift."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.book import minibook, weight
from tests.widgets.harness import Page, serve

pytestmark = [pytest.mark.book, pytest.mark.browser, pytest.mark.timeout(900)]

HTML = minibook.REPOSITORY / "_build" / "html"
AXE = minibook.REPOSITORY / "_build" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
PHONE = {"width": 412, "height": 823}
PAGE_BYTES = 400 * 1024  # on the wire, compressed as any host does it
RUN_AXE = (
    "axe.run(document, {resultTypes: ['violations']}).then(found => found.violations.flatMap("
    "v => v.nodes.map(n => `${v.id}: ${n.target.join(' ')}: ${n.failureSummary}`)))"
)


@pytest.fixture(scope="module")
def names() -> list[str]:
    """Every page a reader can open, as an address below the book's root."""
    if not (HTML / "index.html").is_file():
        pytest.fail("the book is not built: `make book`", pytrace=False)
    found = sorted(str(path.relative_to(HTML)) for path in HTML.rglob("*.html"))
    return [name for name in found if not name.startswith("_static")]


@pytest.fixture(scope="module")
def site() -> Any:
    with serve(HTML) as address:
        yield address


def test_axe_would_find_a_picture_without_words(browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text('<!doctype html><html lang="en"><title>A</title><img src="data:,"></html>')
    with Page(browser) as tab:
        tab.page.goto(page.as_uri())
        tab.page.add_script_tag(path=str(AXE))
        assert any(line.startswith("image-alt: img") for line in tab.page.evaluate(RUN_AXE))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Any, site: str, names: list[str], scheme: str) -> None:
    assert AXE.is_file(), f"{AXE} is missing: python .ci/setup_env.py --npm-only"
    found = []
    with Page(browser, color_scheme=scheme, reduced_motion="reduce") as tab:
        for name in names:
            weight.open_alive(tab.page, f"{site}/{name}")
            tab.page.add_script_tag(path=str(AXE))
            found += [f"{name}: {line}" for line in tab.page.evaluate(RUN_AXE)]
    assert not found, "\n".join(found)


def test_widgets_on_one_page_keep_out_of_each_other(
    browser: Any, site: str, names: list[str]
) -> None:
    """A name used twice lets a picture take another's label, hatching or chosen button."""
    twice = (
        "() => { const n = {}; for (const e of document.querySelectorAll('[id]'))"
        " n[e.id] = (n[e.id] ?? 0) + 1; return Object.keys(n).filter(id => n[id] > 1); }"
    )
    chosen = (
        "() => [...document.querySelectorAll('.cw-control[role=radiogroup]')]"
        ".map(g => g.querySelectorAll('input:checked').length)"
    )
    found, groups = [], 0
    with Page(browser) as tab:
        for name in names:
            weight.open_alive(tab.page, f"{site}/{name}")
            found += [f"{name}: {id}" for id in tab.page.evaluate(twice)]
            counts = tab.page.evaluate(chosen)
            groups += len(counts)
            found += [f"{name}: a choice of which {n} are chosen" for n in counts if n != 1]
    assert not found, "\n".join(found)
    assert groups > 5


def test_every_page_is_light_and_stands_still(browser: Any, site: str, names: list[str]) -> None:
    heavy, moving = [], []
    with Page(browser, viewport=PHONE) as tab:
        weight.watch_shift(tab.page)
        for name in names:
            weight.open_alive(tab.page, f"{site}/{name}")
            sizes = weight.sizes(tab.page, site, HTML)
            if sum(sizes.values()) >= PAGE_BYTES:
                kib = sum(sizes.values()) / 1024
                heavy.append(f"{name}: {kib:.0f} KiB in {len(sizes)} requests")
            shift = weight.shift(tab.page)
            if shift > 0.05:
                moving.append(f"{name}: layout shift {shift:.3f}")
    assert not heavy + moving, "\n".join(heavy + moving)


def test_no_page_is_wider_than_a_small_phone(browser: Any, site: str, names: list[str]) -> None:
    wide = {}
    with Page(browser, viewport={"width": 360, "height": 740}) as tab:
        for name in names:
            weight.open_alive(tab.page, f"{site}/{name}")
            width = tab.page.evaluate("document.documentElement.scrollWidth")
            if width > 360:
                wide[name] = width
    assert wide == {}
