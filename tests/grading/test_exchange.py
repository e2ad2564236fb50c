"""nbgrader's exchange, by its commands: handed out, handed in, graded, given back.

The instructor is who runs the tests. The learner is another user of the machine where that is
root, so that what the one may not read of the other's is tried as well.
"""

from __future__ import annotations

import csv
import getpass
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.grading.lab import ROOT
from tests.grading.other_user import IS_ROOT, as_user

COURSE = "attention-from-average"
NAME = "masked-matmul"  # the assignment


class Hub:
    """A machine with nbgrader's configuration for everybody, a course, and a learner's home."""

    def __init__(self, folder: Path) -> None:
        self.course, self.home = folder / "course", folder / "home"
        self.exchange, self.etc = folder / "exchange", folder / "etc"
        self.etc.mkdir()
        # What the instructors' page has a hub put into /etc/jupyter/nbgrader_config.py.
        (self.etc / "nbgrader_config.py").write_text(
            "c = get_config()\n"
            f'c.CourseDirectory.course_id = "{COURSE}"\n'
            f'c.Exchange.root = "{self.exchange}"\n'
        )
        for part in ("solutions", "exercises"):
            shutil.copytree(ROOT / part / NAME, self.course / part / NAME)
        shutil.copy(ROOT / "nbgrader_config.py", self.course)
        self.course.chmod(0o700)
        self.home.mkdir(mode=0o700)
        self.learner = "nobody" if IS_ROOT else getpass.getuser()
        if IS_ROOT:
            shutil.chown(self.home, self.learner)

    def run(self, command: list[str], cwd: Path) -> str:
        done = subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, check=False, timeout=280,
            env={**os.environ, "HOME": str(self.home), "JUPYTER_CONFIG_PATH": str(self.etc),
                 "JUPYTER_DATA_DIR": str(cwd / ".data"), "IPYTHONDIR": str(cwd / ".ipython"),
                 "JUPYTER_CONFIG_DIR": str(cwd / ".config"), "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        said = done.stdout + done.stderr
        assert done.returncode == 0, said
        return said

    def teacher(self, *words: str) -> str:
        return self.run([sys.executable, "-m", *words], self.course)

    def student(self, *words: str) -> str:
        command = [sys.executable, "-m", "nbgrader", *words]
        if IS_ROOT:
            who = pwd.getpwnam(self.learner)
            command = as_user(who.pw_uid, who.pw_gid, command)
        return self.run(command, self.home)


@pytest.fixture
def hub(require_tool: Callable[[str], Path]) -> Iterator[Hub]:
    require_tool("bwrap")
    if IS_ROOT:
        require_tool("setpriv")
    folder = Path(tempfile.mkdtemp(prefix="course-hub-"))  # pytest's own is closed to others
    folder.chmod(0o755)
    yield Hub(folder)
    shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_out_in_graded_and_back(hub: Hub) -> None:
    hub.teacher("nbgrader", "release_assignment", NAME)
    assert f"{COURSE} {NAME}" in hub.student("list")
    hub.student("fetch_assignment", NAME)
    mine = hub.home / NAME / f"{NAME}.ipynb"
    assert mine.read_bytes() == (ROOT / "exercises" / NAME / f"{NAME}.ipynb").read_bytes()
    assert mine.owner() == hub.learner
    mine.write_bytes((ROOT / "solutions" / NAME / f"{NAME}.ipynb").read_bytes())
    hub.student("submit", NAME)
    hub.teacher("nbgrader", "collect", NAME)
    submitted = hub.course / "class" / "submitted" / hub.learner / NAME
    assert (submitted / "timestamp.txt").is_file()

    assert "1 graded" in hub.teacher("course", "grade", NAME)
    with (hub.course / f"class/reports/{NAME}.csv").open(newline="") as handle:
        (row,) = csv.DictReader(handle)
    assert row["student_id"] == hub.learner
    assert float(row["score"]) == float(row["max_score"]) > 0

    hub.teacher("nbgrader", "release_feedback", NAME)
    hub.student("fetch_feedback", NAME)
    (page,) = (hub.home / NAME / "feedback").rglob("*.html")
    text = page.read_text(encoding="utf-8")
    assert text == (hub.course / f"class/feedback/{hub.learner}/{NAME}/{NAME}.html").read_text(
        encoding="utf-8"
    )
    assert "BEGIN HIDDEN" not in text

    # Handed in again: collected with --update, and only then; the new one is graded.
    mine.write_bytes((ROOT / "exercises" / NAME / f"{NAME}.ipynb").read_bytes())
    hub.student("submit", NAME)
    hub.teacher("nbgrader", "collect", NAME, "--update")
    assert "1 graded" in hub.teacher("course", "grade", NAME)
    with (hub.course / f"class/reports/{NAME}.csv").open(newline="") as handle:
        (row,) = csv.DictReader(handle)
    assert float(row["score"]) < float(row["max_score"])
