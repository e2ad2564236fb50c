"""Copy submissions to a place where nbgrader finds only what it can work with.

Each submission is copied from ``class/submitted`` to ``class/staged``: ordinary files only (a link
is refused, never followed), every expected notebook clean and under its right name, or in its
place an empty one that carries the reason for a zero. The original is never touched.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import nbformat
from dateutil.parser import ParserError
from nbgrader.utils import parse_utc

from course.files import atomic_write_text
from course.grading import intake

FOLDER = "class/staged"
LARGEST_SUBMISSION = 100 << 20
MOST_FILES = 500
MOST_NAMES = 5  # of what was refused, in a note
SIDECAR = "course-grading.json"  # beside the staged notebooks: hash, notes, refusals
IGNORED = (".ipynb_checkpoints", "__pycache__", ".git", ".DS_Store", SIDECAR)


@dataclass
class Staged:
    """What became of one submission.

    Attributes:
        sha256: of the names and bytes of all its files; of one larger than a submission may be,
            the name and the size.
        refused: notebook → why it gets no points.
        notes: what was repaired or left out.
        files: the files copied beside the notebooks.
    """

    sha256: str
    refused: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def stage(source: Path, target: Path, notebooks: Sequence[str]) -> Staged:
    """Copy the submission in ``source`` to ``target`` (made anew), and say what was done.

    Args:
        notebooks: names, without ``.ipynb``, of the notebooks that the assignment has.
    """
    if target.exists():
        shutil.rmtree(target)
    target.mkdir(parents=True)
    found: list[Path] = []
    links = [source.name]
    if source.is_symlink() or source.parent.is_symlink():
        reason = "The submission is a link to another folder, which is refused: hand in the files."
    elif not source.is_dir():
        reason = "The submission is a file where a folder should be: hand in the notebook itself."
    else:
        found, links = _files(source)
        reason = ""
    staged = Staged(_hash(source, found, links))
    for link in links[:MOST_NAMES]:
        staged.notes.append(
            f"{plain(link)} is a link (or no file that can be read) and was refused."
        )
    if len(links) > MOST_NAMES:
        staged.notes.append(f"So were {len(links) - MOST_NAMES} more.")
    present = {p.name for p in found if p.parent == source}
    for name in notebooks:
        _stage_notebook(source, target, name, present, notebooks, staged, reason)
    _copy_rest(source, target, found, staged)
    atomic_write_text(target / SIDECAR, json.dumps(asdict(staged), indent=1) + "\n")
    return staged


def load(folder: Path) -> Staged | None:
    """What `stage` wrote beside the notebooks, or ``None``."""
    path = folder / SIDECAR
    if not path.is_file():
        return None
    return Staged(**json.loads(path.read_text(encoding="utf-8")))


def plain(name: str) -> str:
    """A file's name as text that can be written and read: no control characters, not too long."""
    text = "".join(c if c.isprintable() else "�" for c in name)
    return text if len(text) <= 100 else f"{text[:100]}…"


def _files(source: Path) -> tuple[list[Path], list[str]]:
    """Ordinary files under a folder, and the names of everything that is something else."""
    files: list[Path] = []
    odd: list[str] = []

    def walk(folder: Path) -> Iterator[os.DirEntry[str]]:
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda e: e.name):
                if entry.name in IGNORED:
                    continue
                if entry.is_dir(follow_symlinks=False) and _readable(entry):
                    yield from walk(Path(entry.path))
                else:
                    yield entry

    for entry in walk(source):
        if stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode) and _readable(entry):
            files.append(Path(entry.path))
        else:
            odd.append(str(Path(entry.path).relative_to(source)))
    return files, odd


def _readable(entry: os.DirEntry[str]) -> bool:
    """Whether whoever grades may read it: one that may not be read must not stop the class."""
    wanted = os.R_OK | os.X_OK if entry.is_dir(follow_symlinks=False) else os.R_OK
    return os.access(entry.path, wanted)


def _hash(source: Path, files: Sequence[Path], links: Sequence[str]) -> str:
    total = hashlib.sha256()
    for path in files:
        total.update(str(path.relative_to(source)).encode("utf-8", "surrogateescape") + b"\0")
        size = path.stat().st_size
        if size > LARGEST_SUBMISSION:  # perhaps a sparse file of terabytes, which takes hours
            total.update(b"size %d" % size)
            continue
        with path.open("rb") as handle:
            total.update(hashlib.file_digest(handle, "sha256").digest())
    for link in links:
        total.update(b"link\0" + link.encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def _stage_notebook(
    source: Path, target: Path, name: str, present: set[str], expected: Sequence[str],
    staged: Staged, reason: str,
) -> None:  # fmt: skip
    file = f"{name}.ipynb"
    if reason:
        taken = intake.refuse(reason)
    elif file in present:
        taken = intake.read(source / file)
    elif os.path.lexists(source / file):
        taken = intake.refuse(f"{file} is a link or cannot be read: hand in the file itself.")
    else:
        wanted = {f"{n}.ipynb" for n in expected}
        others = sorted(p for p in present if p.endswith(".ipynb") and p not in wanted)
        if others:
            there = ", ".join(map(plain, others[:MOST_NAMES]))
            if len(others) > MOST_NAMES:
                there += f" and {len(others) - MOST_NAMES} more"
            said = (f"There is no {file}. There is {there}: give the notebook its "
                    f"old name, {file}, and hand it in again.")  # fmt: skip
        else:
            said = f"There is no {file} in what was handed in."
        taken = intake.refuse(said)
    if taken.refused:
        staged.refused[name] = taken.refused
    staged.notes += taken.notes
    nbformat.write(taken.notebook, target / file)


def _copy_rest(source: Path, target: Path, files: Sequence[Path], staged: Staged) -> None:
    total = 0
    for path in files:
        relative = path.relative_to(source)
        if path.suffix == ".ipynb":
            continue
        total += path.stat().st_size
        if len(staged.files) >= MOST_FILES or total > LARGEST_SUBMISSION:
            staged.notes.append("There were too many or too large files beside the notebook; "
                                "some were left out.")  # fmt: skip
            return
        if relative.name == "timestamp.txt" and not _good_timestamp(path):
            staged.notes.append("timestamp.txt holds no time and was left out: the submission "
                                "counts as in time until somebody looks.")  # fmt: skip
            continue
        (target / relative).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target / relative, follow_symlinks=False)
        staged.files.append(str(relative))


def _good_timestamp(path: Path) -> bool:
    try:
        parse_utc(path.read_text(encoding="utf-8").strip())
    except (ValueError, OverflowError, ParserError, UnicodeDecodeError, TypeError):
        return False
    return True
