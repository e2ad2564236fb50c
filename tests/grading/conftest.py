"""What the grading tests share: one sandbox (it loads PyTorch once), a course, a PostgreSQL."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from course.grading import running
from course.grading.parent import WarmParent
from tests.grading.lab import Lab


@pytest.fixture(scope="session")
def parent(require_tool: Callable[[str], Path]) -> Iterator[WarmParent]:
    """The warm parent that `course.grading.running` uses too."""
    require_tool("bwrap")
    yield running.shared_parent(isolated=True)
    running.close_parents()


@pytest.fixture
def lab(tmp_path: Path, parent: WarmParent) -> Lab:
    """A fresh course."""
    return Lab(tmp_path / "course")


@pytest.fixture(scope="session")
def postgres(require_tool: Callable[[str], Path]) -> Iterator[str]:
    """The address of a database in a PostgreSQL of our own, which does not run as root."""
    initdb, pg_ctl = require_tool("initdb"), require_tool("pg_ctl")
    folder = Path(tempfile.mkdtemp(prefix="course-pg-"))
    as_user: list[str] = []
    if os.getuid() == 0:
        require_tool("setpriv")
        shutil.chown(folder, "nobody")
        uid = str(folder.stat().st_uid)
        as_user = ["setpriv", f"--reuid={uid}", "--clear-groups", "--"]
    data = folder / "data"

    def run(*command: str) -> None:
        # No pipe: the server would keep it open.
        with (folder / "said").open("a") as said:
            subprocess.run([*as_user, *command], check=True, stdout=said, stderr=said, cwd="/",
                           timeout=120)  # fmt: skip

    try:
        run(str(initdb), "-D", str(data), "-U", "grader", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        run(str(pg_ctl), "-D", str(data), "-o", options, "-w", "start")
        try:
            yield f"postgresql+psycopg://grader@/postgres?host={folder}"
        finally:
            run(str(pg_ctl), "-D", str(data), "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
