"""One way to run things beside each other: a ``concurrent.futures.Executor``.

Experiments, notebooks and grading all take their parallelism from :func:`executor`.
Without an address it is a pool of local processes; with the address of a Dask scheduler it is
that cluster.  Callers see only ``submit`` and ``map``: there is no scheduling code in the course.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager

__all__ = ["available_cores", "executor", "keep_freed_memory", "limit_threads"]

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def available_cores() -> int:
    """Cores this process may run on (a container or ``taskset`` may allow fewer than exist)."""
    if sys.platform == "linux":
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)


def limit_threads(threads: int) -> None:
    """Let the numerical libraries of this process use at most ``threads`` threads.

    The environment variables reach libraries that are not loaded yet; PyTorch is told directly
    if it is already here.

    Raises:
        ValueError: ``threads`` is below 1.
    """
    if threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}")
    for variable in _THREAD_VARIABLES:
        os.environ[variable] = str(threads)
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "set_num_threads"):
        torch.set_num_threads(threads)


def keep_freed_memory() -> bool:
    """Ask glibc to keep freed memory instead of handing it back to the kernel.

    A training step frees and takes the same few large blocks again and again.  By default glibc
    returns each to the kernel, which then clears every page anew: half the time of an
    element-wise operation on 32 MB.  Nothing that is computed changes.  Returns whether the
    C library took the setting (it is a no-op outside glibc).
    """
    if sys.platform != "linux":
        return False
    m_trim_threshold, m_mmap_max = -1, -4  # the names and numbers of malloc.h
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library: musl has no mallopt
        return False
    return bool(mallopt(m_mmap_max, 0) and mallopt(m_trim_threshold, -1))


def _start_worker(threads: int) -> None:
    limit_threads(threads)


@contextmanager
def executor(jobs: int = 1, scheduler: str | None = None) -> Iterator[Executor]:
    """An executor for the length of a ``with`` block.

    Args:
        jobs: local processes.  They are spawned (a forked PyTorch can hang), and each gets
            ``cores // jobs`` threads, so that together they use the machine once.
        scheduler: address of a Dask scheduler such as ``tcp://host:8786``; then ``jobs`` is not
            used, since the cluster decides how much runs at once.

    When the block is left by an exception, work that has not begun is cancelled, and what runs is
    waited for.

    Raises:
        ValueError: ``jobs`` is below 1.
        ModuleNotFoundError: a scheduler is given and Dask is not installed.
        ConnectionError: nothing answers at the scheduler's address, or it has no workers.
    """
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {jobs}")
    if scheduler is not None:
        with _dask_executor(scheduler) as pool:
            yield pool
        return
    pool = ProcessPoolExecutor(
        max_workers=jobs,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(max(1, available_cores() // jobs),),
    )
    try:
        yield pool
    except BaseException:
        # Waiting for what runs is part of it: a pool that is let go of cancels nothing.
        pool.shutdown(wait=True, cancel_futures=True)
        raise
    pool.shutdown(wait=True)


@contextmanager
def _dask_executor(scheduler: str) -> Iterator[Executor]:
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"--scheduler {scheduler} needs Dask, which is not installed: "
            'pip install "attention-from-average[cluster]"'
        ) from error
    try:
        client = Client(scheduler, timeout="10s")
    except (OSError, TimeoutError) as error:
        raise ConnectionError(
            f"no Dask scheduler answers at {scheduler}: start one with `dask scheduler` and "
            "workers with `dask worker ADDRESS`, or leave --scheduler out"
        ) from error
    try:
        client.wait_for_workers(1, timeout=10)
    except TimeoutError as error:
        client.close()
        raise ConnectionError(
            f"the Dask scheduler at {scheduler} has no workers: start some with "
            f"`dask worker {scheduler}`"
        ) from error
    try:
        # pure=False: two equal calls are two pieces of work (a run may have to be repeated)
        yield client.get_executor(pure=False)
    finally:
        client.close()
