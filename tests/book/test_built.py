"""The book itself as it lies in ``_build/html``: links, hosts, words for figures, downloads."""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.book import hidden, minibook

from course_book import downloads, toc  # isort: skip
from setup_cell import SETUP_CELL  # isort: skip

pytestmark = pytest.mark.book

HTML = minibook.REPOSITORY / "_build" / "html"
# Addresses a reader may follow; nothing is loaded from them.
NOT_A_FILE = {"http", "https", "mailto", "data", "javascript"}


class Reader(HTMLParser):
    """What a page refers to, what can be referred to in it, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.figures: list[str] = []
        self.headings: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in ("script", "img", "iframe", "source", "video") and "src" in found:
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(found["href"])
        if tag == "img":
            self.figures.append(found.get("alt", ""))
        if tag == "svg" and "figure" in found.get("class", ""):
            self.figures.append(found.get("aria-label", ""))
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))


@cache
def read(path: Path) -> Reader:
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader


@pytest.fixture(scope="module")
def pages() -> list[Path]:
    if not (HTML / "index.html").is_file():
        pytest.fail("the book is not built: `make book`", pytrace=False)
    return sorted(HTML.rglob("*.html"))


def test_every_page_of_the_table_of_contents_is_there(pages: list[Path]) -> None:
    for name in toc.listed(minibook.REPOSITORY):
        assert HTML / f"{name}.html" in pages, name


def test_links_lead_somewhere(pages: list[Path]) -> None:
    broken = []
    for page in pages:
        for link in read(page).links:
            parts = urlsplit(link)
            if parts.scheme in NOT_A_FILE:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if target.is_dir():
                target = target / "index.html"
            if not target.is_file():
                broken.append((page.name, link, "no such file"))
            elif parts.fragment and target.suffix == ".html":
                if unquote(parts.fragment) not in read(target).ids:
                    broken.append((page.name, link, "no such place on the page"))
    assert broken == []


def test_nothing_is_loaded_from_elsewhere_and_all_that_is_loaded_is_there(
    pages: list[Path],
) -> None:
    for page in pages:
        for source in read(page).loaded:
            parts = urlsplit(source)
            assert parts.scheme in ("", "data"), (page.name, source)
            assert not parts.netloc, (page.name, source)
            if not parts.scheme:
                assert (page.parent / unquote(parts.path)).is_file(), (page.name, source)


def test_an_id_is_used_once_a_page(pages: list[Path]) -> None:
    for page in pages:
        twice = [i for i, n in Counter(read(page).ids).items() if n > 1]
        assert twice == [], page.name


def test_figures_say_what_they_show(pages: list[Path]) -> None:
    for page in pages:
        for words in read(page).figures:
            assert len(words.split()) >= 4, (page.name, words)


def test_each_page_counts_its_figures_from_one(pages: list[Path]) -> None:
    counted = 0
    for page in pages:
        text = page.read_text(encoding="utf-8")
        numbers = re.findall(r'caption-number">Fig\. ([\d.]*\d)', text)
        assert [int(n.rpartition(".")[2]) for n in numbers] == [*range(1, len(numbers) + 1)], page
        counted += len(numbers)
    assert counted > 30


def test_headings_go_down_one_step_at_a_time(pages: list[Path]) -> None:
    for page in pages:
        levels = read(page).headings
        assert levels.count(1) == 1, page.name
        for above, below in pairwise(levels):
            assert below <= above + 1, (page.name, levels)


def test_the_whole_book_is_on_one_page_for_the_printer(pages: list[Path]) -> None:
    path = HTML.parent / "single" / "print.html"
    one = read(path)
    names = toc.listed(minibook.REPOSITORY)
    assert one.headings.count(1) == 1 + len(names)
    figures = [f for name in names for f in read(HTML / f"{name}.html").figures]
    assert Counter(one.figures) == Counter(figures)
    assert [i for i, n in Counter(one.ids).items() if n > 1] == []
    for link in one.links:
        if link.startswith("#"):
            assert unquote(link[1:]) in one.ids, link
    for source in one.loaded:
        assert (path.parent / urlsplit(source).path).is_file(), source


def test_titles_and_descriptions_tell_pages_apart(pages: list[Path]) -> None:
    chapters = [page for page in pages if page.parent.name == "book"]
    titles = [re.findall(r"<title>([^<]+)", p.read_text(encoding="utf-8"))[0] for p in chapters]
    words = [
        re.findall(r'<meta name="description" content="([^"]*)', p.read_text(encoding="utf-8"))[0]
        for p in chapters
    ]
    assert len(set(titles)) == len(chapters)
    assert len(set(words)) == len(chapters)
    assert all(40 <= len(text) <= 160 for text in words), words


def test_no_trace_of_the_machine(pages: list[Path]) -> None:
    traces = (str(minibook.REPOSITORY) + "/", "ipykernel_", "site-packages")
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert [t for t in traces if t in text] == [], page.name


def test_every_notebook_and_exercise_can_be_taken_along(pages: list[Path]) -> None:
    root = minibook.REPOSITORY
    slugs = [s for found in downloads.exercises(root).values() for s in found]
    notebooks = [*toc.notebooks_of(root), *(downloads.exercise_path(root, s) for s in slugs)]
    assert len(notebooks) > 1
    for notebook in notebooks:
        archive = (HTML / notebook.relative_to(root)).with_suffix(".zip")
        with zipfile.ZipFile(archive) as file:
            names = file.namelist()
            data = json.loads(file.read(notebook.name))
        assert names[0] == notebook.name
        assert re.fullmatch(r"attention_from_average-.+\.whl", names[1])
        (cell,) = [c for c in data["cells"] if "setup" in c["metadata"].get("tags", [])]
        assert "".join(cell["source"]).splitlines()[2:] == SETUP_CELL.splitlines()[2:]


def test_no_hidden_test_and_no_model_answer_is_anywhere_in_the_book(pages: list[Path]) -> None:
    slugs = [s for found in downloads.exercises(minibook.REPOSITORY).values() for s in found]
    secret = hidden.hidden_lines(slugs)
    if not (HTML / "solutions").is_dir():  # an instructor's copy has the answers, and only these
        secret |= hidden.answer_lines(slugs)
    assert len(secret) > 50
    assert hidden.said(HTML, secret) == []
    assert hidden.said(HTML.parent / "single", secret) == []
