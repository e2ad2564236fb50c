"""The pages beside the text: cards, exercises, glossary, references, colophon, as built."""

from __future__ import annotations

import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.book import hidden, minibook, sources
from tests.book.minibook import PARAMETERS, SETUP, code, md
from tests.widgets.harness import Page

from course_book import cards, downloads, exercise, versions  # isort: skip

ROOT = minibook.REPOSITORY
SLUGS = ["average", "scaling", "head"]
EVERY = [slug for found in downloads.exercises(ROOT).values() for slug in found]
PAGES = ("flashcards", "exercises", "glossary", "references", "colophon", "instructors", "notation")


@pytest.fixture(scope="module")
def appendices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Root of a book with the appendices and two small chapters, built without a warning."""
    below = "".join(f"    - file: book/exercise-{slug}\n" for slug in SLUGS)
    files = "".join(
        f"  - file: book/{name}\n" + (f"    sections:\n{below}" if name == "exercises" else "")
        for name in PAGES
    )
    root = minibook.make(
        tmp_path_factory.mktemp("appendices") / "book",
        "format: jb-book\nroot: book/intro\nparts:\n"
        "- caption: Chapters\n  numbered: 1\n  chapters:\n"
        "  - file: book/01-average\n  - file: book/05-scaling\n"
        f"- caption: Beside the text\n  chapters:\n{files}",
    )
    book = root / "book"
    for name in [*PAGES, *(f"exercise-{slug}" for slug in SLUGS)]:
        shutil.copy(ROOT / "book" / f"{name}.md", book)
    # the instructor's page leads on to pages that are not in this small book
    (book / "instructors.md").write_text("# For instructors\n\nA class, in ten minutes.\n")
    titles = {"intro": "A front page", "01-average": "An average", "05-scaling": "A scale"}
    (book / "cards").mkdir()
    for name, title in titles.items():
        sentence = "A sentence that says what the page is for, after Su et al. (2021), at length."
        first = md(f"# {title}\n\n{sentence}")
        minibook.notebook(book / f"{name}.ipynb", first, SETUP, PARAMETERS, code("1 + 1"))
        shutil.copy(ROOT / "book" / "cards" / f"{name}.toml", book / "cards")
    shutil.copy(ROOT / "book" / "cards" / "eleven.toml", book / "cards")
    for folder in ("exercises", "solutions"):
        for slug in SLUGS:
            shutil.copytree(ROOT / folder / slug, root / folder / slug)
    done = minibook.build(root, COURSE_REPOSITORY_URL="https://github.com/owner/attention")
    assert done.returncode == 0, done.stdout
    return root


@pytest.fixture(scope="module")
def pages(appendices: Path) -> Path:
    return appendices / "_build" / "html" / "book"


def read(pages: Path, name: str) -> str:
    return (pages / f"{name}.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("slug", EVERY)
def test_an_exercise_page_is_the_release_and_nothing_hidden(slug: str) -> None:
    text = exercise.page(ROOT, slug)
    assert text.startswith("# Exercise: ")
    assert "self_check(" in text
    assert "YOUR CODE HERE" in text
    assert "WHEEL_URL" not in text, "the set-up cell is machinery"
    assert text.count("<details") == text.count("</details>") >= 3, "hints in three levels"
    assert exercise.points(ROOT, slug) > 5
    squeezed = "".join(text.split())
    assert [
        x for x in hidden.hidden_lines([slug]) | hidden.answer_lines([slug]) if x in squeezed
    ] == []
    stub = (ROOT / "book" / f"exercise-{slug}.md").read_text(encoding="utf-8")
    assert stub == exercise.STUB.format(slug=slug)


def test_there_is_a_page_for_each_exercise_and_none_besides() -> None:
    found = {p.stem.removeprefix("exercise-") for p in (ROOT / "book").glob("exercise-*.md")}
    assert found == set(EVERY)
    assert len(found) == 13


def test_an_unknown_exercise_is_named() -> None:
    with pytest.raises(ValueError, match="no exercise 'nothing'"):
        exercise.chapter_of(ROOT, "nothing")


def test_what_the_colophon_names_is_in_the_lock_files() -> None:
    known = versions.pins(ROOT)
    assert known["torch"] == "2.13.0"
    assert re.fullmatch(r"0\.16\.\d+", known["npm katex"])


def test_authors_and_years_that_chapters_name_are_in_the_bibliography() -> None:
    written = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    entries = re.findall(r"author = \{(.*?)\}.*?year = \{(\d{4})\}", written, re.DOTALL)
    known = {(name, year) for authors, year in entries for name in re.findall(r"(\w+),", authors)}
    named: set[tuple[str, str]] = set()
    for path in (ROOT / "book").glob("*.ipynb"):
        pattern = r"\b([A-Z]\w+)(?: and [A-Z]\w+| et al\.),? \(?((?:19|20)\d\d)\b"
        named |= set(re.findall(pattern, sources.text(path)))
    assert len(named) >= 5
    assert sorted(named - known) == []
    assert {("Devlin", "2019"), ("Elhage", "2021")} <= known


@pytest.mark.book
@pytest.mark.timeout(900)
class TestBuilt:
    def test_a_paper_named_in_the_text_leads_to_its_entry(self, pages: Path) -> None:
        for name, page in (("05-scaling", "references.html"), ("references", "")):
            text = read(pages, name)
            found = re.search(rf'<a class="citation[^"]*" href="{page}#(id\d+)">Su et al', text)
            assert found, f"{name}: no link"
            assert re.search(rf'<li id="{found[1]}"><p>Jianlin Su', read(pages, "references"))

    def test_the_exercises_are_below_their_page(self, pages: Path) -> None:
        text = read(pages, "exercises")
        for slug in SLUGS:
            assert f'<a href="exercise-{slug}.html">' in text
            assert f'href="../exercises/{slug}/{slug}.zip" download' in text
        assert '<a href="05-scaling.html">5</a>' in text
        assert "exercise-head" not in read(pages, "references"), "shown where one of them is read"
        here = read(pages, "exercise-head")
        assert 'href="exercise-scaling.html"' in here
        assert re.search(r'href="#" aria-current="page"[^>]*>Exercise: one attention head', here)

    def test_an_exercise_page_has_its_downloads_and_its_chapter(self, pages: Path) -> None:
        text = read(pages, "exercise-head")
        assert '<a href="../exercises/head/head.zip" download>Notebook and package</a>' in text
        colab = "colab.research.google.com/github/owner/attention/blob/gh-pages/exercises/head/"
        assert f"https://{colab}head.ipynb" in text
        assert re.search(r'Goes with chapter 5, <a [^>]*href="05-scaling.html"', text)
        assert text.count('<details class="reveal hint">') == 3
        with zipfile.ZipFile(pages.parent / "exercises" / "head" / "head.zip") as archive:
            assert archive.namelist()[0] == "head.ipynb"

    def test_a_link_to_a_page_that_is_not_there_becomes_its_words(self, pages: Path) -> None:
        text = read(pages, "glossary")
        assert 'href="01-average.html">Chapter\N{NO-BREAK SPACE}1</a>' in text
        assert "10-gpt" not in text
        assert "Chapter\N{NO-BREAK SPACE}10" in text

    def test_the_deck_lies_beside_its_page(self, pages: Path) -> None:
        text = read(pages, "flashcards")
        assert f'<a href="{cards.DECK}" download>' in text
        with zipfile.ZipFile(pages / cards.DECK) as archive:
            assert "collection.anki2" in archive.namelist()
        heads = re.findall(r"<h2>([^<]+)", text)
        assert heads[:2] == ["The eleven: the encoder–decoder of 2017", "Front page: A front page"]
        assert text.count('<details class="card"') == sum(
            len(c.cards) for c in cards.chapters(pages.parents[2] / "book")
        )

    def test_every_reference_is_there_and_none_asks_a_host(self, pages: Path) -> None:
        text = read(pages, "references")
        for name in ("Devlin", "Elhage", "Vaswani", "Hochreiter", "Olsson"):
            assert name in text
        assert not re.search(r'(src|rel="stylesheet" href)="https?:', text)

    def test_the_licences_lie_where_the_colophon_says(self, pages: Path) -> None:
        for link in re.findall(r'href="(\.\./_static/vendor/[^"]+)"', read(pages, "colophon")):
            assert (pages / link).is_file(), link

    def test_hidden_tests_and_model_answers_are_nowhere_in_the_book(self, pages: Path) -> None:
        secret = hidden.hidden_lines(SLUGS) | hidden.answer_lines(SLUGS)
        assert len(secret) > 10
        assert hidden.said(pages.parents[1], secret) == []

    @pytest.mark.browser
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_they_fit_a_phone(self, pages: Path, browser: Any, scheme: str) -> None:
        view = {"width": 360, "height": 740}
        with Page(browser, viewport=view, color_scheme=scheme) as tab:
            for name in [*PAGES, "exercise-head"]:
                tab.page.goto(f"{pages.as_uri()}/{name}.html", wait_until="load")
                assert tab.page.evaluate("document.documentElement.scrollWidth") <= 360, name

    @pytest.mark.browser
    def test_cards_turn_with_the_keyboard(self, pages: Path, browser: Any) -> None:
        with Page(browser) as tab:
            tab.page.goto(f"{pages.as_uri()}/flashcards.html", wait_until="load")
            first = tab.page.locator("details.card").first
            back = first.locator(".card-back")
            assert not back.is_visible()
            first.locator("summary").focus()
            tab.page.keyboard.press("Enter")
            assert back.is_visible()
            tab.page.keyboard.press("Enter")
            assert not back.is_visible()
            tab.page.keyboard.press("ArrowDown")
            tab.page.keyboard.press("Enter")
            assert tab.page.locator("details.card").nth(1).locator(".card-back").is_visible()
            button = tab.page.get_by_role("button", name="Turn all cards")
            button.click()
            assert tab.page.locator("details.card:not([open])").count() == 0
            button.click()
            assert tab.page.locator("details.card[open]").count() == 0


@pytest.mark.book
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_instructor_s_copy_has_the_answers_and_no_hidden_test(appendices: Path) -> None:
    done = minibook.build(appendices, "--solutions")
    assert done.returncode == 0, done.stdout
    html = appendices / "_build" / "html"
    assert (html / "solutions" / "head" / "head.html").is_file()
    assert hidden.said(html, hidden.hidden_lines(SLUGS)) == []
    assert hidden.said(html / "solutions", hidden.answer_lines(SLUGS)) != []
    # and back: the reader's copy has no page left of it
    assert minibook.build(appendices).returncode == 0
    assert hidden.said(html, hidden.answer_lines(SLUGS)) == []
