"""Papers named in the text lead to the bibliography, and each of its entries is named somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docutils import nodes

from tests.book import sources
from tests.conftest import ROOT

from course_book import cite  # isort: skip

BIBLIOGRAPHY = ROOT / "book" / "references.bib"
# Not the book's chapters' own citations: guides that the page of references itself describes.
GUIDES = {"alammar2018", "rush2018", "karpathy2023"}


def pages() -> dict[str, str]:
    """What each page of the book says, without its code."""
    found = {p.name: p.read_text(encoding="utf-8") for p in (ROOT / "book").glob("*.md")}
    for path in (ROOT / "book").glob("*.ipynb"):
        found[path.name] = sources.text(path)
    return found


def test_every_entry_of_the_bibliography_is_named_in_the_book() -> None:
    known = cite.entries(BIBLIOGRAPHY)
    assert len(known) >= 20
    named = {key for text in pages().values() for _, key in cite.keys_in(text, known)}
    assert set(known.values()) - named - GUIDES == set()
    for family in ("Alammar", "Rush", "Karpathy"):
        assert family in pages()["references.md"]


def test_a_figure_or_an_equation_is_named_by_a_link_never_by_a_typed_number() -> None:
    typed = re.compile(r"\b(?:figures?|figs?\.|equations?|eqs?\.|tables?)\s+\(?\d", re.IGNORECASE)
    found = {name: typed.findall(text) for name, text in pages().items()}
    assert {name: said for name, said in found.items() if said} == {}


KNOWN = {("Su", "2021"): "su2021", ("Hendrycks", "2016"): "hendrycks2016"}
URIS = {"su2021": "references.html#id19", "hendrycks2016": "references.html#id9"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("as Su et al. (2021) do", ["Su et al. (2021)"]),
        ("it turns (Su et al. 2021).", ["Su et al. 2021"]),
        ("it turns (Su et al.\n2021).", ["Su et al.\n2021"]),
        ("Hendrycks and Gimpel (2016) and Su et al. (2021)",
         ["Hendrycks and Gimpel (2016)", "Su et al. (2021)"]),
        ("in March 2021, Su et al. (1999)", []),
    ],
)  # fmt: skip
def test_a_name_and_a_year_become_a_link(text: str, shown: list[str]) -> None:
    parts = cite.linked(text, KNOWN, URIS)
    assert "".join(part.astext() for part in parts) == text
    links = [part for part in parts if isinstance(part, nodes.reference)]
    assert [link.astext() for link in links] == shown
    assert all(link["refuri"] in URIS.values() for link in links)


def test_two_entries_that_the_text_could_mean_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "two.bib"
    entry = "@misc{{{}, author = {{Su, J. and Lu, Y.}}, year = {{2021}}}}\n"
    file.write_text(entry.format("su2021") + entry.format("su2021b"), encoding="utf-8")
    with pytest.raises(ValueError, match="su2021 and su2021b are both"):
        cite.entries(file)
    file.write_text("@misc{x, title = {No author}}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="x has no author or no year"):
        cite.entries(file)
