"""What a reader's browser fetches for a page, and how soon its first widget is alive.

Each page of the built book in a browser with an empty cache, over HTTP from this machine. The other
side is one executed chapter as Jupyter Book's defaults show it.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.browser import chromium, chromium_path, fresh_page
from benchmarks.comparison import ROOT, CannotMeasure, Comparison, Context
from benchmarks.measure import summary
from benchmarks.results import Goal, Row
from benchmarks.watch import watch

HTML = ROOT / "_build" / "html"
EXECUTED = ROOT / "_build" / "executed" / "book"
BUDGET = 400.0  # KiB
ENTRY = "import sys; from jupyter_book.cli.main import main; sys.exit(main())"
CONFIG = "title: Plain\nexecute:\n  execute_notebooks: 'off'\nonly_build_toc_files: true\n"
# Notes when the first widget of the page has drawn itself and that has been painted.
ALIVE = """
const watcher = new MutationObserver(() => {
  if (!document.querySelector(".course-widget[data-ready]")) return;
  watcher.disconnect();
  requestAnimationFrame(() => setTimeout(() => (window.__alive = performance.now())));
});
watcher.observe(document, { subtree: true, childList: true, attributes: true });
"""


@dataclass(frozen=True)
class Visit:
    """One page, fetched once into an empty cache."""

    kib: float  # all that was transferred, in the form it was sent
    page_kib: float  # the page itself
    read_ms: float  # until the browser had read it
    alive_ms: float | None  # until its first widget was alive; None where it has none
    outside: int  # files that it wanted from other hosts


def visit(browser: Any, site: str, path: str) -> Visit:
    """Fetch one page of a site."""
    outside: list[str] = []
    with fresh_page(browser, site, outside) as page:
        page.add_init_script(ALIVE)
        protocol = page.context.new_cdp_session(page)
        protocol.send("Network.enable")
        sizes: dict[str, float] = {}
        answers: dict[str, Any] = {}
        protocol.on("Network.responseReceived", lambda e: answers.update({e["requestId"]: e}))
        protocol.on(
            "Network.loadingFinished",
            lambda e: sizes.update({e["requestId"]: e["encodedDataLength"] / 1024}),
        )
        page.goto(f"{site}/{path}", wait_until="networkidle")
        alive = None
        if page.locator(".widget-place").count():
            page.wait_for_function("() => window.__alive", timeout=30_000)
            alive = float(page.evaluate("() => window.__alive"))
        read = page.evaluate("() => performance.getEntriesByType('navigation')[0].domInteractive")
        # A font written into a stylesheet as data: came with the stylesheet.
        urls = {key: answers[key]["response"]["url"] for key in sizes if key in answers}
        fetched = {key: size for key, size in sizes.items() if urls.get(key, "").startswith(site)}
        own = sum(size for key, size in fetched.items() if answers[key]["type"] == "Document")
        return Visit(sum(fetched.values()), own, float(read), alive, len(set(outside)))


def default_book(folder: Path, chapter: Path) -> Path:
    """One executed chapter in a book of Jupyter Book's defaults."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "_config.yml").write_text(CONFIG, encoding="utf-8")
    (folder / "_toc.yml").write_text("format: jb-book\nroot: page\n", encoding="utf-8")
    notebook = json.loads(chapter.read_text(encoding="utf-8"))
    (folder / "page.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    watch([sys.executable, "-c", ENTRY, "build", str(folder)], folder)
    return folder / "_build" / "html"


def chapter_to_compare() -> Path:
    """The executed chapter with the most widgets in its saved state."""
    chapters = sorted(EXECUTED.glob("[0-9]*.ipynb"))
    if not chapters or not (HTML / "index.html").is_file():
        raise CannotMeasure("the book is not built here: make book, then this again")
    return max(chapters, key=lambda p: p.read_text(encoding="utf-8").count('"_esm"'))


def run(context: Context) -> list[Row]:
    chromium_path()
    from benchmarks.host import Compressing
    from tests.widgets import harness

    chapter = chapter_to_compare()
    mine = f"book/{chapter.stem}.html"
    listed = sorted(p.relative_to(HTML).as_posix() for p in (HTML / "book").glob("*.html"))
    paths = context.pick(listed, [mine])
    context.say("a book of Jupyter Book's defaults")
    plain = default_book(context.folder / "plain", chapter)
    size: dict[str, list[float]] = {path: [] for path in paths}
    files: list[float] = []
    alive: dict[str, list[float]] = {path: [] for path in paths}
    itself: dict[str, float] = {}
    read: dict[str, float] = {}
    default: list[float] = []
    default_files: list[float] = []
    blocked = 0
    with (
        harness.serve(HTML, Compressing) as site, harness.serve(plain, Compressing) as other,
        harness.serve(HTML) as raw, harness.serve(plain) as other_raw, chromium() as browser,
    ):  # fmt: skip
        for number in range(context.rounds):
            for path in paths:
                context.say(f"round {number + 1} of {context.rounds}: {path}")
                seen = visit(browser, site, path)
                if seen.outside:
                    raise RuntimeError(f"{path} asks other hosts for {seen.outside} files")
                size[path].append(seen.kib)
                itself[path], read[path] = seen.page_kib, seen.read_ms
                alive[path] += [] if seen.alive_ms is None else [seen.alive_ms]
            files.append(visit(browser, raw, mine).kib)
            default_files.append(visit(browser, other_raw, "page.html").kib)
            seen = visit(browser, other, "page.html")
            default.append(seen.kib)
            blocked = seen.outside
    largest = max(paths, key=lambda p: summary(size[p]).median)
    with_widgets = [p for p in paths if alive[p]]
    rows = [
        Row(
            f"fetching a page ({chapter.stem})", "KiB",
            {"course": size[mine], "Jupyter Book's defaults": default},
            [Goal(f"the largest of {len(paths)} pages ({largest})",
                  summary(size[largest]).median, below=BUDGET, unit="KiB",
                  why=f"{itself[largest]:.0f} KiB of it are the page itself, with its figures and "
                  "the states of its widgets")],
            {"files the default page wants from other hosts (not counted)": float(blocked)},
        ),
        Row(
            f"the same from a host that does not compress ({chapter.stem})", "KiB",
            {"course": files, "Jupyter Book's defaults": default_files},
        ),
    ]  # fmt: skip
    if with_widgets:
        slowest = max(with_widgets, key=lambda p: summary(alive[p]).median)
        first = mine if mine in with_widgets else with_widgets[0]
        rows.append(
            Row(
                f"the first widget alive ({Path(first).stem})", "ms", {"course": alive[first]},
                [Goal(f"the slowest of {len(with_widgets)} pages ({slowest})",
                      summary(alive[slowest]).median, below=1000.0, unit="ms",
                      why=f"{read[slowest]:.0f} ms pass until the browser has read the page")],
            )
        )  # fmt: skip
    return rows


COMPARISON = Comparison(
    name="pages",
    title="A page",
    against="the same chapter in a book of Jupyter Book's defaults",
    run=run,
    seconds=120,
    peers=("psutil",),
    rounds=2,
    notes=(
        "The host compresses text, as those of the web do. The default page's widgets need other "
        "hosts to live.",
    ),
)
