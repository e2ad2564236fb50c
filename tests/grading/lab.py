"""A course of one tiny assignment in a temporary folder, and submissions to it."""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import Gradebook
from traitlets.config import Config

from course.grading.classroom import Classroom

ROOT = Path(__file__).resolve().parents[2]
SECRET = "hidden-secret-7261"
RIGHT = "def double(x):\n    return x + x"
WRONG = "def double(x):\n    return 3 * x"
LIMITS = {
    "cell_seconds": 3.0, "notebook_seconds": 12.0, "memory_mb": 700, "processes": 24,
    "scratch_mb": 32, "file_mb": 16, "cell_output": 20_000, "notebook_output": 200_000,
}  # fmt: skip

SOLUTION = '''def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION'''
VISIBLE = """assert torch.equal(double(torch.ones(3)), 2 * torch.ones(3)), "one and one is two\""""
HIDDEN = f"""x = torch.randn(4)
### BEGIN HIDDEN TESTS
word = "{SECRET}"
assert torch.equal(double(x), x + x), word + " must not be told"
### END HIDDEN TESTS"""
PARTIAL = """earned = 0.0
for n in (1, 2, 3, 5):
    x = torch.randn(n, n + 1)
    try:
        earned += 1.25 * bool(torch.equal(double(x), x + x))
    except Exception as error:
        print("size", n, "failed:", error)
earned"""


def _code(source: str, **nbgrader: Any) -> Any:
    cell = nbformat.v4.new_code_cell(source)
    if nbgrader:
        cell.metadata["nbgrader"] = {"grade": False, "solution": False, "locked": False,
                                     "task": False, "schema_version": 3, **nbgrader}  # fmt: skip
    return cell


def source_notebook() -> Any:
    """The instructor's notebook: 10 points by tests, 2 by hand."""
    essay = nbformat.v4.new_markdown_cell("Why does doubling work?")
    essay.metadata["nbgrader"] = {
        "grade": True, "solution": True, "locked": False, "task": False, "schema_version": 3,
        "grade_id": "essay", "points": 2,
    }  # fmt: skip
    test = {"grade": True, "locked": True}
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    return nbformat.v4.new_notebook(metadata=kernel, cells=[
        nbformat.v4.new_markdown_cell("# Doubling\n\n<details>add x to x</details>"),
        _code("import torch"),
        _code(SOLUTION, grade_id="answer", solution=True),
        _code(VISIBLE, grade_id="visible", points=2, **test),
        _code(HIDDEN, grade_id="hidden", points=3, **test),
        _code(PARTIAL, grade_id="partial", points=5, **test),
        essay,
    ])  # fmt: skip


def _make(root: Path) -> Classroom:
    """The course in ``root``, made and prepared if it is not there."""
    folder = root / "solutions" / "tiny"
    if not folder.exists():
        folder.mkdir(parents=True)
        shutil.copy(ROOT / "nbgrader_config.py", root)
        nbformat.write(source_notebook(), folder / "tiny.ipynb")
        (folder / "hidden.py").write_text(f"WORD = {SECRET!r}\n")
    changes = Config()
    changes.SandboxExecute.limits = dict(LIMITS)
    room = Classroom(root, changes)
    room.prepare("tiny")
    return room


@functools.cache
def _template() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="course-lab-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _make(folder / "course")
    return folder / "course"


class Lab:
    """A temporary course with nbgrader's real configuration file."""

    def __init__(self, root: Path) -> None:
        self.root = root
        if not root.exists() and "COURSE_GRADEBOOK" not in os.environ:
            shutil.copytree(_template(), root)  # a fresh gradebook takes seconds
        self.room = _make(root)
        self.released = nbformat.read(root / "class/release/tiny/tiny.ipynb", as_version=4)

    def notebook(self, answer: str = RIGHT, before: Sequence[str] = ()) -> Any:
        """The release with an answer in it, and further cells before the answer."""
        nb = nbformat.from_dict(json.loads(json.dumps(self.released)))
        at = next(i for i, c in enumerate(nb.cells) if is_cell(c, "answer"))
        nb.cells[at].source = answer
        nb.cells[at:at] = [nbformat.v4.new_code_cell(source) for source in before]
        return nb

    def submit(self, student: str, what: Any, name: str = "tiny.ipynb") -> Path:
        """Hand in a notebook, bytes, or (``None``) nothing but the folder."""
        folder = self.root / "class" / "submitted" / student / "tiny"
        folder.mkdir(parents=True, exist_ok=True)
        if isinstance(what, bytes):
            (folder / name).write_bytes(what)
        elif what is not None:
            nbformat.write(what, folder / name)
        return folder

    def autograde(self, student: str = "*", force: bool = True) -> dict[str, Any]:
        """What ``nbgrader autograde tiny`` does."""
        return dict(self.room.api.autograde("tiny", student, force=force))

    def scores(self, student: str) -> dict[str, float | None]:
        """Automatic scores by cell."""
        with Gradebook(self.room.db_url) as gradebook:
            found = gradebook.find_submission_notebook("tiny", "tiny", student)
            return {g.cell.name: g.auto_score for g in found.grades}

    def total(self, student: str) -> float:
        """Points by tests."""
        found = self.scores(student)
        return sum(found[name] or 0.0 for name in ("visible", "hidden", "partial"))

    def graded(self, student: str) -> Any:
        """The autograded notebook."""
        path = self.root / "class" / "autograded" / student / "tiny" / "tiny.ipynb"
        return nbformat.read(path, as_version=4)

    def text(self, student: str) -> str:
        """All that the autograded notebook shows beside its sources: outputs and notes."""
        nb = self.graded(student)
        shown = [json.dumps(c.get("outputs", []), ensure_ascii=False) for c in nb.cells]
        if nb.cells[0].source.startswith("**Notes"):
            shown.insert(0, nb.cells[0].source)
        return "\n".join(shown)

    def feedback(self, student: str) -> str:
        """The feedback page."""
        path = self.root / "class" / "feedback" / student / "tiny" / "tiny.html"
        return path.read_text(encoding="utf-8")


def is_cell(cell: Any, grade_id: str) -> bool:
    """Whether the cell has this grade_id."""
    return bool(cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id)


def find(nb: Any, grade_id: str) -> Any:
    """The cell with this grade_id."""
    return next(c for c in nb.cells if is_cell(c, grade_id))
