"""A class on a Dask cluster: two workers, one killed on the way, everybody graded once."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from course.grading import cli, record, running
from course.grading.parent import WarmParent
from tests.conftest import find_tool
from tests.grading.lab import RIGHT, ROOT, WRONG, Lab
from tests.grading.test_cohort import command, rows
from tests.grading.test_trouble import one_line

# A large class takes minutes; on a slow machine: COURSE_CLASS_SIZE=26 pytest … -k killed
LEARNERS = int(os.environ.get("COURSE_CLASS_SIZE", "200"))
SMALL = 50


@contextlib.contextmanager
def started(folder: Path, name: str, *words: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A ``dask`` command running, and the file with what it says."""
    said = folder / f"{name}.log"
    env = {**os.environ, "PYTHONPATH": str(ROOT), "DASK_DISTRIBUTED__WORKER__DAEMON": "False"}
    with said.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *words], cwd=folder, env=env, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
        try:
            yield process, said
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def wait_for(said: Path, pattern: str, seconds: float = 120) -> str:
    """The first group of a pattern once it stands in the file."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = re.search(pattern, said.read_text(errors="replace"))
        if found:
            return found[1]
        time.sleep(0.1)
    raise AssertionError(f"{pattern} did not come within {seconds} s:\n{said.read_text()}")


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[str]:
    """The address of a Dask scheduler on loopback."""
    pytest.importorskip("distributed")
    words = ("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    with started(tmp_path, "scheduler", *words) as (_, said):
        yield wait_for(said, r"Scheduler at:\s+(tcp://127\.0\.0\.1:\d+)")


def test_a_scheduler_without_workers_is_named(
    lab: Lab, scheduler: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.submit("ann", lab.notebook())
    assert command(lab, "--scheduler", scheduler) == 2
    assert f"the Dask scheduler at {scheduler} has no workers" in one_line(capsys)
    assert command(lab, "--scheduler", "tcp://127.0.0.1:9") == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in one_line(capsys)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_worker_is_killed_and_everybody_is_graded_once(
    tmp_path: Path,
    parent: WarmParent,
    scheduler: str,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    if find_tool("initdb"):  # the gradebook of a course with several machines
        monkeypatch.setenv("COURSE_GRADEBOOK", request.getfixturevalue("postgres"))
    lab = Lab(tmp_path / "course")
    names = [f"learner{i:03}" for i in range(LEARNERS)]
    for i, name in enumerate(names):
        # In a small class, so that the kill comes in the middle.
        pause = f"import time\ntime.sleep({0.3 if LEARNERS < SMALL else 0})"
        lab.submit(name, lab.notebook(WRONG if i % 5 == 0 else RIGHT, [pause]))
    worker = ("worker", scheduler, "--no-nanny", "--nthreads", "1", "--no-dashboard", "--host",
              "127.0.0.1")  # fmt: skip
    with contextlib.ExitStack() as stack:
        workers = []
        for name in ("one", "two"):
            process, said = stack.enter_context(
                started(tmp_path, name, *worker, "--name", name, "--local-directory",
                        str(tmp_path / name))
            )  # fmt: skip
            wait_for(said, r"(Registered to)")
            workers.append(process)
        with ThreadPoolExecutor(1) as pool:
            grading = pool.submit(command, lab, "--scheduler", scheduler)
            records = lab.room.folder("records")
            enough, end = max(4, LEARNERS // 3), time.monotonic() + 600
            while len(list(records.glob("*/tiny/*.json"))) < enough and time.monotonic() < end:
                time.sleep(0.05)
            done_before = len(list(records.glob("*/tiny/*.json")))
            os.killpg(workers[0].pid, signal.SIGKILL)
            assert grading.result(timeout=1500) == 0
        assert enough <= done_before < LEARNERS  # it was in the middle
        assert workers[0].wait() == -signal.SIGKILL
        assert workers[1].poll() is None
        found = rows(lab)
        assert sorted(found) == names
        for i, name in enumerate(names):
            assert float(found[name]["total"]) == (0 if i % 5 == 0 else 10), name
        kept = list(record.read_all(records, "tiny"))
        assert Counter(r["student"] for r in kept) == Counter(names)
        assert {r["isolation"] for r in kept} == {"bwrap"}
        # And once more: nothing is run again.
        assert command(lab, "--scheduler", scheduler) == 0
        assert len(list(record.read_all(records, "tiny"))) == LEARNERS


def test_a_worker_with_several_threads_gives_each_its_own_sandbox(
    parent: WarmParent, require_tool: Callable[[str], Path]
) -> None:
    with ThreadPoolExecutor(2) as pool:
        mine = pool.submit(running.shared_parent, isolated=True).result()
        assert mine is not parent
        assert running.shared_parent(isolated=True) is parent
        pool.submit(running._close_mine).result()
        assert mine not in running._parents.values()
        assert running.shared_parent(isolated=True) is parent


def test_without_dask_the_command_says_what_to_install(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    lab.submit("ann", lab.notebook())
    assert cli.main(["tiny", "--root", str(lab.root), "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert 'pip install "attention-from-average[cluster]"' in one_line(capsys)
