"""The prepared command for a GPU machine, without one: what it would run, what it refuses."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from course.experiments.cli import _parser
from course.experiments.registry import pieces_of_work

SCRIPT = Path(__file__).resolve().parents[2] / ".ci" / "gpu_records.sh"


def call(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(SCRIPT), *map(str, arguments)]
    env = {**os.environ, **environment}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def recorder(tmp_path: Path) -> Path:
    """A stand-in for Python that writes down how it is called, and where records would go."""
    program = tmp_path / "python"
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\t" "$COURSE_RECORDS" "$@" >> {shlex.quote(str(tmp_path))}/calls\n'
        f"echo >> {shlex.quote(str(tmp_path))}/calls\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def test_it_runs_the_cost_table_alone_and_the_ladder_with_five_seeds(
    recorder: Path, tmp_path: Path
) -> None:
    done = call(tmp_path / "new folder", PYTHON=str(recorder))
    assert done.returncode == 0, done.stderr
    calls = [line.split("\t") for line in (tmp_path / "calls").read_text().split("\t\n") if line]
    runs = [words for words in calls if words[1:4] == ["-m", "course", "experiments"]]
    assert {words[0] for words in runs} == {str(tmp_path / "new folder")}
    asked = [_parser().parse_args(words[4:]) for words in runs]
    assert [(one.names, one.device) for one in asked] == [(["cost"], "cuda"), (["ladder"], "cuda")]
    assert asked[0].jobs == 1
    cost, ladder = (list(pieces_of_work(a.names, a.rows, a.seeds)) for a in asked)
    assert {row.name for _, row, _ in cost} == {
        "plain", "efficient", "plain-cuda", "efficient-cuda",
    }  # fmt: skip
    assert Counter(seed for _, _, seed in ladder) == dict.fromkeys(range(5), 10)


def test_without_a_gpu_it_refuses_before_anything_runs(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    done = call(tmp_path / "records", PYTHON=sys.executable)
    assert done.returncode == 1
    assert "sees no CUDA GPU" in done.stderr
    assert not list((tmp_path / "records").iterdir())


def test_it_wants_to_know_where_the_records_go() -> None:
    done = call()
    assert done.returncode == 2
    assert "FOLDER" in done.stderr
