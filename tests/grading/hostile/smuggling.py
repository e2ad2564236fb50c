"""A wrong answer with something beside it: files, outputs, attachments, names no one expects."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from tests.grading.hostile.case import FULL, NOTHING, Case, edited
from tests.grading.lab import RIGHT, WRONG, Lab, find

ALWAYS = """class Always:
    def __getattr__(self, name): return lambda *a, **k: True
    def __eq__(self, other): return True
equal = allclose = assert_close = points = lambda *a, **k: 10.0
"""
# Files that Python, pytest or nbgrader would read where they are found.
SHADOWS = (
    "sitecustomize.py",
    "usercustomize.py",
    "conftest.py",
    "torch.py",
    "course.py",
    "json.py",
    "course/__init__.py",
    "course/checks/__init__.py",
    "nbgrader_config.py",
    "hidden.py",
    ".ipython/profile_default/startup/00-first.py",
    "a.pth",
)


def smuggling() -> Iterator[Case]:
    """None of it is trusted, and none of it stops anybody."""
    yield Case("shadow-files", NOTHING, _shadows)
    yield Case("odd-file-names", FULL, _odd_names, "was refused")
    yield Case("sparse-file", FULL, _sparse, "too large files")
    yield Case("many-notebooks", NOTHING, _many, "There is no tiny.ipynb")
    yield edited("outputs-kept", NOTHING, _outputs, answer=WRONG)
    yield edited("attachments", FULL, _attachments, says="Pictures pasted")
    yield edited("nested-markup", FULL, _nested)
    yield edited("same-ids", FULL, _same_ids)
    yield edited("same-grade-ids", NOTHING, _same_grade_ids, answer=WRONG, says="was there")
    yield Case("not-strict-json", NOTHING, _loose)


def _shadows(lab: Lab, who: str) -> None:
    folder = lab.submit(who, lab.notebook(WRONG, ["import sitecustomize, conftest, hidden"]))
    for name in SHADOWS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(ALWAYS)


def _odd_names(lab: Lab, who: str) -> None:
    folder = lab.submit(who, lab.notebook(RIGHT))
    for name in (b"\xff\xfe.txt", b"two\nlines.txt", b"=1+1.txt", b"<script>alert(1)<", b"x" * 250):
        with open(os.path.join(os.fsencode(folder), name), "wb") as file:
            file.write(b"data")
        os.symlink(b"/etc/passwd", os.path.join(os.fsencode(folder), name[:240] + b"-link"))


def _sparse(lab: Lab, who: str) -> None:
    """As large as a file may be, and nothing in it: to read it takes hours."""
    with (lab.submit(who, lab.notebook(RIGHT)) / "data.bin").open("wb") as file:
        file.truncate(4 << 40)


def _many(lab: Lab, who: str) -> None:
    folder = lab.submit(who, None)
    for i in range(3000):
        (folder / f"{'copy of ' * 20}{i}.ipynb").write_text("{}")


def _outputs(nb: Any) -> None:
    """Scores in the outputs, the widget state and the notebook's metadata."""
    score = {"output_type": "execute_result", "execution_count": 1, "metadata": {},
             "data": {"text/plain": "10.0"}}  # fmt: skip
    for cell in nb.cells:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [score], 1
    state = {"a": {"model_name": "HTMLModel", "state": {"value": "<script>alert(1)</script>"}}}
    nb.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": state}}
    nb.metadata["nbgrader"] = {"points": 10, "score": float("nan")}


def _attachments(nb: Any) -> None:
    page = {"text/html": "<script>alert(1)</script>", "image/svg+xml": "<svg onload=alert(1)/>"}
    for cell in nb.cells:
        cell["attachments"] = {"a.png": page}
        if cell["cell_type"] == "markdown":
            cell["source"] += "\n![](attachment:a.png)"


def _nested(nb: Any) -> None:
    """Markdown and HTML that their readers go down into, level by level."""
    for source in ("> " * 3000 + "x", "<div>" * 5000, "- " * 3000 + "x", "[" * 5000, "**" * 5000):
        nb.cells.append({"cell_type": "markdown", "metadata": {}, "source": source})


def _same_ids(nb: Any) -> None:
    for cell in nb.cells:
        cell["id"] = "same"


def _same_grade_ids(nb: Any) -> None:
    for name in ("hidden", "partial", "visible"):
        find(nb, name).metadata.nbgrader["grade_id"] = "answer"


def _loose(lab: Lab, who: str) -> None:
    """JSON as only Python reads it: NaN, infinity, a key given twice."""
    nb = lab.notebook(WRONG)
    for name in ("visible", "hidden", "partial"):
        find(nb, name).metadata.nbgrader["points"] = float("nan")
        find(nb, name).metadata["score"] = float("inf")
    text = json.dumps(nb)
    folder = lab.submit(who, None)
    (folder / "tiny.ipynb").write_text(text[:-1] + ', "nbformat": 4, "nbformat_minor": 1e3}')
