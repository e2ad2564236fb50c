"""The page "speed" shows the results there are, says what is missing, and refuses half a result."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from docutils import nodes

from tests.book import minibook

from course_book import speed  # isort: skip

ROOT = Path(__file__).resolve().parents[2]


def result(name: str, value: float) -> dict:
    """A small whole result, as `python -m benchmarks` writes it."""
    goal = {"what": "all of it", "value": value, "unit": "s", "below": 2.0, "reached": value < 2.0}
    if value >= 2.0:
        goal["why"] = "everything is slow here"
    mine = {"median": value, "low": value - 0.1, "high": value + 0.1, "values": [value] * 3}
    row = {
        "work": "some work", "unit": "s", "better": "lower", "sides": {"course": mine},
        "goals": [goal], "details": {"% in products": 41.5}, "note": "",
    }  # fmt: skip
    return {
        "schema": 1, "comparison": name, "title": f"About {name}", "against": "a peer",
        "taken": "2031-02-03T04:05:06Z", "load_before": 0.1, "rounds": 3, "quick": False,
        "machine": {"cpu": "Abacus 9", "cores": 7, "threads": 7, "system": "Linux"},
        "versions": {"python": "3.11"}, "git": {"commit": "abcdef0123456", "dirty": False},
        "seconds": 1.0, "rows": [row], "notes": ["One note."],
    }  # fmt: skip


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A book whose only page beside the front page is the real one, with two results."""
    root = tmp_path_factory.mktemp("speed") / "book"
    minibook.make(
        root,
        "format: jb-book\nroot: book/intro\nparts:\n- caption: A\n  chapters:\n"
        "  - file: book/speed\n",
    )
    minibook.notebook(
        root / "book" / "intro.ipynb", minibook.md("# Front"), minibook.SETUP, minibook.PARAMETERS
    )
    shutil.copy(ROOT / "book" / "speed.md", root / "book")
    shutil.copytree(
        ROOT / "benchmarks",
        root / "benchmarks",
        ignore=shutil.ignore_patterns("__pycache__", "*.json"),
    )
    (root / "benchmarks" / "results").mkdir(exist_ok=True)
    for name, value in (("tokenizer", 1.25), ("generation", 3.75)):
        put(root, result(name, value))
    return root


def put(root: Path, made: dict) -> None:
    path = root / "benchmarks" / "results" / f"{made['comparison']}.json"
    path.write_text(json.dumps(made), encoding="utf-8")


def words(root: Path) -> str:
    """The page's text, without tags."""
    html = (root / "_build" / "html" / "book" / "speed.html").read_text(encoding="utf-8")
    main = html[html.index("<main") : html.index("</main")]
    return " ".join(re.sub(r"<[^>]+>", " ", main).split())


def test_it_shows_date_machine_goal_and_reason_and_what_is_missing(book: Path) -> None:
    done = minibook.build(book)
    assert done.returncode == 0, done.stdout[-3000:]
    said = words(book)
    assert "About tokenizer: some work; all of it 1.25 s below 2 s yes" in said
    assert "About generation: some work; all of it 3.75 s below 2 s no" in said
    assert "Short of the goal (some work): everything is slow here." in said
    assert "2031-02-03T04:05:06Z; Abacus 9, 7 cores" in said
    assert "not yet measured: python -m benchmarks training-step" in said
    assert "% in products 41.5" in said
    # a new result is a new page
    put(book, result("tokenizer", 1.5))
    put(book, result("start-up", 0.5))
    assert minibook.build(book).returncode == 0
    said = words(book)
    assert "About tokenizer: some work; all of it 1.5 s" in said
    assert "About start-up: some work; all of it 0.5 s" in said


def texts(table: nodes.table) -> list[list[str]]:
    return [[e.astext() for e in row.findall(nodes.entry)] for row in table.findall(nodes.row)]


def test_a_work_stands_over_its_sides() -> None:
    side = {"median": 2.0, "low": 1.0, "high": 3.0, "values": [1.0, 3.0]}
    peer = {"median": 4.0, "values": [4.0], "ratio": 2.0}
    works = [
        {
            "work": "writing",
            "unit": "s",
            "sides": {"course": side, "GPT2LMHeadModel.generate": peer},
        },
        {"work": "reading", "unit": "s", "sides": {"python -m course --help": peer}},
    ]
    table = speed.sides(works)
    assert texts(table) == [
        ["side", "median", "times ours"],
        ["writing, s"],
        ["course", "2 (1\xa0to\xa03)", ""],
        ["GPT2LMHeadModel.generate", "4", "2\xa0×"],
        ["reading, s"],
        ["python -m course --help", "4", "2\xa0×"],
    ]
    typed = [node.astext() for node in table.findall(nodes.literal)]
    assert typed == ["GPT2LMHeadModel.generate", "python -m course --help"]
    alone = speed.sides([{"work": "x", "unit": "ms", "sides": {"course": side}}])
    assert texts(alone) == [["work", "median"], ["x, ms", "2 (1\xa0to\xa03)"]]


def test_half_a_result_stops_the_build_and_is_named(book: Path) -> None:
    path = book / "benchmarks" / "results" / "tokenizer.json"
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole[: len(whole) // 2], encoding="utf-8")
    done = minibook.build(book)
    assert done.returncode != 0
    assert "tokenizer.json is not a result" in done.stdout
    path.write_text(whole, encoding="utf-8")
    assert minibook.build(book).returncode == 0
