"""A course's working folders and its gradebook: prepare an assignment, take in submissions."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbformat import ValidationError
from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from course.grading import database

CONFIG = "nbgrader_config.py"


class ClassroomError(RuntimeError):
    """The course folder or the gradebook does not allow what was asked; the message says why."""


def find_root(start: Path) -> Path:
    """The nearest folder at or above ``start`` with an ``nbgrader_config.py``.

    Raises:
        ClassroomError: there is none.
    """
    for folder in (start.resolve(), *start.resolve().parents):
        if (folder / CONFIG).is_file():
            return folder
    raise ClassroomError(
        f"There is no {CONFIG} in {start} or above: run this inside a clone of the course, or "
        "name its folder with --root."
    )


class Classroom:
    """The folders and the gradebook of the course in ``root``.

    Args:
        root: the folder with ``nbgrader_config.py``.
        changes: configuration that takes precedence over that file's.
    """

    def __init__(self, root: Path, changes: Config | None = None) -> None:
        self.root = root.resolve()
        self.config = _read_config(self.root)
        if changes is not None:
            self.config.merge(changes)
        self.coursedir = CourseDirectory(config=self.config)
        self.db_url = self.coursedir.db_url
        if self.db_url.startswith("sqlite:///"):
            Path(self.db_url.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
        logging.getLogger("alembic").setLevel(logging.ERROR)
        self.api = self._api(self.config)

    def _api(self, config: Config) -> NbGraderAPI:
        api = NbGraderAPI(CourseDirectory(config=config), config=config)
        # Its answers hold what it logged; on the terminal it would only disturb the progress bar.
        api.log.setLevel(logging.WARNING)
        api.log.propagate = False
        api.log.addHandler(logging.NullHandler())
        return api

    def folder(self, step: str, student: str = "", assignment: str = "") -> Path:
        """A working folder: ``submitted``, ``autograded``, ``feedback``, or any other in class/."""
        base = getattr(self.coursedir, f"{step}_directory", f"class/{step}")
        path = self.root / base
        return path / student / assignment if student else path

    # --------------------------------------------------------------------------- the assignment

    def assignments(self) -> list[str]:
        """The assignments that can be graded: those with a source notebook."""
        source = self.root / self.coursedir.source_directory
        return sorted({p.parent.name for p in source.glob("*/*.ipynb")})

    def prepare(self, assignment: str) -> bool:
        """Bring the gradebook up to date with the assignment's source; whether that was needed.

        Raises:
            ClassroomError: there is no such assignment, or nbgrader refuses (cells were added or
                removed after submissions had been graded).
        """
        source = self.root / self.coursedir.source_directory / assignment
        notebooks = sorted(source.glob("*.ipynb"))
        if not notebooks:
            known = ", ".join(self.assignments()) or "none"
            raise ClassroomError(f"There is no assignment {assignment!r}. There are: {known}.")
        known_names = database.notebook_names(self.db_url, assignment)
        names = [p.stem for p in notebooks]
        try:
            stale = known_names != sorted(names) or any(
                database.stale_cells(self.db_url, assignment, p.stem, p) for p in notebooks
            )
        except (ValueError, ValidationError) as error:
            said = str(error).splitlines()[0]
            raise ClassroomError(
                f"A notebook in {source} cannot be read: {said}. Nothing was graded."
            ) from error
        if not stale:
            return False
        # Into a folder of our own: exercises/ is made by `make exercises`, and compared in CI.
        changes = Config()
        changes.CourseDirectory.release_directory = "class/release"
        config = Config(self.config)
        config.merge(changes)
        answer = self._api(config).generate_assignment(assignment, force=True, create=True)
        if not answer["success"]:
            raise ClassroomError(_explain_prepare(assignment, answer))
        return True

    @contextlib.contextmanager
    def alone(self, assignment: str) -> Iterator[None]:
        """Hold the assignment: two gradings at once would share its working copies.

        Raises:
            ClassroomError: another process holds it.
        """
        path = self.root / "class" / f".{assignment.replace(os.sep, '_')}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise ClassroomError(
                    f"{assignment} is being graded by another process (it holds {path}); wait "
                    "for it to end."
                ) from error
            yield

    # ------------------------------------------------------------------------------ submissions

    def students(self, assignment: str) -> list[str]:
        """Who has a folder for this assignment among the submissions."""
        return sorted(p.parent.name for p in self.folder("submitted").glob(f"*/{assignment}"))

    def take_in(self, source: Path, assignment: str) -> list[str]:
        """Copy submissions from a folder into ``class/submitted``; whose they are.

        Understood are ``<student>/<assignment>/…``, ``<student>/<notebook>.ipynb`` and
        ``<student>.ipynb``; in a name ``* ? [ ]`` become ``_``. What was submitted before and
        differs is moved to ``class/superseded``, never deleted.

        Raises:
            ClassroomError: the folder is not there, or nothing in it is a submission.
        """
        if not source.is_dir():
            raise ClassroomError(f"There is no folder {source}.")
        if self.folder("submitted").resolve().is_relative_to(source.resolve()):
            raise ClassroomError(f"{source} holds this course: name the folder of submissions.")
        found: dict[str, Path] = {}
        for entry in sorted(source.iterdir()):
            if entry.name.startswith("."):
                continue
            if entry.is_dir() or entry.is_symlink():
                inner = entry / assignment
                chosen = inner if inner.is_dir() or inner.is_symlink() else entry
                found[re.sub(r"[*?\[\]]", "_", entry.name)] = chosen
            elif entry.suffix == ".ipynb":
                found[re.sub(r"[*?\[\]]", "_", entry.stem)] = entry
        if not found:
            raise ClassroomError(f"There is no submission in {source}.")
        only = (database.notebook_names(self.db_url, assignment) or [assignment])[0]
        for student, path in found.items():
            self._take_one(path, student, assignment, only)
        return sorted(found)

    def _take_one(self, path: Path, student: str, assignment: str, notebook: str) -> None:
        target = self.folder("submitted", student, assignment)
        if os.path.lexists(target) and not path.is_symlink() and _same(path, target, notebook):
            return
        # Copied first: what fails on the way (a full disk) leaves the old submission in its place.
        incoming = self.folder("incoming", student, assignment)
        shutil.rmtree(incoming, ignore_errors=True)
        incoming.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, incoming, symlinks=True)  # links arrive as links, to be refused
        else:
            incoming.mkdir()
            shutil.copy(path, incoming / f"{notebook}.ipynb", follow_symlinks=False)
        if os.path.lexists(target):
            stem = self.folder("superseded", student, assignment) / time.strftime("%Y%m%dT%H%M%S")
            stem.parent.mkdir(parents=True, exist_ok=True)
            old, again = stem, 1
            while os.path.lexists(old):
                old, again = stem.with_name(f"{stem.name}-{again}"), again + 1
            target.rename(old)
        target.parent.mkdir(parents=True, exist_ok=True)
        incoming.rename(target)


def _read_config(root: Path) -> Config:
    if not (root / CONFIG).is_file():
        raise ClassroomError(f"There is no {CONFIG} in {root}: it is no course's folder.")
    try:
        return PyFileConfigLoader(CONFIG, path=str(root)).load_config()
    except OSError:
        raise
    except Exception as error:  # it is the instructor's own program
        raise ClassroomError(
            f"{root / CONFIG} does not run: {type(error).__name__}: {error}"
        ) from error


def in_words(error: BaseException) -> str:
    """What the system or the gradebook refused, in one line."""
    if isinstance(error, shutil.Error) and error.args and isinstance(error.args[0], list):
        source, _, why = error.args[0][0]
        return f"{source}: {why}"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    said = str(getattr(error, "orig", None) or error).strip().splitlines()
    return f"the gradebook could not be used: {said[0] if said else type(error).__name__}"


def _same(path: Path, target: Path, notebook: str) -> bool:
    if path.is_file():
        return _tree_hash(path, f"{notebook}.ipynb") == _tree_hash(target)
    return _tree_hash(path) == _tree_hash(target)


def _tree_hash(path: Path, name: str = "") -> str:
    total = hashlib.sha256()
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    for file in files:
        if file.is_symlink():
            total.update(f"{file.relative_to(path)} -> {os.readlink(file)}\0".encode())
        elif file.is_file():
            shown = name or file.relative_to(path).as_posix()
            total.update(shown.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def _explain_prepare(assignment: str, answer: dict[str, Any]) -> str:
    if "associated with" in str(answer.get("log")):
        return (
            f"The cells of {assignment!r} were added to, removed or renamed after submissions had "
            "been graded, which nbgrader refuses. Put their old grade_ids back, or give the new "
            "version a name of its own."
        )
    return f"nbgrader could not prepare {assignment!r}: {last_error(answer)}"


def last_error(answer: dict[str, Any]) -> str:
    """The line that says most in an answer of nbgrader's that is not a success."""
    said = f"{answer.get('error') or ''}\n{answer.get('log') or ''}"
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    # Its own last words only point to the log.
    telling = [x for x in lines if "Error: " in x or "Exception: " in x]
    telling = [x for x in telling if "above traceback" not in x]
    return (telling or lines or ["nbgrader gave no reason"])[-1]
