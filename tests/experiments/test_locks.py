"""One run at a time for one record; a dead process holds nothing."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from course.experiments.locks import Held, hold

ROOT = Path(__file__).resolve().parents[2]
HOLDER = """
import sys, time
from pathlib import Path
from course.experiments.locks import hold
with hold(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock of the record this yields."""
    record = tmp_path / "records" / "ladder" / "head-s0.json"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(record)], cwd=ROOT, text=True, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield record, process
    process.kill()
    process.wait()
    process.stdout.close()


def test_the_second_is_told_who_holds_it(holder):
    record, process = holder
    with (
        pytest.raises(Held, match=rf"ladder/head-s0 is being run by process {process.pid} on "),
        hold(record),
    ):
        pass
    with hold(record.with_name("head-s1.json")) as note:
        assert note == ""


def test_a_killed_holder_is_taken_over(holder):
    record, process = holder
    process.kill()
    process.wait()
    with hold(record) as note:
        assert f"process {process.pid}" in note
        assert "no longer running" in note
    with hold(record) as note:
        assert note == ""


def test_waiting_ends_when_the_holder_does(holder):
    record, process = holder
    start = time.monotonic()
    subprocess.Popen(
        [sys.executable, "-c", f"import os, time; time.sleep(1); os.kill({process.pid}, 9)"]
    ).wait()
    with hold(record, wait=True, poll_seconds=0.05):
        assert time.monotonic() - start >= 1
