"""A Dask cluster on this machine: a real scheduler and real workers, for a ``with`` block."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.comparison import ROOT, CannotMeasure

PATIENCE = 120.0  # seconds for the scheduler to write its address


@dataclass
class Cluster:
    """A running scheduler: its address, and the processes of its workers."""

    address: str
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)


def _dask(*arguments: str, log: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    with log.open("ab") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]],
            cwd=ROOT,
            env=environment,
            stdout=said,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )


@contextmanager
def cluster(
    folder: Path, workers: int, threads: int = 1, preload: Path | None = None
) -> Iterator[Cluster]:
    """``workers`` processes of ``threads`` slots each; all gone when the block is left.

    ``preload`` is a file that each worker runs before it takes any work.

    Raises:
        CannotMeasure: Dask is not installed, or its scheduler does not start.
    """
    from importlib.util import find_spec

    if find_spec("distributed") is None:
        raise CannotMeasure("distributed is not installed: pip install -e '.[cluster]'")
    folder.mkdir(parents=True, exist_ok=True)
    where = folder / "scheduler.json"
    where.unlink(missing_ok=True)
    log = folder / "dask.log"
    options = ["--host", "127.0.0.1", "--no-dashboard"]
    started = [
        _dask("dask_scheduler", *options, "--port", "0", "--scheduler-file", str(where), log=log)
    ]
    try:
        running = Cluster(_address(where, started[0], log))
        for number in range(workers):
            local = folder / f"worker-{number}"
            named = ["--name", f"worker-{number}", "--local-directory", str(local)]
            worker = [running.address, *options, "--no-nanny", "--nthreads", str(threads)]
            before = ["--preload", str(preload)] if preload else []
            process = _dask("dask_worker", *worker, *named, *before, log=log)
            started.append(process)
            running.workers.append(process)
        yield running
    finally:
        for process in reversed(started):
            process.terminate()
        for process in reversed(started):
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _address(where: Path, scheduler: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and scheduler.poll() is None:
        try:
            return str(json.loads(where.read_text(encoding="utf-8"))["address"])
        except (OSError, ValueError):
            time.sleep(0.05)
    said = log.read_text(encoding="utf-8", errors="replace")[-800:]
    raise CannotMeasure(f"the Dask scheduler did not start:\n{said}")


def wait_for_workers(address: str, count: int) -> None:
    """Until so many workers have joined."""
    from distributed import Client

    with Client(address, timeout="60s") as client:
        client.wait_for_workers(count, timeout=PATIENCE)
