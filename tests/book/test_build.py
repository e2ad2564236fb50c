"""The build: executed pages without a warning, nothing twice, and a clear word where it stops."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.book import minibook
from tests.book.minibook import PARAMETERS, SETUP, code, md

# a build may wait long for its turn on a busy machine
pytestmark = [pytest.mark.book, pytest.mark.timeout(900)]

HOST = re.compile(r"""(?:src|href|action|content)=["']?\s*(?:https?:)?//([^/"'\s>]+)""")


def page(html: Path, name: str) -> str:
    return (html / "book" / f"{name}.html").read_text(encoding="utf-8")


def change(root: Path, *cells: minibook.Cell) -> None:
    minibook.notebook(
        root / "book" / "intro.ipynb", md("# A front page"), SETUP, PARAMETERS, *cells
    )


def test_the_page_is_the_executed_notebook(html: Path) -> None:
    text = page(html, "01-average")
    assert ">True\n</pre>" in text, "the result of a cell"
    assert '<details class="reveal">' in text, "a hidden answer"
    assert '<svg class="figure" role="img" aria-label="Left: the causal' in text
    assert "WHEEL_URL" not in text, "the set-up cell is not shown"
    assert "budget = " not in text
    assert "100%" not in text, "no progress bar"
    assert "done" in text
    assert re.search(r'class="meta"><span>\d+ min to read</span><span>.+ to run</span>', text)
    assert '<span class="section-number">Chapter 1</span>' in text


def test_mathematics_is_rendered_and_coloured_by_the_palette(html: Path) -> None:
    text = page(html, "01-average")
    assert 'class="katex-display"' in text
    assert "color:var(--course-query)" in text
    assert "color:#c2410c" not in text
    assert "katex-error" not in text
    assert "<math" in text, "a screen reader gets MathML"


def test_no_page_names_another_host(html: Path) -> None:
    pages = sorted(html.rglob("*.html"))
    assert len(pages) >= 5
    for path in pages:
        found = set(HOST.findall(path.read_text(encoding="utf-8")))
        assert found == set(), f"{path.name} refers to {found}"
    for path in [*html.rglob("*.css"), *(html / "_static").glob("course*.js")]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(url\(|import )[\"']?(https?:)?//", text), path


def test_every_page_has_a_title_a_description_and_one_heading(html: Path) -> None:
    seen = set()
    for path in sorted((html / "book").glob("*.html")):
        text = path.read_text(encoding="utf-8")
        (title,) = re.findall(r"<title>([^<]+)</title>", text)
        (description,) = re.findall(r'<meta name="description" content="([^"]+)"', text)
        assert 20 <= len(description) <= 160, description
        assert len(re.findall(r"<h1", text)) == 1
        assert "favicon.svg" in text
        seen |= {title}
    assert len(seen) == 3
    assert 'url=book/intro.html"' in (html / "index.html").read_text(encoding="utf-8")


def test_a_page_loads_only_what_it_uses(html: Path) -> None:
    with_math, without = page(html, "01-average"), page(html, "other")
    assert "katex.min.css" in with_math
    assert "katex.min.css" not in without
    for text in (with_math, without):
        for name in ("thebe", "fontawesome", "jquery", "bootstrap", "require", "pydata", "mystnb"):
            assert f"{name}" not in "".join(re.findall(r"<(?:script|link)[^>]*>", text)), name
        assert len(re.findall(r"<script[^>]*\bsrc=", text)) == 1


def test_links_between_pages_and_numbers_of_figures_work(html: Path) -> None:
    assert 'href="01-average.html"' in page(html, "other")
    assert 'href="other.html"' in page(html, "01-average")
    assert 'href="#fig-average"><span class="std std-numref">Fig. 1.1</span>' in page(
        html, "01-average"
    )


def test_a_second_build_does_nothing_and_is_quick(showcase: Path) -> None:
    front = showcase / "_build" / "html" / "book" / "01-average.html"
    before = front.stat().st_mtime_ns
    started = time.monotonic()
    done = minibook.build(showcase)
    assert done.returncode == 0
    assert "all up to date" in done.stdout
    assert "The pages are up to date." in done.stdout
    assert (showcase / "_build" / "html" / "index.html").as_uri() in done.stdout
    assert front.stat().st_mtime_ns == before
    assert time.monotonic() - started < 15


def test_typed_from_habit_jupyter_book_gives_the_executed_book(showcase: Path) -> None:
    shutil.rmtree(showcase / "_build" / "html")
    done = minibook.jupyter_book(showcase, "-W", "-n", "--keep-going")
    assert done.returncode == 0, done.stdout
    assert ">True\n</pre>" in page(showcase / "_build" / "html", "01-average")


def test_typed_from_habit_before_anything_was_executed_it_says_what_to_run(book: Path) -> None:
    done = minibook.jupyter_book(book)
    assert done.returncode != 0
    assert "book/intro.ipynb" in done.stdout
    assert "make book" in done.stdout
    assert "python book/_ext/build.py" in done.stdout
    assert not (book / "_build" / "html" / "book" / "intro.html").exists()


def test_a_copy_older_than_its_notebook_is_never_shown(book: Path) -> None:
    assert minibook.build(book).returncode == 0
    assert ">42\n</pre>" in page(book / "_build" / "html", "intro")
    change(book, code("6 * 8"))
    stale = minibook.jupyter_book(book)
    assert stale.returncode != 0
    assert "not executed since" in stale.stdout
    # and the build brings the page up to date
    assert minibook.build(book).returncode == 0
    assert ">48\n</pre>" in page(book / "_build" / "html", "intro")


def test_a_notebook_that_raises_fails_the_build_before_any_page(book: Path) -> None:
    change(book, code("1 / 0"))
    done = minibook.build(book)
    assert done.returncode == 1
    assert "book/intro.ipynb, cell 4:" in done.stdout
    assert "ZeroDivisionError" in done.stdout
    assert not (book / "_build" / "html" / "index.html").exists()


IMAGE = (
    "import matplotlib.pyplot as plt\nfrom course.figures.style import use_style\n"
    "use_style()\nplt.plot([0, 1])\nplt.show()"
)


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (md(r"A formula $\frac{1}{$ breaks."), "a formula does not parse"),
        (md("[Nowhere](missing-page.md)"), "missing-page"),
        (code(IMAGE), "an image has no alt text"),
    ],
)
def test_a_warning_fails_the_build_each_time(book: Path, cell: minibook.Cell, said: str) -> None:
    change(book, cell)
    for _ in range(2):  # what Sphinx has read once it would not warn of again
        done = minibook.build(book)
        assert done.returncode != 0
        assert said in done.stdout
        assert "The pages were not built" in done.stdout
        assert "reading sources" not in done.stdout, "the trouble only, not all that Sphinx says"


def test_the_fallback_corpus_is_said_on_the_page(book: Path, tmp_path: Path) -> None:
    change(book, code("from course.corpus import load_corpus\nload_corpus().is_fallback"))
    # no file, no cache, and a network on which nothing answers
    nowhere = {"https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
    variables = {"COURSE_CORPUS": "", "COURSE_CACHE": str(tmp_path / "cache"), **nowhere}
    started = time.monotonic()
    done = minibook.build(book, **variables)
    assert done.returncode == 0, done.stdout
    assert time.monotonic() - started < 120
    text = page(book / "_build" / "html", "intro")
    assert ">True\n</pre>" in text
    assert '<p class="notice" role="note">' in text


def test_what_a_failed_build_started_neither_holds_it_up_nor_outlives_it(tmp_path):
    """As KaTeX's server does where Sphinx fails."""
    started = tmp_path / "pid"
    script = (
        "import pathlib, subprocess, sys; "
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)']); "
        f"pathlib.Path({str(started)!r}).write_text(str(child.pid)); "
        "print('said'); sys.exit(3)"
    )
    code = (
        "import os, pathlib, sys; sys.path.insert(0, 'book/_ext'); import build; "
        f"log = pathlib.Path({str(tmp_path / 'log')!r}); "
        f"status = build.run_logged([sys.executable, '-c', {script!r}], log, log.parent, "
        "dict(os.environ)); print(status, log.read_text().strip())"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "3 said", done.stderr
    deadline = time.monotonic() + 10
    while _runs(int(started.read_text())) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _runs(int(started.read_text()))


def _runs(pid: int) -> bool:
    """Whether the process is there and no zombie."""
    try:
        return "(zombie)" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
