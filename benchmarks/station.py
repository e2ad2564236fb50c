"""A process that holds one side of a comparison, warm, and runs it when told to."""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.measure import Side, once


class Station:
    """A context manager that is itself a side: calling it runs the work there, once.

    Args:
        make: makes the side, in that process; importable by name.
        arguments: for ``make``.
    """

    def __init__(self, make: Callable[..., Side], *arguments: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self._here, there = context.Pipe()
        self._process = context.Process(target=_serve, args=(there, make, arguments), daemon=True)

    def __enter__(self) -> Station:
        self._process.start()
        try:
            self._receive()  # it is made
        except BaseException:
            self.__exit__()
            raise
        return self

    def __call__(self) -> float:
        """Seconds of one run, timed in the process itself, or the number the side returned."""
        self._here.send("run")
        return self._receive()

    def _receive(self) -> float:
        try:
            answer = self._here.recv()
        except EOFError as error:
            raise RuntimeError(
                f"the process of a side ended (exit status {self._process.exitcode})"
            ) from error
        if isinstance(answer, str):
            raise RuntimeError(f"a side failed in its process:\n{answer}")
        return float(answer)

    def __exit__(self, *_: object) -> None:
        self._here.close()
        self._process.join(timeout=5)
        if self._process.is_alive():
            self._process.terminate()
            self._process.join()


def _serve(there: Connection, make: Callable[..., Side], arguments: tuple[Any, ...]) -> None:
    try:
        side = make(*arguments)
        there.send(0.0)
        while True:
            there.recv()
            there.send(once(side))
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return
    except BaseException:
        there.send(traceback.format_exc())
