"""What of the exercises no learner may read, and whether a built book says it."""

from __future__ import annotations

import html
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tests.book import minibook, sources

ROOT = minibook.REPOSITORY
_HIDDEN = re.compile(r"### BEGIN HIDDEN TESTS\n(.*?)### END HIDDEN TESTS", re.DOTALL)
_ANSWER = re.compile(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.DOTALL)
TEXT = {".html", ".js", ".json", ".txt", ".ipynb", ".md", ".py", ".css", ".inv", ".svg"}
# shorter lines are said by chance
SHORTEST = 24


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _lines(pattern: re.Pattern[str], slugs: list[str]) -> set[str]:
    found: set[str] = set()
    for slug in slugs:
        path = ROOT / "solutions" / slug / f"{slug}.ipynb"
        for cell in sources.cells(path):
            for region in pattern.findall(sources.source(cell) + "\n"):
                found |= {_squeezed(line) for line in region.splitlines()}
    # what the release, the package and the chapters say anyway is nobody's secret
    known = [*(ROOT / "exercises").rglob("*.ipynb"), *(ROOT / "book").glob("*.ipynb")]
    texts = ["".join(sources.source(c) + "\n" for c in sources.cells(p)) for p in known]
    prose = [*(ROOT / "course").rglob("*.py"), *(ROOT / "book").glob("*.md")]
    texts += [p.read_text(encoding="utf-8") for p in prose]
    public = _squeezed("\n".join(texts))
    return {line for line in found if len(line) >= SHORTEST and line not in public}


def hidden_lines(slugs: list[str]) -> set[str]:
    """Lines of the hidden tests of these assignments, without their spaces."""
    return _lines(_HIDDEN, slugs)


def answer_lines(slugs: list[str]) -> set[str]:
    """Lines of the model answers that stand nowhere else, without their spaces."""
    return _lines(_ANSWER, slugs)


def _texts(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in TEXT:
            text = path.read_text(encoding="utf-8", errors="replace")
            yield path.name, text
            if path.suffix == ".html":
                yield path.name, html.unescape(re.sub(r"<[^>]+>", "", text))
            if path.suffix in (".ipynb", ".json"):
                yield path.name, text.encode().decode("unicode_escape", errors="replace")
        elif path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    if Path(name).suffix in TEXT:
                        yield f"{path.name}: {name}", archive.read(name).decode("utf-8")


def said(folder: Path, lines: set[str]) -> list[tuple[str, str]]:
    """(file, line) wherever a file below ``folder`` has one of ``lines``."""
    assert lines, "there is nothing to look for"
    found = []
    for name, text in _texts(folder):
        squeezed = _squeezed(text)
        plain = _squeezed(text.replace('\\"', '"').replace("\\n", "\n"))
        found += [(name, line) for line in lines if line in squeezed or line in plain]
    return found
