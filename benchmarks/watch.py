"""Running a command and watching what it and its children take: time, cores, memory."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

EVERY = 0.1  # seconds between two looks
SHARE = 20  # but of the time at most a twentieth: looking takes from what is being measured


@dataclass(frozen=True)
class Watched:
    """What a command took: ``peak_mb`` over all its processes at one moment, wall ``seconds``,
    and ``cpu_seconds`` of all its processes together."""

    peak_mb: float
    seconds: float
    cpu_seconds: float


def held_mb(process: psutil.Process) -> float:
    """Memory of one process in MiB; what it shares counts by its share (Linux), else whole."""
    try:
        for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    try:
        return float(process.memory_info().rss) / 2**20
    except psutil.Error:
        return 0.0  # it has ended


def tree_mb(pid: int) -> float:
    """Memory of a process and of all it started, MiB."""
    try:
        root = psutil.Process(pid)
        return sum(held_mb(p) for p in [root, *root.children(recursive=True)])
    except psutil.Error:
        return 0.0


def note_seconds(pid: int, used: dict[tuple[int, float], float]) -> None:
    """Note the computing time, so far, of a process and of each that it started.

    Each by itself: a process that ends is not always waited for, and then counts nowhere. What one
    computes after the last look at it is missed, a tenth of a second at most.
    """
    try:
        root = psutil.Process(pid)
        for process in [root, *root.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                used[process.pid, process.create_time()] = sum(process.cpu_times()[:2])
    except psutil.Error:
        pass  # it has ended


def watch(
    command: Sequence[str], folder: Path, environment: dict[str, str] | None = None
) -> Watched:
    """Run a command to its end; nothing that it started outlives it.

    Raises:
        RuntimeError: it failed; with the end of what it said.
    """
    # This environment's programs first: nbgrader calls alembic, the book's build calls node.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    with tempfile.TemporaryFile() as said:
        start = time.perf_counter()
        process = subprocess.Popen(
            list(command),
            cwd=folder,
            env={**os.environ, "PATH": path, **(environment or {})},
            stdout=said,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        peak, over = 0.0, threading.Event()
        used: dict[tuple[int, float], float] = {}

        def look() -> None:
            nonlocal peak
            due = 0.0
            while not over.wait(EVERY):
                note_seconds(process.pid, used)
                now = time.perf_counter()
                if now >= due:
                    peak = max(peak, tree_mb(process.pid))
                    due = now + SHARE * (time.perf_counter() - now)

        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        try:
            status = process.wait()
        finally:
            seconds = time.perf_counter() - start
            over.set()
            watcher.join()
            try:
                os.killpg(process.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
            process.wait()
        if status:
            said.seek(0)
            tail = said.read().decode("utf-8", "replace")[-1500:]
            raise RuntimeError(f"{' '.join(map(str, command[:6]))} … ended with {status}:\n{tail}")
    return Watched(peak, seconds, sum(used.values()))
