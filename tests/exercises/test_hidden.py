"""No hidden test text in what learners get: the release, the package, the book's pages."""

from __future__ import annotations

import html
import json
import re
import subprocess
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from course.checks import registry
from tests.exercises.hidden import ROOT, hidden_lines

PAGES = ROOT / "_build" / "html"


def spilled(texts: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Where a hidden line stands, in whichever way it is escaped or spread over tags."""
    lines = hidden_lines()
    found = []
    for name, text in texts:
        ways = [text, html.unescape(re.sub(r"<[^>]+>", "", text))]
        if name.endswith(".ipynb"):
            ways.append("\n".join("".join(c["source"]) for c in json.loads(text)["cells"]))
        found += [(name, line) for line in lines if any(line in way for way in ways)]
    return found


def tracked(folder: str) -> list[Path]:
    command = ["git", "ls-files", "-z", folder]
    out = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in out.split("\0") if name and (ROOT / name).is_file()]


def texts(paths: Iterable[Path]) -> Iterable[tuple[str, str]]:
    for path in paths:
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8", errors="replace")


def test_every_exercise_has_hidden_tests_of_its_own():
    for slug in registry.SLUGS:
        assert hidden_lines(slug), slug


def test_the_search_finds_what_it_looks_for():
    line = sorted(hidden_lines())[0]
    spread = "".join(f"<span>{html.escape(c)}</span>" for c in line)
    notebook = json.dumps({"cells": [{"source": ["x = 1\n", line]}]})
    for name, text in (("a.py", line), ("a.html", f"<pre>{spread}</pre>"), ("a.ipynb", notebook)):
        assert spilled([(name, text)]) == [(name, line)], name


@pytest.mark.parametrize("folder", ["exercises", "course", "book"])
def test_no_hidden_test_is_in(folder):
    """``course`` is what the wheel is made of (tests/packaging holds it to these files)."""
    files = tracked(folder)
    assert files
    assert spilled(texts(files)) == []


@pytest.mark.book
def test_no_hidden_test_is_on_a_page_of_the_book_or_in_a_download():
    if not (PAGES / "index.html").is_file():
        pytest.fail("the book is not built: `make book`", pytrace=False)
    read = {".html", ".js", ".json", ".ipynb", ".txt", ".md", ".py", ".svg"}
    assert spilled(texts(p for p in PAGES.rglob("*") if p.suffix in read and p.is_file())) == []
    archives = list(PAGES.rglob("*.zip"))
    for path in archives:
        with zipfile.ZipFile(path) as archive:
            inside = [(n, archive.read(n).decode("utf-8", "replace")) for n in archive.namelist()]
        assert spilled(inside) == [], path.name
