"""What an instructor runs into: one line that says what is wrong, and nothing lost."""

from __future__ import annotations

import builtins
import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from course.grading import cli, staging
from tests.grading.lab import RIGHT, ROOT, WRONG, Lab
from tests.grading.test_cohort import command, rows

Capture = pytest.CaptureFixture[str]


def one_line(capsys: Capture) -> str:
    """What was said on standard error: a single line, no traceback."""
    said = capsys.readouterr().err.strip().splitlines()
    errors = [line for line in said if line.startswith("error: ")]
    assert len(errors) == 1, said
    assert "Traceback" not in "\n".join(said)
    return errors[0]


def test_a_folder_that_is_no_course(lab: Lab, tmp_path: Path, capsys: Capture) -> None:
    assert cli.main(["tiny", "--root", str(tmp_path / "nowhere")]) == 2
    assert "There is no nbgrader_config.py in" in one_line(capsys)
    assert cli.main(["../tiny", "--root", str(lab.root)]) == 2
    assert "There is no assignment '../tiny'. There are: tiny." in one_line(capsys)
    assert cli.main(["", "--root", str(lab.root)]) == 2
    assert "There is no assignment ''" in one_line(capsys)
    (tmp_path / "empty").mkdir()
    assert command(lab, "--submissions", str(tmp_path / "empty")) == 2
    assert "There is no submission in" in one_line(capsys)


def test_a_configuration_that_does_not_run(lab: Lab, capsys: Capture) -> None:
    lab.submit("ann", lab.notebook())
    config = lab.root / "nbgrader_config.py"
    good = config.read_text()
    config.write_text(good + "c.SandboxExecute.limits = {'cell_secnds': 3}\n")
    assert command(lab) == 2
    assert "c.SandboxExecute.limits" in (said := one_line(capsys))
    assert "cell_secnds" in said
    config.write_text(good + "nothing_such\n")
    assert command(lab) == 2
    assert "nbgrader_config.py does not run: NameError" in one_line(capsys)


def test_a_source_that_is_no_notebook(lab: Lab, capsys: Capture) -> None:
    lab.submit("ann", lab.notebook())
    path = lab.root / "solutions" / "tiny" / "tiny.ipynb"
    path.write_text("<<<<<<< HEAD\n")
    assert command(lab) == 2
    assert "solutions/tiny cannot be read" in one_line(capsys)


def test_without_nbgrader_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **keywords: Any) -> Any:
        if name.partition(".")[0] == "sqlalchemy":
            raise ModuleNotFoundError("No module named 'sqlalchemy'", name="sqlalchemy")
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)
    assert cli.main(["tiny"]) == 2
    assert 'pip install "attention-from-average[grading]"' in one_line(capsys)


def test_a_broken_gradebook_is_named_and_left_as_it_is(lab: Lab, capsys: Capture) -> None:
    lab.submit("ann", lab.notebook())
    database = lab.root / "class" / "gradebook.db"
    database.write_bytes(b"not a database at all, but longer than a header " * 100)
    before = database.read_bytes()
    assert command(lab) == 2
    assert "the gradebook could not be used: file is not a database" in one_line(capsys)
    assert database.read_bytes() == before


def test_what_has_no_notebook_at_all_gets_its_zero(lab: Lab) -> None:
    """nbgrader by itself would say that nothing was matched, and give no grade."""
    (lab.root / "class/submitted/bob").mkdir(parents=True)
    (lab.root / "class/submitted/bob/tiny").write_text("my answer")
    lab.submit("eve", None)
    lab.submit("zoe", b"a picture", "photo.png")
    assert command(lab, "--jobs", "1") == 0
    assert {name: float(row["total"]) for name, row in rows(lab).items()} == dict.fromkeys(
        ("bob", "eve", "zoe"), 0.0
    )
    assert "a file where a folder should be" in lab.text("bob")
    assert "There is no tiny.ipynb" in lab.text("zoe")


def test_what_may_not_be_read_is_one_learners_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an ordinary user would find it; to root everything is readable."""
    source = tmp_path / "ann" / "tiny"
    (source / "closed").mkdir(parents=True)
    (source / "closed" / "data.txt").write_text("x")
    (source / "tiny.ipynb").write_text("{}")
    (source / "more.txt").write_text("x")
    closed = {str(source / "closed"), str(source / "tiny.ipynb")}
    real = os.access
    monkeypatch.setattr(os, "access", lambda p, m: str(p) not in closed and real(p, m))
    staged = staging.stage(source, tmp_path / "staged", ["tiny"])
    assert staged.files == ["more.txt"]
    assert "cannot be read" in staged.refused["tiny"]
    assert any(note.startswith("closed ") for note in staged.notes)


def test_a_full_disk_while_taking_in_leaves_the_old_submission(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    old = lab.submit("ann", lab.notebook(RIGHT)) / "tiny.ipynb"
    before = old.read_text()
    (tmp_path / "download" / "ann").mkdir(parents=True)
    nbformat.write(lab.notebook(WRONG), tmp_path / "download" / "ann" / "tiny.ipynb")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "class/incoming/ann")

    monkeypatch.setattr(shutil, "copytree", full)
    assert command(lab, "--submissions", str(tmp_path / "download")) == 2
    said = one_line(capsys)
    assert "class/incoming/ann: No space left on device" in said
    assert "Nothing that was graded is lost" in said
    assert old.read_text() == before
    monkeypatch.undo()
    assert lab.room.take_in(tmp_path / "download", "tiny") == ["ann"]
    assert WRONG.splitlines()[1] in old.read_text()
    (kept,) = lab.room.folder("superseded", "ann", "tiny").iterdir()
    assert (kept / "tiny.ipynb").read_text() == before


def test_two_submissions_within_a_second_are_both_kept(lab: Lab, tmp_path: Path) -> None:
    download = tmp_path / "download"
    download.mkdir()
    for n in range(3):
        nbformat.write(lab.notebook(f"{RIGHT}  # {n}"), download / "ann.ipynb")
        lab.room.take_in(download, "tiny")
    texts = [p.read_text() for p in lab.room.folder("superseded", "ann", "tiny").rglob("*.ipynb")]
    assert sorted("# 0" in t for t in texts) == [False, True]
    assert len(texts) == 2


def in_namespace(lab: Lab, *mounts: str, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script in the course's folder, with further mounts (real ones, seen by it alone)."""
    line = ["bwrap", "--dev-bind", "/", "/", *mounts, "--chdir", str(lab.root), "sh", "-c", script]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PY": sys.executable}
    return subprocess.run(line, capture_output=True, text=True, check=False, env=env, timeout=280)


def test_a_folder_that_may_only_be_read(lab: Lab, require_tool: Callable[[str], Path]) -> None:
    require_tool("bwrap")
    lab.submit("ann", lab.notebook())
    done = in_namespace(
        lab, "--ro-bind", str(lab.root), str(lab.root),
        script='"$PY" -m course grade tiny --no-isolation',
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert "Read-only file system" in said
    assert str(lab.root) in said
    assert "Traceback" not in done.stderr


@pytest.mark.timeout(300)
def test_a_full_disk_stops_nothing_that_is_graded(
    lab: Lab, tmp_path: Path, require_tool: Callable[[str], Path]
) -> None:
    """A real one: class/ is two megabytes and filled up; then there is room again."""
    require_tool("bwrap")
    for name in ("ann", "bob"):
        lab.submit(name, lab.notebook(RIGHT))
    kept = tmp_path / "kept"
    kept.mkdir()
    shutil.copytree(lab.root / "class", kept / "class")
    done = in_namespace(
        lab, "--size", str(3 << 20), "--tmpfs", str(lab.root / "class"),
        script=f"""cp -r {kept}/class/. class/
grade() {{ "$PY" -m course grade tiny --no-isolation --jobs 1 "$@"; echo "code $?"; }}
grade --student ann
cat /dev/zero > class/ballast 2>/dev/null
cp class/gradebook.db {kept}/before.db
grade --force
cmp class/gradebook.db {kept}/before.db && echo "gradebook as it was"
rm class/ballast
grade
cp -r class/. {kept}/class/""",
    )  # fmt: skip
    said = done.stdout + done.stderr
    codes = [line for line in done.stdout.splitlines() if line.startswith("code ")]
    assert codes[0] == "code 0", said
    assert codes[1] in ("code 1", "code 2"), said  # nobody can be graded on a full disk
    assert codes[2] == "code 0", said
    assert "Traceback" not in done.stderr, said
    assert "No space left" in said or "disk is full" in said, said
    shutil.rmtree(lab.root / "class")
    shutil.copytree(kept / "class", lab.root / "class")
    found = rows(lab)
    assert {name: float(row["total"]) for name, row in found.items()} == {"ann": 10, "bob": 10}
