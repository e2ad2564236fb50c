"""The printed book: a contents whose numbers are right, and every figure on the paper."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from pypdf import PdfReader

from tests.book import minibook

from course_book import assets, contents, pdf, single, toc  # isort: skip

HTML = minibook.REPOSITORY / "_build" / "html"


def test_the_contents_name_titles_and_the_sections_of_chapters() -> None:
    chapter = (
        '<h1><span class="section-number">Chapter 1</span> Mean &amp; sum</h1>'
        '<section id="p-one-first"> <span id="x"></span><h2>The <em>first</em></h2></section>'
    )
    appendix = '<h1>Words</h1><section id="p-words-a"><h2>A</h2></section>'
    assert contents.entries("p-one", chapter) == [
        contents.Entry("p-one", "Chapter 1: Mean & sum", 1),
        contents.Entry("p-one-first", "The first", 2),
    ]
    assert contents.entries("p-words", appendix) == [contents.Entry("p-words", "Words", 1)]
    made = contents.nav(contents.entries("p-one", chapter))
    assert '<a href="#p-one">Chapter 1: Mean &amp; sum</a>' in made
    assert 'data-for="p-one-first"' in made


def test_printing_says_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(assets.MissingTool, match="apt-get install chromium"):
        pdf.print_book(tmp_path)


def print_alone(html: Path, target: Path) -> Path:
    """Print in a process of its own: a process may hold one synchronous Playwright."""
    code = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]);"
        "from course_book import pdf; pdf.print_book(Path(sys.argv[2]), Path(sys.argv[3]))"
    )
    extension = str(minibook.REPOSITORY / "book" / "_ext")
    command = [sys.executable, "-c", code, extension, str(html), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


def check_contents(printed: Path, html: Path, names: list[str]) -> list[str]:
    """Every line of the contents has the number of the sheet that its heading is on; the sheets'
    texts, in a form that line ends do not change."""
    reader = PdfReader(printed)
    texts = ["".join(page.extract_text().split()) for page in reader.pages]
    sheets = contents.sheets(printed)
    lines = []
    for name in names:
        body = single.article((html / f"{name}.html").read_text(encoding="utf-8"), name, set(names))
        lines += contents.entries(single.slug(name), body)
    last = min(sheets[single.slug(name)] for name in names)
    listed = "".join(texts[1 : last - 1])
    assert listed.startswith("Contents")
    for line in lines:
        words = "".join(line.title.split())
        number = sheets[line.anchor]
        assert f"{words}{number}" in listed, line
        heading = words.partition(":")[2] if words.startswith("Chapter") else words
        assert heading in texts[number - 1], (line, number)
    return texts


@pytest.mark.browser
def test_a_small_book_is_printed_with_its_contents(html: Path, tmp_path: Path) -> None:
    root = html.parents[1]
    names = toc.listed(root)
    before = sorted(html.rglob("*"))
    printed = print_alone(html, tmp_path / "small.pdf")
    assert sorted(html.rglob("*")) == before
    assert [path.name for path in tmp_path.iterdir()] == ["small.pdf"]
    check_contents(printed, html, names)


@pytest.mark.slow
@pytest.mark.browser
def test_the_whole_book_is_printed_with_every_figure(tmp_path: Path) -> None:
    printed = print_alone(HTML, tmp_path / pdf.NAME)
    names = toc.listed(minibook.REPOSITORY)
    text = "".join(check_contents(printed, HTML, names))
    numbers = set()
    for name in names:
        page = (HTML / f"{name}.html").read_text(encoding="utf-8")
        numbers |= set(re.findall(r'<span class="caption-number">(Fig\. [\d.]*\d)', page))
    assert len(numbers) > 30
    missing = [n for n in numbers if "".join(n.split()) not in text]
    assert missing == []
