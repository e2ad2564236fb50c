"""A measured number reaches a page only through a record: none is typed into prose or code.

Two checks.  No figure of any committed record stands as a literal in what pages are made of.  And
every decimal, percentage and large number in the prose is accounted for: it is one of the published
figures in the ledger, or `typed_numbers.toml` says what it is (a definition, a setting, a count).
"""

from __future__ import annotations

import ast
import math
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from course.claims.ledger import claims
from course.experiments import load_records
from course.experiments.registry import EXPERIMENTS
from tests.book import sources

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = Path(__file__).with_name("typed_numbers.toml")
# Colours of letters in formulas, addresses, versions and words of code are no numbers.
NO_NUMBER = re.compile(r"#[0-9a-fA-F]{6}|\]\([^)]*\)|https?://\S+|\b(?:\d+\.){2,}\d+\b|`[^`]*`")
NUMBER = re.compile(
    r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:\s?%| per cent)|"  # a share
    r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d*\.\d+)(?!\w|[.,]\d)"  # a decimal, thousands
)


def tokens(text: str) -> set[str]:
    """The decimals, percentages and numbers in thousands of a text, one way of writing each."""
    found = NUMBER.findall(NO_NUMBER.sub(" ", text))
    return {re.sub(r"\s|per cent", "", one.replace(" per cent", "%")) for one in found}


def strings(code: str) -> Iterator[str]:
    """Every string literal of Python code, the fixed parts of f-strings without their formats."""
    nodes = [ast.parse(code)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        if isinstance(node, ast.FormattedValue):
            nodes.append(node.value)
        else:
            nodes.extend(ast.iter_child_nodes(node))


def leaves(value: object) -> Iterator[str]:
    """Every string in nested tables and lists."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from leaves(part)


def prose() -> Iterator[tuple[str, str]]:
    """(where, text) of everything a reader of the book reads as sentences."""
    notebooks = [*ROOT.glob("book/*.ipynb"), *ROOT.glob("solutions/*/*.ipynb")]
    for path in sorted(notebooks):
        for cell in sources.cells(path):
            text = "".join(cell["source"])
            yield path.name, text if cell["cell_type"] == "markdown" else ""
            yield path.name, "\n".join(leaves(cell["metadata"]))
            if cell["cell_type"] == "code" and "reveal" in text:
                yield path.name, "\n".join(strings(text))
    for path in sorted(ROOT.glob("book/*.md")):
        yield path.name, path.read_text(encoding="utf-8")
    for path in sorted([*ROOT.glob("book/cards/*.toml"), *ROOT.glob("course/widgets/*/*.toml")]):
        yield path.name, "\n".join(leaves(tomllib.loads(path.read_text(encoding="utf-8"))))


def code() -> Iterator[tuple[str, str]]:
    """(where, text) of what draws and computes on the pages."""
    for path in sorted(ROOT.glob("book/*.ipynb")):
        for cell in sources.cells(path):
            if cell["cell_type"] == "code":
                yield path.name, "".join(cell["source"])
    for pattern in ("course/figures/*.py", "course/widgets/**/*.py", "course/widgets/**/*.js"):
        for path in sorted(ROOT.glob(pattern)):
            yield path.name, path.read_text(encoding="utf-8")
    yield "README.md", (ROOT / "README.md").read_text(encoding="utf-8")


@cache
def published() -> set[str]:
    """Every figure of the references, as the ledger and the experiments' rows have them."""

    found = set()
    for claim in claims():
        found |= tokens(f"{claim.published} {claim.check} {claim.statement} {claim.ours}")
    for experiment in EXPERIMENTS.values():
        for row in experiment.rows:
            found |= {form for value in row.published.values() for form in written(float(value))}
    return found


def digits_of(form: str) -> int:
    """Significant digits of a number as it is written."""
    return len(re.sub(r"\D", "", form).strip("0"))


def written(value: float) -> set[str]:
    """The ways to write a measured number, of three digits on."""
    forms = set()
    for digits in (1, 2, 3):
        for form in (f"{value:.{digits}f}", f"{value:,.{digits}f}", f"{100 * value:.{digits}f}%"):
            if digits_of(form) >= 3:
                forms.add(form.lstrip("-"))
    return forms


@cache
def measured() -> dict[str, str]:
    """Every recorded figure and mean as it might be typed, and which it is."""
    found = {}
    for name in EXPERIMENTS:
        for row in load_records(name):
            for metric in {key for record in row.records for key in record.metrics}:
                stat = row[metric]
                for value in (*stat.values, stat.mean):
                    if math.isfinite(value) and value != int(value):
                        found |= dict.fromkeys(written(value), f"{name}/{row.name}: {metric}")
    return found


@cache
def allowed() -> dict[str, dict[str, str]]:
    return tomllib.loads(ALLOWED.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from 1,024 to 37.48 and back", {"1,024", "37.48"}),
        (r"{\color{#0f766e}{k}} of 2017, 256 rows", set()),
        ("99.4 % of rows, 5 per cent", {"99.4%", "5%"}),
        ("the row .306 .373 .321.", {".306", ".373", ".321"}),
        ("[chapter](07-block.ipynb#0.5), version 1.2.3", set()),
    ],
)
def test_numbers_are_found_in_a_text(text: str, found: set[str]) -> None:
    assert tokens(text) == found


def test_no_recorded_figure_is_typed() -> None:
    assert measured(), "no record has a figure: this test looks at nothing"
    known = published() | {number for part in allowed().values() for number in part}
    # In code three digits are often a place in a picture, and some record has had them by chance.
    looked = [(where, text, 3) for where, text in prose()] + [(*one, 4) for one in code()]
    typed = [
        f"{where}: {number} ({measured()[number]})"
        for where, text, least in looked
        for number in sorted(tokens(text) & measured().keys() - known)
        if digits_of(number) >= least
    ]
    assert not typed, "load it from its record:\n" + "\n".join(typed)


def test_every_number_in_the_prose_is_accounted_for() -> None:
    unknown, used = set(), defaultdict(set)
    for where, text in prose():
        for number in tokens(text):
            if number in allowed().get(where, {}):
                used[where].add(number)
            elif number not in published():
                unknown.add(f"{where}: {number}")
    assert not unknown, f"measured? load it; else say in {ALLOWED.name} what it is:\n" + "\n".join(
        sorted(unknown)
    )
    idle = [
        f"{where}: {number}"
        for where, part in allowed().items()
        for number in part
        if number not in used[where]
    ]
    assert not idle, f"no longer in the prose, {ALLOWED.name} still has it:\n" + "\n".join(idle)
