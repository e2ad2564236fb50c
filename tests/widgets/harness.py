"""What every widget's test needs: the built page, a browser without a network, Node.

A further widget's test is one entry in ``tests/widgets/cases.py``. The page is made the way the
book makes it: papermill executes a notebook, MyST-NB renders the executed copy with execution
off, and ``book/_static/widgets-static.js`` brings the widgets to life.
"""

from __future__ import annotations

import functools
import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import course.widgets
from tests.conftest import require_tool
from tests.widgets import samples

ROOT = Path(__file__).resolve().parents[2]
VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
CHROMIUM_ARGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # No name but this machine's leads anywhere. (Playwright's own interception would ask Python
    # about every request, and turn the cache off.)
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
]


IMPORTS = (
    "import sys\n"
    f"sys.path.append({str(Path(__file__).parent)!r})\n"
    "from course.widgets import *\n"
    "from samples import *"
)


@dataclass(frozen=True)
class Move:
    """One thing a reader does: drag a slider to a fraction of its length, or work a control.

    ``trait`` names the control; ``to`` is a fraction for a slider, a value for a select or a
    choice, None for a checkbox (it is toggled), ``(i, fraction)`` for the i-th upright slider of
    a row of them; ``act`` presses the button of that name. ``check`` looks at Python's numbers
    afterwards.
    """

    trait: str
    to: Any = None
    check: Callable[[Mapping[str, Any]], bool] | None = None
    act: str = ""


@dataclass(frozen=True)
class Case:
    """A widget under test: how it is made, what a reader moves, further states to compare."""

    code: str
    moves: Sequence[Move]
    states: Sequence[Mapping[str, Any]] = field(default=({},))

    @property
    def name(self) -> str:
        return self.code.split("(")[0]

    @property
    def slug(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.code.lower()).strip("-")[:40]

    def make(self) -> Any:
        """The same widget here, to ask it for the numbers."""
        return eval(self.code, {**vars(samples), **vars(course.widgets)})


# ------------------------------------------------------------------ JavaScript's numbers

_NODE = """
import { readFileSync, writeFileSync } from "node:fs";
const { esm, states } = JSON.parse(readFileSync(process.argv[2]));
const url = "data:text/javascript;base64," + Buffer.from(esm).toString("base64");
const widget = (await import(url)).default;
const out = [];
for (const state of states) {
  const get = (name) => state[name];
  if (widget.prepare) for (const _ of widget.prepare(get));
  out.push(widget.numbers(get));
}
const odd = (v) => typeof v === "number" && !Number.isFinite(v);
const plain = (_, v) => (ArrayBuffer.isView(v) ? Array.from(v) : odd(v) ? String(v) : v);
writeFileSync(process.argv[3], JSON.stringify(out, plain));
"""


def state_of(widget: Any) -> dict[str, Any]:
    """The widget's traits as they travel to the page."""
    return {k: v for k, v in widget.get_state().items() if k not in ("layout", "_esm", "_css")}


def javascript_numbers(esm: str, states: Sequence[Mapping[str, Any]], tmp: Path) -> list[Any]:
    """`numbers(get)` of a widget's ES module, run by Node for each state."""
    node = require_tool("node")
    script, given, answer = tmp / "numbers.mjs", tmp / "given.json", tmp / "answer.json"
    script.write_text(_NODE, encoding="utf-8")
    given.write_text(json.dumps({"esm": esm, "states": list(states)}), encoding="utf-8")
    subprocess.run([node, script, given, answer], check=True, timeout=120)
    return list(json.loads(answer.read_text(encoding="utf-8")))


def assert_same(python: Any, javascript: Any, where: str = "numbers") -> None:
    """Python's numbers and JavaScript's: same keys, same text, numbers within 1e-9 (relative)."""
    if hasattr(python, "tolist"):
        python = python.tolist()
    if isinstance(python, Mapping):
        assert isinstance(javascript, Mapping), where
        missing = set(python) - set(javascript)
        assert not missing, f"{where}: JavaScript lacks {sorted(missing)}"
        for key, value in python.items():
            assert_same(value, javascript[key], f"{where}.{key}")
    elif isinstance(python, (list, tuple)):
        assert len(python) == len(javascript), where
        for i, (a, b) in enumerate(zip(python, javascript, strict=True)):
            assert_same(a, b, f"{where}[{i}]")
    elif isinstance(python, bool) or python is None or isinstance(python, str):
        assert python == javascript, f"{where}: {python!r} and {javascript!r}"
    else:
        other = float(
            {"Infinity": "inf", "-Infinity": "-inf", "NaN": "nan"}.get(javascript, javascript)
        )
        same = python == other or abs(python - other) <= 1e-9 * max(abs(python), abs(other), 1e-6)
        assert same or (python != python and other != other), f"{where}: {python!r} and {other!r}"


# ------------------------------------------------------------------ the pages


def execute(cells: Sequence[str], folder: Path, kernel: str = "python3") -> dict[str, Any]:
    """Run the cells by papermill and return the executed notebook as JSON."""
    import nbformat
    import papermill

    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(c) for c in cells],
        metadata={"kernelspec": {"name": kernel, "display_name": kernel, "language": "python"}},
    )
    source, target = folder / "source.ipynb", folder / "executed.ipynb"
    nbformat.write(notebook, source)
    papermill.execute_notebook(source, target, cwd=ROOT, progress_bar=False, kernel_name=kernel)
    return dict(json.loads(target.read_text(encoding="utf-8")))


def as_the_book(notebook: dict[str, Any]) -> dict[str, Any]:
    """The executed notebook as the book shows it: cleaned, its widgets pruned and renamed."""
    sys.path.insert(0, str(ROOT / "book" / "_ext"))
    from course_book.clean import clean

    return dict(clean(notebook, ROOT, "widgets"))


def split(notebook: dict[str, Any], names: Sequence[str], folder: Path) -> None:
    """One notebook a widget from one executed notebook, and ``index`` with all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    shown = [
        c
        for c in notebook["cells"]
        if STATE.replace("state", "view") in json.dumps(c.get("outputs", []))
    ]
    assert len(shown) == len(names), f"{len(shown)} outputs for {len(names)} widgets"
    saved = notebook["metadata"]["widgets"][STATE]
    heading = {"cell_type": "markdown", "id": "title", "metadata": {}, "source": "# Widgets"}
    every = {"index": shown, **{name: [cell] for name, cell in zip(names, shown, strict=True)}}
    for name, cells in every.items():
        text = json.dumps(cells)
        state = {k: v for k, v in saved["state"].items() if k in text}
        metadata = {**notebook["metadata"], "widgets": {STATE: {**saved, "state": state}}}
        toc = {
            "cell_type": "markdown",
            "id": "toc",
            "metadata": {},
            "source": "```{toctree}\n" + "\n".join(names) + "\n```" if name == "index" else "",
        }
        page = {**notebook, "cells": [heading, *cells, toc], "metadata": metadata}
        (folder / f"{name}.ipynb").write_text(json.dumps(page), encoding="utf-8")


_CONF = """
extensions = ["myst_nb"]
html_theme = "sphinx_book_theme"
html_static_path = ["_static"]
html_css_files = ["palette.css"]
nb_execution_mode = "off"
nb_ipywidgets_js = {"widgets-static.js": {"defer": "defer"}}
html_context = {"default_mode": "auto"}
"""


def build_html(folder: Path) -> Path:
    """Sphinx with MyST-NB, warnings as errors, execution off; returns the folder of the pages."""
    (folder / "_static").mkdir(exist_ok=True)
    for name in ("widgets-static.js", "palette.css"):
        shutil.copy(ROOT / "book" / "_static" / name, folder / "_static" / name)
    (folder / "conf.py").write_text(_CONF, encoding="utf-8")
    out = folder / "_html"
    from sphinx.cmd.build import build_main

    assert build_main(["-q", "-W", "--keep-going", str(folder), str(out)]) == 0
    return out


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Says nothing of what it serves."""

    def log_message(self, *_: Any) -> None: ...

    def do_GET(self) -> None:
        # A browser asks each site once for its icon; a page without one has none: no error.
        if self.path == "/favicon.ico":
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()


@contextmanager
def serve(folder: Path, handling: type[Quiet] = Quiet) -> Iterator[str]:
    """An HTTP server on this machine for a folder; gives its address."""
    handler = functools.partial(handling, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


# ------------------------------------------------------------------ the browser


@contextmanager
def chromium(*further: str) -> Iterator[Any]:
    """A headless Chromium (Debian's) that reaches this machine only; ``further`` arguments last."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as pw:
        path = require_tool("chromium")
        browser = pw.chromium.launch(executable_path=path, args=[*CHROMIUM_ARGS, *further])
        try:
            yield browser
        finally:
            browser.close()


class Page:
    """One page with the network blocked; on leaving, no console error and no outside request."""

    def __init__(self, browser: Any, **options: Any) -> None:
        options.setdefault("viewport", {"width": 1000, "height": 900})
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.troubles: list[str] = []
        self.context.on("request", self._look)
        self.page.on("console", lambda m: m.type == "error" and self.troubles.append(m.text))
        self.page.on("pageerror", lambda e: self.troubles.append(str(e)))

    def _look(self, request: Any) -> None:
        if not re.match(r"(http://127\.0\.0\.1:|file:|data:|blob:)", request.url):
            self.troubles.append(f"outside request {request.url}")

    def __enter__(self) -> Page:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.context.close()
        if kind is None:
            assert not self.troubles, "\n".join(self.troubles)

    def open(self, url: str, name: str) -> Widget:
        """Open the page and wait until the named widget has drawn itself."""
        self.page.goto(url, wait_until="load")
        return self.widget(name)

    def widget(self, name: str) -> Widget:
        root = self.page.locator(f'.course-widget[data-widget="{name}"][data-ready]').first
        root.wait_for(timeout=20_000)
        return Widget(self.page, root)


class Widget:
    """A widget in a page, worked as a reader works it."""

    def __init__(self, page: Any, root: Any) -> None:
        self.page, self.root = page, root

    def control(self, trait: str) -> Any:
        return self.root.locator(f'[data-trait="{trait}"]')

    def text(self) -> str:
        return str(self.root.locator(".cw-readout").inner_text())

    def table(self) -> list[list[str]]:
        return list(
            self.root.locator(".cw-table").evaluate(
                "t => [...t.rows].map(r => [...r.cells].map(c => c.textContent))"
            )
        )

    def traits(self, names: Sequence[str]) -> dict[str, Any]:
        return dict(
            self.root.evaluate(
                "(el, names) => Object.fromEntries(names.map(n => [n, el.course.get(n)]))",
                list(names),
            )
        )

    def settle(self) -> None:
        """Wait for the picture of the present state (two frames)."""
        self.page.evaluate(
            "() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))"
        )

    def drag(self, slider: Any, fraction: float) -> None:
        """A real drag: press on the thumb, move in steps, let go at ``fraction`` of the track."""
        slider.scroll_into_view_if_needed()
        box = slider.bounding_box()
        at, lo, hi = (float(slider.evaluate(f"e => e.{k}")) for k in ("value", "min", "max"))
        thumb, upright = 22, box["height"] > box["width"]

        def place(f: float) -> tuple[float, float]:
            if upright:
                y = box["y"] + box["height"] - thumb / 2 - f * (box["height"] - thumb)
                return box["x"] + box["width"] / 2, y
            x = box["x"] + thumb / 2 + f * (box["width"] - thumb)
            return x, box["y"] + box["height"] / 2

        self.page.mouse.move(*place((at - lo) / (hi - lo)))
        self.page.mouse.down()
        self.page.mouse.move(*place(fraction), steps=8)
        self.page.mouse.up()
        self.settle()

    def work(self, move: Move) -> None:
        """Carry out one move, whatever the control is."""
        if move.act:
            self.root.locator(f'[data-act="{move.act}"]').click()
            return self.settle()
        control = self.control(move.trait).first
        kind = control.evaluate("e => e.type || e.localName")
        if kind == "range":
            index, fraction = move.to if isinstance(move.to, tuple) else (0, move.to)
            self.drag(self.control(move.trait).nth(index), float(fraction))
        elif kind == "select-one":
            control.select_option(str(move.to))
        elif kind == "checkbox":
            control.click()
        elif kind == "radio":
            self.root.locator(f'[data-trait="{move.trait}"][value="{move.to}"]').check()
        elif kind in ("number", "text"):
            control.fill(str(move.to))
            control.press("Enter")
        else:
            raise AssertionError(f"the harness cannot work a {kind}")
        self.settle()

    def assert_as_python(self, twin: Any) -> None:
        """The text on the page is what Python says for the traits the page is in."""
        names = [n for n in twin.trait_names(sync=True) if n in PUBLIC(twin)]
        for name, value in self.traits(names).items():
            setattr(twin, name, value)
        assert self.text() == twin.readout()
        if twin.table():
            assert self.table() == twin.table()


def PUBLIC(widget: Any) -> set[str]:
    """The traits a reader can change: plain values of the widget's own."""
    own = set(widget.trait_names(sync=True)) - set(
        course.widgets.base.CourseWidget.class_trait_names()
    )
    return {n for n in own if isinstance(getattr(widget, n), (int, float, str, list))}
