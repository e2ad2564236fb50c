"""``_toc.yml``: the curriculum's order, with the pages that exist.

``python book/_ext/course_book/toc.py`` writes it; a test compares it with the files of ``book/``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

ROOT_DOC = "book/intro"
# (caption, numbered, names in order)
PARTS: tuple[tuple[str, bool, tuple[str, ...]], ...] = (
    (
        "From an average to a block",
        True,
        (
            "01-average",
            "02-masked-matmul",
            "03-softmax",
            "04-qkv",
            "05-scaling",
            "06-heads",
            "07-block",
        ),
    ),
    (
        "From a block to a model",
        True,
        ("08-positions", "09-cost", "10-gpt", "11-encoder-decoder", "12-what-a-head-does"),
    ),
    (
        "Beside the text",
        False,
        (
            "notation",
            "claims",
            "bug-museum",
            "flashcards",
            "exercises",
            "glossary",
            "references",
            "api",
            "speed",
            "instructors",
            "red-team",
            "colophon",
        ),
    ),
)
# Page → the pages below it, which the sidebar shows where one of them is read.
BELOW: dict[str, tuple[str, ...]] = {
    "exercises": (
        "exercise-average",
        "exercise-masked-matmul",
        "exercise-softmax",
        "exercise-qkv",
        "exercise-scaling",
        "exercise-head",
        "exercise-heads",
        "exercise-block",
        "exercise-positions",
        "exercise-cost",
        "exercise-gpt",
        "exercise-encoder-decoder",
        "exercise-what-a-head-does",
    ),
}
_HEAD = """\
# Written by `python book/_ext/course_book/toc.py`: the curriculum's order, the pages that exist.
"""


def documents(root: Path) -> set[str]:
    """Names of the pages in ``book/``, without their endings."""
    return {p.stem for ending in ("ipynb", "md") for p in (root / "book").glob(f"*.{ending}")}


def _entry(name: str, present: set[str]) -> dict[str, Any]:
    below = [{"file": f"book/{n}"} for n in BELOW.get(name, ()) if n in present]
    return {"file": f"book/{name}", **({"sections": below} if below else {})}


def table(root: Path) -> dict[str, Any]:
    """The table of contents of what exists.

    Raises
    ------
    ValueError
        If a page exists that has no place in the order, or the front page does not exist.
    """
    present = documents(root)
    if "intro" not in present:
        raise ValueError("book/intro is missing: it is the front page")
    known = {name for _, _, names in PARTS for name in names} | {"intro"}
    known |= {name for names in BELOW.values() for name in names}
    if present - known:
        extra = ", ".join(sorted(present - known))
        raise ValueError(f"pages with no place in book/_ext/course_book/toc.py: {extra}")
    parts = []
    for caption, numbered, names in PARTS:
        chapters = [_entry(name, present) for name in names if name in present]
        if chapters:
            part: dict[str, Any] = {"caption": caption, "chapters": chapters}
            if numbered:
                part["numbered"] = 1
            parts.append(part)
    toc: dict[str, Any] = {"format": "jb-book", "root": ROOT_DOC}
    if parts:
        toc["parts"] = parts
    return toc


ANSWERS = "Model answers"
ANSWERS_FILE = Path("_build") / "toc-with-answers.yml"


def with_answers(toc: dict[str, Any], root: Path, slugs: list[str]) -> dict[str, Any]:
    """``toc`` with the model answers of these assignments as a last part, for an instructor."""
    names = [f"solutions/{s}/{s}" for s in slugs if (root / f"solutions/{s}/{s}.ipynb").is_file()]
    answers = {"caption": ANSWERS, "chapters": [{"file": name} for name in names]}
    return {**toc, "parts": [*toc.get("parts", []), answers]} if names else toc


def as_yaml(toc: dict[str, Any]) -> str:
    return _HEAD + yaml.safe_dump(toc, sort_keys=False, allow_unicode=True)


def listed(root: Path, toc_file: Path | str = "_toc.yml") -> list[str]:
    """The pages that a table of contents lists, in order, the front page first.

    Raises
    ------
    ValueError
        If the file is not a table of contents of Jupyter Book.
    """
    toc = yaml.safe_load((root / toc_file).read_text(encoding="utf-8"))
    if not isinstance(toc, dict) or toc.get("format") != "jb-book" or "root" not in toc:
        raise ValueError(f"{toc_file} is not a table of contents (format: jb-book, with a root)")
    parts = toc.get("parts") or [{"chapters": toc.get("chapters", [])}]
    chapters = [c for part in parts for c in part["chapters"]]
    return [toc["root"], *(e["file"] for c in chapters for e in (c, *c.get("sections", [])))]


def notebooks_of(root: Path, toc_file: Path | str = "_toc.yml") -> list[Path]:
    """The notebooks among the pages that a table of contents lists."""
    paths = (root / f"{name}.ipynb" for name in listed(root, toc_file))
    return [path for path in paths if path.is_file()]


def main() -> None:
    root = Path(__file__).resolve().parents[3]
    sys.path.insert(0, str(root))
    from course.files import atomic_write_text

    text = as_yaml(table(root))
    atomic_write_text(root / "_toc.yml", text)
    print(text, end="")


if __name__ == "__main__":
    main()
