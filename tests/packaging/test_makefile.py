"""Each make target is listed, documented as a plain command, and fails when its command fails."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

TARGETS = [
    "help", "setup", "book", "serve", "notebooks", "exercises", "grade", "results", "bench",
    "check", "test", "test-all", "clean",
]  # fmt: skip


@pytest.fixture(scope="module")
def make(require_tool) -> Path:
    """The program make."""
    return require_tool("make")


def recipe(root: Path, target: str) -> list[str]:
    """The command lines of a target, as written."""
    text = (root / "Makefile").read_text(encoding="utf-8")
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)*)", text, re.M)
    assert found, f"no target {target}"
    return [line.strip().lstrip("@") for line in found[1].splitlines()]


def plain_commands(root: Path) -> dict[str, str]:
    """CONTRIBUTING's table: make target → the command without make."""
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `make ([a-z-]+)[^|]*\| (.*) \|$", text, re.M)
    return {target: re.findall(r"`([^`]+)`", command)[0] for target, command in rows}


def test_help_is_the_default_and_lists_every_target(root, make):
    done = subprocess.run([make], cwd=root, capture_output=True, text=True, check=True)
    assert re.findall(r"^  make ([a-z-]+) ", done.stdout, re.M) == TARGETS
    assert all(len(line.split(maxsplit=2)) == 3 for line in done.stdout.splitlines())


def test_contributing_gives_each_target_as_a_plain_command(root):
    assert list(plain_commands(root)) == TARGETS


@pytest.mark.parametrize("target", [t for t in TARGETS if t not in ("help", "setup")])
def test_the_plain_command_is_what_make_runs(root, target):
    (line,) = recipe(root, target)
    values = {"$(PY)": "python", "$(PORT)": "8000", "$(ASSIGNMENT)": "head"}
    values["$(COURSE_SOLUTIONS)"] = "solutions"
    for name, value in values.items():
        line = line.replace(name, value)
    line = line.replace("$(or $(PYTHON),python3)", "python")
    assert plain_commands(root)[target] == line


def test_a_target_fails_when_its_command_fails(root, make, tmp_path):
    """With a Python that exits 3, in a folder that has the Makefile and nothing else."""
    shutil.copy(root / "Makefile", tmp_path)
    fake = tmp_path / ".venv" / "bin" / "python"
    fake.parent.mkdir(parents=True)
    fake.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    fake.chmod(0o755)
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "setup_env.py").write_text("", encoding="utf-8")
    for target in ("book", "test", "grade", "serve"):
        done = subprocess.run([make, target], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode != 0, target


def test_clean_keeps_a_class_s_work_and_what_was_installed(root, tmp_path):
    keep = ["class/submitted/ada/head.ipynb", "_build/npm/node_modules/katex/package.json"]
    keep += [".venv/lib/x/__pycache__/a.pyc", "class/__pycache__/a.pyc", "course/a.py"]
    drop = ["_build/html/index.html", "course/__pycache__/a.pyc", "dist/a.whl", ".mypy_cache/a"]
    for name in keep + drop:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
    (tmp_path / "_build" / "linked").symlink_to(tmp_path / "class")
    (tmp_path / ".ci").mkdir()
    shutil.copy(root / ".ci" / "clean.py", tmp_path / ".ci")
    subprocess.run(["python3", ".ci/clean.py"], cwd=tmp_path, check=True, capture_output=True)
    assert [name for name in keep if not (tmp_path / name).exists()] == []
    assert [name for name in drop if (tmp_path / name).exists()] == []
