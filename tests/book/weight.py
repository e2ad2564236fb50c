"""What a page costs a reader: its bytes on the wire, and what moves after it was drawn."""

from __future__ import annotations

import functools
import gzip
from pathlib import Path
from typing import Any

TEXT = {".html", ".css", ".js", ".svg", ".json"}
# Counts from the first frame on, if it is there before the page is.
_SHIFT = (
    "let shift = 0; const add = list => {"
    " for (const e of list) if (!e.hadRecentInput) shift += e.value; };"
    " const seen = new PerformanceObserver(list => add(list.getEntries()));"
    " seen.observe({type: 'layout-shift', buffered: true});"
    " window.shiftSoFar = () => { add(seen.takeRecords()); return shift; };"
)
# A widget is alive, or has said why it is not; then two frames, and whatever waited for an idle
# moment.
_ALIVE = (
    "[...document.querySelectorAll('.widget-place')]"
    ".every(place => place.querySelector('[data-ready], .widget-note'))"
)
_STILL = (
    "document.fonts.ready.then(() => new Promise(done => requestAnimationFrame(() =>"
    " requestAnimationFrame(() => requestIdleCallback(() => done(true))))))"
)


def watch_shift(page: Any) -> None:
    """Have every page that this tab opens from now on add up its layout shift."""
    page.add_init_script(_SHIFT)


def shift(page: Any) -> float:
    """The layout shift of the present page so far."""
    return float(page.evaluate("window.shiftSoFar()"))


def open_alive(page: Any, url: str) -> None:
    """Open a page and wait until all of it is there: files, fonts, widgets drawn."""
    page.goto(url, wait_until="load")
    page.wait_for_function(_ALIVE)
    page.evaluate(_STILL)


@functools.cache
def as_sent(path: Path) -> int:
    """Bytes of a file on the wire: any host compresses text; fonts and archives go as they are."""
    data = path.read_bytes()
    return len(gzip.compress(data)) if path.suffix in TEXT else len(data)


def sizes(page: Any, site: str, root: Path) -> dict[str, int]:
    """Bytes on the wire of each file that the present page has fetched from ``root``, by name."""
    loaded = page.evaluate("performance.getEntriesByType('resource').map(e => e.name)")
    names = [one.removeprefix(f"{site}/").split("?")[0] for one in [*loaded, page.url]]
    return {name: as_sent(root / name) for name in names if not name.startswith(("data:", "blob:"))}
