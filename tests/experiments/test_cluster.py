"""A sweep on a real Dask cluster: a worker that is killed in the middle loses no record."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from benchmarks.cluster import cluster, wait_for_workers
from course.experiments.records import read_record, record_path
from course.experiments.registry import EXPERIMENTS
from course.experiments.runner import Outcome, Settings, run_all

QUICK = Settings(budget="quick", device="cpu", progress=False)
PRELOAD = Path(__file__).with_name("tiny_ladder.py")
ROWS = [row.name for row in EXPERIMENTS["ladder"].rows]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_sweep_whose_worker_is_killed_finishes_with_every_record(tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="torch is not installed here")
    pytest.importorskip("distributed", reason="the cluster extra is not installed here")
    outcomes: list[Outcome] = []
    work = [("ladder", row, 0) for row in ROWS]
    with cluster(tmp_path / "dask", workers=2, preload=PRELOAD) as running:
        wait_for_workers(running.address, 2)
        sweep = threading.Thread(
            target=run_all, args=(work, QUICK, 1, running.address, outcomes.append)
        )
        sweep.start()
        killed = running.workers[0]
        _wait_until(lambda: _held_by(killed.pid, tmp_path), sweep)
        killed.kill()
        killed.wait()
        had = len(outcomes)
        sweep.join(timeout=600)
        assert not sweep.is_alive(), (tmp_path / "dask" / "dask.log").read_text()[-3000:]
    assert had < len(ROWS), "it was killed too late to show anything"
    assert sorted(o.row for o in outcomes) == sorted(ROWS), "each row once"
    assert {o.status for o in outcomes} <= {"recorded", "present"}, outcomes
    for row in ROWS:
        data = read_record(record_path("ladder", row, 0, "quick")).data
        assert data["config"]["steps"] == len(data["loss_curve"]["step"]) == 12
        assert data["metrics"]["held_out"] > 1


def _held_by(pid: int, folder: Path) -> bool:
    """Whether this process is at a row just now: the note in a row's lock names it."""
    for lock in folder.rglob("*.lock"):
        try:
            if json.loads(lock.read_text(encoding="utf-8")).get("pid") == pid:
                return True
        except (ValueError, AttributeError):
            continue
    return False


def _wait_until(condition, thread: threading.Thread, seconds: float = 400) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "no row was begun"
        assert thread.is_alive(), "the sweep was over before a worker could be killed"
        time.sleep(0.02)
