"""What a reader takes along: each notebook with its set-up cell filled in, and the package.

For every notebook ``book/x`` the built book has, beside ``book/x.html``: ``book/x.ipynb`` (no
outputs), and ``book/x.zip`` with that notebook and the wheel: unpacked anywhere, it runs.
"""

from __future__ import annotations

import ast
import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import setup_cell

from course_book.wheel import build_wheel

REPOSITORY_VARIABLE = "COURSE_REPOSITORY_URL"
BOOK_VARIABLE = "COURSE_BOOK_URL"
# The branch on which the built book is published; the notebooks on it know where the wheel is.
BRANCH_VARIABLE = "COURSE_PAGES_BRANCH"
DEFAULT_BRANCH = "gh-pages"


@dataclass(frozen=True)
class Address:
    """Where the book and its repository are on the web; empty where that is not configured."""

    repository: str = ""
    book: str = ""
    branch: str = DEFAULT_BRANCH

    def wheel(self, name: str) -> str:
        """What ``pip install`` can be given: the wheel in the book, else the repository."""
        if self.book:
            return f"{self.book.rstrip('/')}/book/{name}"
        if self.repository:
            return f"git+{self.repository.rstrip('/').removesuffix('.git')}.git"
        return ""

    def colab(self, path: str) -> str:
        """Address that opens ``book/x.ipynb`` in Colab; empty with no repository on GitHub."""
        parts = urlsplit(self.repository)
        if parts.netloc != "github.com":
            return ""
        owner = parts.path.strip("/").removesuffix(".git")
        return f"https://colab.research.google.com/github/{owner}/blob/{self.branch}/{path}"


def configured(repository: str, book: str, branch: str) -> Address:
    """The address from ``_config.yml``; the environment wins.

    Raises
    ------
    ValueError
        If an address is not http(s).
    """
    found = Address(
        os.environ.get(REPOSITORY_VARIABLE, repository).strip(),
        os.environ.get(BOOK_VARIABLE, book).strip(),
        os.environ.get(BRANCH_VARIABLE, branch).strip() or DEFAULT_BRANCH,
    )
    for name, value in (("repository", found.repository), ("book", found.book)):
        if value and urlsplit(value).scheme not in ("http", "https"):
            raise ValueError(f"the {name}'s address must begin with https://, not {value!r}")
    return found


def exercises(root: Path) -> dict[str, list[str]]:
    """Chapter → its assignments, of those that ``exercises/`` holds.

    Read from the text of the registry: importing it would load PyTorch.
    """
    registry = root / "course" / "checks" / "registry.py"
    if not registry.is_file():
        return {}
    found: dict[str, list[str]] = {}
    for node in ast.parse(registry.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.AnnAssign) or ast.unparse(node.target) != "SLUGS":
            continue
        for slug, chapter in ast.literal_eval(ast.unparse(node.value or ast.Dict([], []))).items():
            if exercise_path(root, slug).is_file():
                found.setdefault(chapter, []).append(slug)
    return found


def exercise_path(root: Path, slug: str) -> Path:
    """The released notebook of an assignment."""
    return root / "exercises" / slug / f"{slug}.ipynb"


def for_download(notebook: Path, wheel_url: str) -> str:
    """The committed notebook with ``wheel_url`` in its set-up cell, as JSON text.

    Raises
    ------
    ValueError
        If it has no set-up cell, or one that is not the common one.
    """
    data = json.loads(notebook.read_text(encoding="utf-8"))
    cells = [c for c in data["cells"] if "setup" in c["metadata"].get("tags", [])]
    if len(cells) != 1:
        raise ValueError(f"{notebook}: {len(cells)} cells are tagged `setup`, there must be one")
    try:
        filled = setup_cell.fill("".join(cells[0]["source"]), wheel_url)
    except ValueError as error:
        raise ValueError(f"{notebook}: {error}") from error
    cells[0]["source"] = filled.rstrip("\n").splitlines(keepends=True)
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def write_downloads(notebooks: list[Path], root: Path, out: Path, address: Address) -> None:
    """Write notebook, archive and wheel for each of ``notebooks`` below ``out``."""
    if not notebooks:
        return
    wheel = build_wheel(root)
    folders = set()
    for notebook in notebooks:
        relative = notebook.relative_to(root)
        target = out / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        text = for_download(notebook, address.wheel(wheel.name))
        target.write_text(text, encoding="utf-8")
        if target.parent not in folders:
            folders.add(target.parent)
            for old in target.parent.glob("attention_from_average-*.whl"):
                old.unlink()
            (target.parent / wheel.name).write_bytes(wheel.read_bytes())
        with zipfile.ZipFile(target.with_suffix(".zip"), "w", zipfile.ZIP_DEFLATED) as archive:
            # a fixed date: the same content is the same file
            archive.writestr(zipfile.ZipInfo(notebook.name), text, zipfile.ZIP_DEFLATED)
            archive.writestr(zipfile.ZipInfo(wheel.name), wheel.read_bytes())
