"""The specification's table, row by row: hostile and unlucky submissions, graded in one run."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from pathlib import Path

import pytest

from course.grading.parent import WarmParent
from tests.grading.hostile import Case, all_cases
from tests.grading.lab import SECRET, Lab

# The first test waits for the whole run.
pytestmark = pytest.mark.timeout(900)
CASES = all_cases(Path("/course"), 1)


@dataclass
class Run:
    """All submissions of the bank, graded by nbgrader in one go."""

    lab: Lab
    answer: dict[str, object]
    connections: int


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, parent: WarmParent) -> Run:
    lab = Lab(tmp_path_factory.mktemp("hostile") / "course")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        for case in all_cases(lab.root, server.getsockname()[1]):
            case.hand_in(lab, case.name)
        answer = lab.autograde()
        connections = 0
        try:
            server.accept()
            connections += 1
        except TimeoutError:
            pass
    feedback = lab.room.api.generate_feedback("tiny", "*", force=True)
    assert feedback["success"], feedback
    return Run(lab, answer, connections)


def test_nobody_stops_the_run(run: Run) -> None:
    said = str(run.answer.get("log", "")).split("[WARNING]")
    told = [part for part in said if "ERROR" in part][:3]
    assert run.answer["success"], f"{told} {str(run.answer.get('error'))[-2000:]}"


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_each_gets_what_it_deserves(run: Run, case: Case) -> None:
    said = run.lab.text(case.name)
    assert run.lab.total(case.name) == pytest.approx(case.deserves), said[-3000:]
    assert case.says in said


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_nothing_hidden_is_told(run: Run, case: Case) -> None:
    page, shown = run.lab.feedback(case.name), run.lab.text(case.name)
    for text in (page, shown):
        assert SECRET not in text
        assert "must not be told" not in text
    assert "LEAK [" not in shown  # what a spy prints when it has found something
    assert "BEGIN HIDDEN" not in page


def test_inputs_of_hidden_tests_are_not_told(run: Run) -> None:
    shown = run.lab.text("spy-inputs")
    # visible test: 3 ones; partial: 4 inputs; the hidden one's 4 random numbers are not there
    assert shown.count("LEAKED INPUT") == 5
    assert "SPILLED" not in run.lab.text("spy-error")


def test_nothing_outside_was_changed(run: Run) -> None:
    shown = run.lab.text("write-course")
    assert "PLANTED" not in shown
    assert not list(run.lab.root.rglob("planted-7261"))
    assert "CHANGED" not in run.lab.text("update-grade")
    assert "GAINED" not in run.lab.text("gain-rights")
    rights = re.findall(r"Cap\w+:\\+t([0-9a-f]{16})", run.lab.text("gain-rights"))
    assert len(rights) >= 5
    assert set(rights) == {"0" * 16}


def test_no_connection_was_made(run: Run) -> None:
    assert run.connections == 0
    assert "CONNECTED" not in run.lab.text("network")
    assert "family" not in run.lab.text("network")


def test_no_process_is_left(run: Run) -> None:
    left = [p for p in Path("/proc").glob("[0-9]*/cmdline") if b"orphan-7261" in _read(p)]
    assert left == []


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_output_is_capped(run: Run) -> None:
    path = run.lab.root / "class/autograded/prints/tiny/tiny.ipynb"
    assert path.stat().st_size < 100_000


def test_links_are_not_followed(run: Run) -> None:
    folder = run.lab.root / "class" / "autograded" / "link-file" / "tiny"
    assert not (folder / "data.txt").exists()
    assert not (folder / "folder").exists()
