"""The wheel holds the package and its data, and nothing a learner should not have."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import course


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from the working tree into a temporary folder."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("*.whl")
    assert path.name == f"attention_from_average-{course.__version__}-py3-none-any.whl"
    return zipfile.ZipFile(path)


def test_it_holds_every_tracked_file_of_the_package(wheel, root, tracked):
    names = set(wheel.namelist())
    expected = {
        path.relative_to(root).as_posix()
        for path in tracked
        if path.is_relative_to(root / "course")
    }
    assert expected - names == set()
    assert len(expected) > 10


def test_it_holds_nothing_else(wheel):
    top = {name.split("/")[0] for name in wheel.namelist()}
    assert top == {"course", f"attention_from_average-{course.__version__}.dist-info"}


def test_no_file_of_solutions_or_tests_is_in_it_under_any_name(wheel, root, tracked):
    hidden = {
        hashlib.sha256(path.read_bytes()).hexdigest(): path.relative_to(root)
        for path in tracked
        if path.relative_to(root).parts[0] in ("solutions", "tests") and path.stat().st_size
    }
    found = {
        name: hidden[digest]
        for name in wheel.namelist()
        if (digest := hashlib.sha256(wheel.read(name)).hexdigest()) in hidden
    }
    assert found == {}


def test_its_metadata_say_what_pyproject_says(wheel, project):
    name = f"attention_from_average-{course.__version__}.dist-info/METADATA"
    metadata = Parser().parsestr(wheel.read(name).decode("utf-8"))
    assert metadata["Name"] == "attention-from-average"
    assert metadata["Requires-Python"] == "<3.14,>=3.11"
    assert metadata["License-Expression"] == "MIT"
    assert set(metadata.get_all("Provides-Extra")) == {"book", "grading", "dev", "bench", "cluster"}
    plain = [r for r in metadata.get_all("Requires-Dist") if "extra ==" not in r]
    assert len(plain) == len(project["dependencies"])
