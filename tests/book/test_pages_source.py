"""What is changed between an executed notebook and its page."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docutils import nodes
from docutils.utils import new_document

from tests.book import minibook
from tests.book.minibook import code, md

from course_book import figure_numbers, keys, page, single, swap, toc  # isort: skip


def quiet(tmp_path: Path, *cells: minibook.Cell) -> list[dict]:
    path = minibook.notebook(tmp_path / "x.ipynb", md("# X"), *cells)
    return list(json.loads(swap.quiet(path.read_text(encoding="utf-8")))["cells"][1:])


def test_parameters_are_not_shown_and_imports_are_folded(tmp_path: Path) -> None:
    parameters, imports, idea, chosen = quiet(
        tmp_path,
        code("seed = 0", tags=["parameters"]),
        code("import torch\nfrom torch import nn\n\ntorch.manual_seed(0)"),
        code("import math\n\n\ndef f(x):\n    return math.exp(x)\n\n\nf(1)"),
        code("import torch", tags=["hide-input"]),
    )
    assert "remove-cell" in parameters["metadata"]["tags"]
    assert imports["metadata"]["tags"] == ["hide-cell"]
    assert idea["metadata"]["tags"] == []
    assert chosen["metadata"]["tags"] == ["hide-input"]


@pytest.mark.parametrize(("kind", "folded"), [("text/plain", True), ("text/html", False)])
def test_a_table_under_a_cell_of_imports_is_not_folded(
    tmp_path: Path, kind: str, folded: bool
) -> None:
    path = minibook.notebook(
        tmp_path / "x.ipynb", md("# X"), code("from course import table\n\ntable()")
    )
    data = json.loads(path.read_text(encoding="utf-8"))
    result = {"output_type": "execute_result", "data": {kind: "1"}, "metadata": {}}
    data["cells"][1]["outputs"] = [result]
    (cell,) = json.loads(swap.quiet(json.dumps(data)))["cells"][1:]
    assert ("hide-cell" in cell["metadata"]["tags"]) is folded


def test_a_model_answer_shows_neither_its_marks_nor_the_hidden_tests(tmp_path: Path) -> None:
    source = (
        "def f():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION\n"
        "assert f() == 1\n### BEGIN HIDDEN TESTS\nassert f() + f() == 2\n### END HIDDEN TESTS"
    )
    (cell,) = quiet(tmp_path, code(source))
    assert cell["source"] == "def f():\n    return 1\nassert f() == 1"


def test_model_answers_are_a_last_part(tmp_path: Path) -> None:
    minibook.notebook(tmp_path / "solutions" / "head" / "head.ipynb", md("# Head"))
    plain = {"format": "jb-book", "root": "book/intro", "parts": []}
    made = toc.with_answers(plain, tmp_path, ["head", "none"])
    assert made["parts"] == [
        {"caption": "Model answers", "chapters": [{"file": "solutions/head/head"}]}
    ]
    assert plain["parts"] == []
    assert toc.with_answers(plain, tmp_path, ["none"]) is plain


def test_a_result_worth_reading_is_not_folded_away(tmp_path: Path) -> None:
    path = minibook.notebook(tmp_path / "x.ipynb", md("# X"), code("from a import b\nb()"))
    data = json.loads(path.read_text(encoding="utf-8"))
    for kind, folded in (("text/html", False), ("text/plain", True)):
        data["cells"][1]["outputs"] = [{"output_type": "execute_result", "data": {kind: "x"}}]
        (cell,) = json.loads(swap.quiet(json.dumps(data)))["cells"][1:]
        assert ("hide-cell" in cell["metadata"]["tags"]) is folded


def test_the_authors_line_becomes_the_one_under_the_title() -> None:
    body = "<h1>T</h1>\n<p><em>Chapter 5 · 30 minutes to read, half a minute to run</em></p>\n<p>A"
    rest, times = page.authors_times(body)
    assert times == ["30 minutes to read", "half a minute to run"]
    assert rest == "<h1>T</h1>\n<p>A"
    assert page.authors_times("<p><em>Chapter of it</em></p>") == (
        "<p><em>Chapter of it</em></p>",
        [],
    )


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "a few seconds"), (34, "35 s"), (119, "2 min"), (600, "10 min")],
)
def test_running_times_are_said_as_people_say_them(seconds: float, said: str) -> None:
    assert page.running_time(seconds) == said


def test_links_between_pages_become_links_within_the_single_one() -> None:
    text = (
        '<article><h1><span class="section-number">Chapter 1</span> One</h1>'
        '<p id="a"><a href="#a">here</a> <a href="02-two.html#b">there</a> '
        '<a href="02-two.html">two</a> <a href="https://example.org/x">away</a></p></article>'
    )
    made = single.article(text, "book/01-one", {"book/01-one", "book/02-two"})
    assert made.startswith('<details class="chapter" id="p-01-one">\n<summary>Chapter 1: One<')
    assert 'id="p-01-one-a"' in made
    for link in ("#p-01-one-a", "#p-02-two-b", "#p-02-two", "https://example.org/x"):
        assert f'href="{link}"' in made
    with pytest.raises(ValueError, match="has no <article>"):
        single.article("<p>", "book/x", set())


def test_what_a_notebook_reads_beside_it_counts_as_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger counts the flash cards: a new card makes its executed copy old."""
    monkeypatch.setenv(keys.PACKAGE_KEY_VARIABLE, "same")
    path = minibook.notebook(tmp_path / "book" / "x.ipynb", md("# A page"))
    alone = keys.notebook_keys(path, tmp_path)
    data = json.loads(path.read_text(encoding="utf-8"))
    data["metadata"]["course_book"] = {"reads": ["cards", "other.md"]}
    path.write_text(json.dumps(data), encoding="utf-8")
    (tmp_path / "book" / "cards").mkdir()
    card = tmp_path / "book" / "cards" / "a.toml"
    card.write_text("one", encoding="utf-8")
    first = keys.notebook_keys(path, tmp_path)
    card.write_text("two", encoding="utf-8")
    second = keys.notebook_keys(path, tmp_path)
    (tmp_path / "book" / "other.md").write_text("now there", encoding="utf-8")
    third = keys.notebook_keys(path, tmp_path)
    found = [k["source"] for k in (alone, first, second, third)]
    assert len(set(found)) == 4
    claims = json.loads((minibook.REPOSITORY / "book" / "claims.ipynb").read_text("utf-8"))
    assert "cards" in claims["metadata"]["course_book"]["reads"]


def test_a_notice_is_a_sentence_with_its_command_as_code() -> None:
    assert page.with_code("No text & `a -b` <helps>.") == (
        "No text &amp; <code>a -b</code> &lt;helps&gt;."
    )


def test_a_page_is_described_by_its_first_paragraph_not_by_its_reading_time() -> None:
    doctree = new_document("a page")
    first = "A language model reads a text and says what comes next, and so on for long."
    length = "Chapter 4 · 30 minutes to read, half a minute to run on two cores"
    for text in (length, "Goes with chapter 5, the one about the root that divides the scores."):
        note = nodes.paragraph()
        note += nodes.emphasis(text, text)
        doctree += note
    doctree += nodes.paragraph(first, first)
    assert page.description(doctree) == first


def test_figures_of_a_page_without_a_number_are_counted_on_the_page() -> None:
    environment: Any = SimpleNamespace(
        toc_fignumbers={
            "intro": {"figure": {"a": (1,), "b": (2,)}},
            "one": {"figure": {"c": (1, 1), "d": (1, 2)}},
            "museum": {"figure": {"f": (4,), "e": (3,)}},
        }
    )
    figure_numbers.by_page(None, environment)  # type: ignore[arg-type]
    found = environment.toc_fignumbers
    assert found["museum"]["figure"] == {"e": (1,), "f": (2,)}
    assert found["intro"]["figure"] == {"a": (1,), "b": (2,)}
    assert found["one"]["figure"] == {"c": (1, 1), "d": (1, 2)}
