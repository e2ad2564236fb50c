"""Formulas and figures have numbers and the text leads to them; sources are plain Markdown."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.book import sources
from tests.conftest import ROOT

from course_book import crossref  # isort: skip

CHAPTERS = sorted(ROOT.glob("book/[0-9][0-9]-*.ipynb"))
NOTEBOOKS = sorted(ROOT.glob("book/*.ipynb"))


def named(path: Path) -> list[str]:
    """What a notebook has numbered: its formulas with a name, its figures."""
    metadata = [cell["metadata"] for cell in sources.cells(path)]
    figures = [m.get("mystnb", {}).get("figure", {}).get("name") for m in metadata]
    formulas = [match["label"] for match in crossref.NAMED_FORMULA.finditer(sources.text(path))]
    return [*formulas, *filter(None, figures)]


def test_a_named_formula_gets_a_label_and_links_become_numbers() -> None:
    source = (
        "$$\na = b\n% eq-same\n$$\n\nSee [the formula](#eq-same), [there](02-x.ipynb#eq-it), "
        "[the line](#fig-line) and [chapter 2](02-x.ipynb#the-end)."
    )
    assert crossref.numbered(source) == (
        "$$\na = b\n$$ (eq-same)\n\nSee the formula {eq}`eq-same`, there {eq}`eq-it`, "
        "the line ({numref}`fig-line`) and [chapter 2](02-x.ipynb#the-end)."
    )


def test_names_are_given_once_in_the_whole_book() -> None:
    counts = Counter(name for path in NOTEBOOKS for name in named(path))
    assert [name for name, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_link_leads_to_something_numbered(path: Path) -> None:
    for match in crossref.LINK.finditer(sources.text(path)):
        file = re.search(r"\(([\w.-]*)#", match[0])[1]
        target = ROOT / "book" / file if file else path
        assert match["label"] in named(target), f"{match[0]}: {target.name} has {named(target)}"


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_numbers_its_formulas_and_speaks_of_its_figures(path: Path) -> None:
    kinds = Counter(name.split("-")[0] for name in named(path))
    assert kinds["eq"] >= 1
    assert kinds["fig"] >= 1
    assert crossref.LINK.search(sources.text(path)), "no link to a numbered formula or figure"


@pytest.mark.book
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_the_page_shows_numbers_and_no_role(path: Path) -> None:
    page = ROOT / "_build" / "html" / "book" / f"{path.stem}.html"
    if not page.is_file():
        pytest.fail("the book is not built: `make book`", pytrace=False)
    text = page.read_text(encoding="utf-8")
    number = int(path.stem[:2])
    formulas = sum(name.startswith("eq-") for name in named(path))
    shown = re.findall(rf'class="eqno">\({number}\.(\d+)\)', text)
    assert shown == [str(n) for n in range(1, formulas + 1)]
    assert not re.search(r"\{(?:eq|numref)\}|% eq-|\[[^\]]+\]\(#", text)
    others = {int(n) for n in re.findall(r'class="chapter[^"]*" href="(\d\d)-', text)} - {number}
    assert others, "no word leads to another chapter"
