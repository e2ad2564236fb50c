"""The notebooks as committed: no outputs, small cells, the common cells, a place in the book."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.book import minibook
from tests.book.sources import code_cells, load, source

from course_book import toc  # isort: skip
from setup_cell import SETUP_CELL  # isort: skip

ROOT = minibook.REPOSITORY
CHAPTERS = sorted((ROOT / "book").glob("*.ipynb"))
EXERCISES = sorted([*(ROOT / "exercises").rglob("*.ipynb"), *(ROOT / "solutions").rglob("*.ipynb")])
SHORT, DEFINING = 12, 25


def tags(cell: dict[str, Any]) -> list[str]:
    return list(cell["metadata"].get("tags", []))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_there_are_notebooks() -> None:
    assert CHAPTERS
    assert EXERCISES


@pytest.mark.parametrize("path", [*CHAPTERS, *EXERCISES], ids=name)
def test_committed_without_outputs(path: Path) -> None:
    notebook = load(path)
    for cell in code_cells(path):
        assert cell["outputs"] == []
        assert cell["execution_count"] is None
    assert "widgets" not in notebook["metadata"]
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("path", [*CHAPTERS, *EXERCISES], ids=name)
def test_the_set_up_cell_is_the_common_one_and_the_first(path: Path) -> None:
    cells = code_cells(path)
    assert "setup" in tags(cells[0])
    assert [source(c).strip() for c in cells if "setup" in tags(c)] == [SETUP_CELL.strip()]


@pytest.mark.parametrize("path", CHAPTERS, ids=name)
def test_parameters_are_the_common_ones(path: Path) -> None:
    (cell,) = [c for c in code_cells(path) if "parameters" in tags(c)]
    values: dict[str, Any] = {}
    exec(source(cell), values)
    common = {k: values[k] for k in ("budget", "device", "seed")}
    assert common == {"budget": "quick", "device": "auto", "seed": 0}


def length(cell: dict[str, Any]) -> int:
    """Lines a reader has to think about: not the empty ones, and not the imports."""
    lines = [line for line in source(cell).splitlines() if line.strip()]
    return sum(not re.match(r"(import|from) ", line) for line in lines)


@pytest.mark.parametrize("path", CHAPTERS, ids=name)
def test_cells_are_short(path: Path) -> None:
    long = {c["id"]: length(c) for c in code_cells(path) if length(c) > SHORT}
    assert all(lines <= DEFINING for lines in long.values()), long
    assert len(long) <= 1, f"only the cell that defines the chapter's idea may be long: {long}"


@pytest.mark.parametrize("path", CHAPTERS, ids=name)
def test_a_chapter_opens_with_its_title_and_hides_its_machinery(path: Path) -> None:
    cells = load(path)["cells"]
    assert cells[0]["cell_type"] == "markdown"
    first = source(cells[0]).splitlines()[0]
    assert first.startswith("# ")
    assert "$" not in first, "no mathematics in a page's title"
    for cell in cells:
        if "setup" in tags(cell):
            assert "remove-cell" in tags(cell)
        text = source(cell)
        if cell["cell_type"] == "code":
            assert "tqdm.auto" not in text, "leaves dead widgets in a static page"


@pytest.mark.parametrize("path", CHAPTERS, ids=name)
def test_a_figure_says_in_words_what_it_shows(path: Path) -> None:
    for cell in code_cells(path):
        alt = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt", "")
        if re.search(r"\bplt\.(show|subplots|figure)\(|\bdraw_|\bfigure_", source(cell)):
            # a cell that only computes has no figure; the build warns of any image without words
            assert alt == "" or len(alt.split()) >= 5, (cell["id"], alt)


def test_the_table_of_contents_lists_every_page_there_is() -> None:
    listed = toc.listed(ROOT)
    assert sorted(listed) == sorted(f"book/{n}" for n in toc.documents(ROOT))
    text = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    assert text == toc.as_yaml(toc.table(ROOT)), "python book/_ext/course_book/toc.py writes it"


@pytest.mark.parametrize(
    ("names", "said"),
    [(["01-average.md"], "book/intro is missing"), (["intro.md", "99-new.md"], "99-new")],
)
def test_a_page_without_a_place_is_named(tmp_path: Path, names: list[str], said: str) -> None:
    (tmp_path / "book").mkdir()
    for file in names:
        (tmp_path / "book" / file).write_text("# A page\n", encoding="utf-8")
    with pytest.raises(ValueError, match=said):
        toc.table(tmp_path)
