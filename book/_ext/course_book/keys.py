"""What an executed copy depends on, as hashes, and where it lies.

A notebook is run again when the notebook, the package, the pins, the Python, the parameters or
the corpus differ from those of its executed copy, which carries these keys in its metadata.
The runner compares all of them; a build by hand (``jupyter-book build .``) knows no parameters
and no corpus, and compares those it can.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

NAMESPACE = "course_book"  # our key in a notebook's metadata
# Set by build.py for the processes it starts.
PACKAGE_KEY_VARIABLE = "COURSE_BOOK_PACKAGE_KEY"
# What no notebook can reach: the grading side and the command line lie above everything else.
_NOT_USED = {"__pycache__", "grading", "__main__.py"}
# Changes here change what an executed copy looks like.
_RUNNER = ("clean.py", "run_one.py")


def file_hash(*paths: Path) -> str:
    """SHA-256 over the bytes of files, 16 hex digits; a missing file counts as such."""
    digest = hashlib.sha256()
    for path in paths:
        data = path.read_bytes() if path.is_file() else b"(missing)"
        digest.update(f"{path.name} {len(data)} ".encode() + data)
    return digest.hexdigest()[:16]


def tree_hash(files: Iterable[Path], root: Path) -> str:
    """SHA-256 over names (relative to ``root``) and contents, 16 hex digits."""
    digest = hashlib.sha256()
    for path in sorted(files):
        data = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()} {len(data)} ".encode() + data)
    return digest.hexdigest()[:16]


def files_below(folder: Path, skip: set[str]) -> list[Path]:
    """All files below ``folder``, but for those with a part of their name in ``skip``."""
    return [
        p
        for p in folder.rglob("*")
        if p.is_file()
        and not skip & set(p.relative_to(folder).parts)
        and not p.name.startswith(".")
    ]


@cache
def package_key(root: Path) -> str:
    """Hash of ``course/`` (sources, scripts, records), the pins, the runner and the Python.

    While a build runs it is what it was when the build began: an edit meanwhile belongs to the
    next build.
    """
    begun = os.environ.get(PACKAGE_KEY_VARIABLE)
    if begun:
        return begun
    own = Path(__file__).parent
    files = tree_hash(files_below(root / "course", _NOT_USED), root)
    pins = file_hash(root / "constraints.txt", *(own / name for name in _RUNNER))
    return f"{files}-{pins}-{sys.version_info.major}.{sys.version_info.minor}"


def _reads(notebook: Path) -> list[str]:
    """Files and folders beside a notebook that its cells read, as its metadata names them."""
    metadata = json.loads(notebook.read_text(encoding="utf-8")).get("metadata", {})
    return list(metadata.get(NAMESPACE, {}).get("reads", []))


def _files(path: Path) -> list[Path]:
    return sorted(files_below(path, set())) if path.is_dir() else [path]


def notebook_keys(
    notebook: Path,
    root: Path,
    parameters: Mapping[str, Any] | None = None,
    corpus: str | None = None,
) -> dict[str, str]:
    """The keys of one notebook; ``parameters`` and ``corpus`` are left out where not known.

    What a notebook reads from its folder counts as its source: ``"reads": [names]`` under
    ``course_book`` in its metadata.
    """
    read = [p for name in _reads(notebook) for p in _files(notebook.parent / name)]
    keys = {"source": file_hash(notebook, *read), "package": package_key(root)}
    if parameters is not None:
        keys["parameters"] = json.dumps(dict(parameters), sort_keys=True)
    if corpus is not None:
        keys["corpus"] = corpus
    return keys


def executed_path(notebook: Path, root: Path, out: Path | None = None) -> Path:
    """Where the executed copy of ``root/book/x.ipynb`` lies: ``_build/executed/book/x.ipynb``."""
    return (out or root / "_build" / "executed") / notebook.resolve().relative_to(root.resolve())


def stored(executed: Path) -> dict[str, Any]:
    """What the runner wrote into an executed copy; empty where there is none (or half of one)."""
    try:
        metadata = json.loads(executed.read_text(encoding="utf-8"))["metadata"]
    except (OSError, ValueError, KeyError):
        return {}
    found = metadata.get(NAMESPACE, {})
    return found if isinstance(found, dict) else {}


def is_fresh(executed: Path, keys: Mapping[str, str]) -> bool:
    """Whether the executed copy was made from exactly these keys."""
    have = stored(executed).get("keys", {})
    return bool(have) and all(have.get(name) == value for name, value in keys.items())
