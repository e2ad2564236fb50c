"""Running a command and watching what it and its children take: time, cores, memory."""

from __future__ import annotations

import os
import resource
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


def children_seconds() -> float:
    """Computing time of every child that has ended so far, theirs included, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


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
        before = children_seconds()
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

        def look() -> None:
            nonlocal peak
            pause = EVERY
            while not over.wait(pause):
                looked = time.perf_counter()
                peak = max(peak, tree_mb(process.pid))
                pause = max(EVERY, SHARE * (time.perf_counter() - looked))

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
    return Watched(peak, seconds, children_seconds() - before)
