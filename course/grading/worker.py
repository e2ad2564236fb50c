"""The process that runs the learner's notebook, and nothing else.

It is forked by `course.grading.warm`, already confined, and answers messages: run a cell, carry
out a program on what the cells defined (`course.checks.subject.Executor`), show the value of a
name. It is given inputs and source, never a test, a seed or an expected value, so there is nothing
here worth stealing. The learner's code shares the process and may do to it what it likes: the
grader trusts no word that comes back.
"""

from __future__ import annotations

import base64
import contextlib
import inspect
import json
import os
import random
import signal
import sys
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

from course.checks.subject import Executor, from_wire, to_wire
from course.grading.channel import Channel, ChannelClosed
from course.grading.limits import Limits
from course.grading.parent import HEAVY

PICTURES = ("image/png", "image/jpeg", "image/svg+xml", "text/html", "text/latex",
            "text/markdown", "text/plain")  # fmt: skip
CELL = "<ipython-input"  # how the names of the learner's source files begin


KEPT: list[dict[str, Any]] = []  # what the current cell displayed


class OutOfTime(BaseException):
    """Raised in the learner's code when its seconds are used up."""


class _Publisher(DisplayPublisher):
    """Keeps what cells display, instead of sending it to a front end."""

    def publish(self, data: Any, *_: Any, **__: Any) -> None:
        KEPT.append({"kind": "display_data", "data": _bundle(data)})

    def clear_output(self, wait: bool = False) -> None:
        """Nothing: what was printed stays."""


class _Hook(DisplayHook):
    """Keeps the value of a cell's last expression beside what it displays."""

    def write_output_prompt(self) -> None:
        """No prompt on standard output."""

    def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
        KEPT.append({"kind": "execute_result", "data": _bundle(format_dict)})

    def finish_displayhook(self) -> None:
        """No line end on standard output."""


class _Shell(InteractiveShell):
    display_pub_class = Type(_Publisher)
    displayhook_class = Type(_Hook)

    def enable_gui(self, gui: Any = None) -> None:
        """There is no screen; ``%matplotlib inline`` asks for none."""

    def showtraceback(self, *_: Any, **__: Any) -> None:
        """Nothing is printed: errors are handed over as data."""

    def showsyntaxerror(self, *_: Any, **__: Any) -> None:
        """Nothing is printed: errors are handed over as data."""


def _bundle(data: Any) -> dict[str, Any]:
    kept = {}
    for kind in PICTURES:
        value = data.get(kind)
        if isinstance(value, bytes):
            value = base64.b64encode(value).decode("ascii")
        if isinstance(value, str):
            kept[kind] = value
    return kept


class Worker:
    """Carries out requests on one learner's namespace."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(0)
        torch.set_num_threads(1)
        self.module = types.ModuleType("__main__")
        sys.modules["__main__"] = self.module
        sys.path.insert(0, os.getcwd())  # as in a notebook: files beside it can be imported
        config = Config()
        config.HistoryManager.enabled = False
        config.InteractiveShell.colors = "nocolor"
        config.InteractiveShell.xmode = "Plain"
        self.shell = _Shell.instance(
            config=config, user_module=self.module, user_ns=self.module.__dict__
        )
        self.executor = Executor(self.module.__dict__)
        signal.signal(signal.SIGALRM, self._alarm)

    @staticmethod
    def _alarm(*_: Any) -> None:
        raise OutOfTime

    @contextlib.contextmanager
    def clock(self, seconds: float) -> Iterator[None]:
        """Interrupt the learner's code after ``seconds``; the grader kills what ignores that."""
        signal.signal(signal.SIGALRM, self._alarm)
        signal.setitimer(signal.ITIMER_REAL, max(0.01, seconds))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    # ---------------------------------------------------------------------------------- requests

    def cell(self, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], Any]:
        """Run one cell and say how it went."""
        KEPT.clear()
        error = None
        try:
            with self.clock(request["seconds"]):
                outcome = self.shell.run_cell(body.decode(), store_history=True)
                error = outcome.error_before_exec or outcome.error_in_exec
        except OutOfTime as stopped:
            error = stopped
        heavy = [name for name in HEAVY if name in sys.modules]
        return {"error": self.describe(error), "heavy": heavy}, KEPT

    def program(self, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], Any]:
        """Carry out operations on what the cells defined."""
        operations = from_wire(json.loads(body))
        replies: list[Any] = []
        try:
            with self.clock(request["seconds"]):
                for operation in operations:
                    replies.append(self._one(operation))
        except OutOfTime as stopped:
            said = f"stopped after {request['seconds']:.0f} seconds"
            late = {"error": {"type": "OutOfTime", "line": _own_line(stopped), "message": said}}
            replies += [to_wire(late)] * (len(operations) - len(replies))
            return {"late": True}, replies
        return {"heavy": [name for name in HEAVY if name in sys.modules]}, replies

    def _one(self, operation: dict[str, Any]) -> Any:
        try:
            (reply,) = self.executor.run([operation])
            return to_wire(reply)
        except OutOfTime:
            raise
        except BaseException as error:
            return to_wire({"error": self.executor._describe_error(error)})

    def file(self, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], Any]:
        """Put a file beside the notebook."""
        write_file(request["name"], body)
        return {}, None

    def look(self, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], Any]:
        """What a name is: plain data (with its value), a module, or something to call."""
        name = request["name"]
        space = self.module.__dict__
        if name not in space:
            return {"kind": "missing"}, None
        value = space[name]
        if isinstance(value, types.ModuleType):
            return {"kind": "module"}, None
        plain = self.executor._plain(value)
        if not _is_opaque(plain):
            return {"kind": "plain"}, to_wire(plain)
        kind = "class" if inspect.isclass(value) else "callable" if callable(value) else "object"
        return {"kind": kind, "type": type(value).__name__}, None

    def describe(self, error: BaseException | None) -> dict[str, Any] | None:
        """An error as plain text: name, message, and the traceback through the learner's cells."""
        if error is None:
            return None
        if isinstance(error, OutOfTime):
            message = f"stopped after {self.limits.cell_seconds:.0f} seconds"
            name = "OutOfTime"
        else:
            name, message = type(error).__name__, str(error)
        lines = []
        for frame in traceback.extract_tb(error.__traceback__):
            if frame.filename.startswith(CELL):
                lines.append(f"  line {frame.lineno}, in {frame.name}\n    {frame.line}")
        if isinstance(error, SyntaxError) and error.text:
            lines.append(f"  line {error.lineno}\n    {error.text.rstrip()}")
        return {"type": name[:200], "message": message[:4000], "lines": lines[-10:]}


def _own_line(error: BaseException) -> int | None:
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__)
             if f.filename.startswith(CELL)]  # fmt: skip
    return lines[-1] if lines else None


def _is_opaque(value: Any) -> bool:
    if isinstance(value, dict):
        return "$opaque" in value or any(_is_opaque(v) for v in value.values())
    return isinstance(value, list | tuple) and any(_is_opaque(v) for v in value)


def write_file(name: str, data: bytes) -> None:
    """Write ``data`` under the current folder.

    Raises:
        ValueError: the name leads out of it.
    """
    path = Path(os.path.normpath(name))
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{name!r} is outside the folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def serve(sock: Any, limits: Limits) -> None:
    """Answer requests until the channel closes."""
    channel = Channel(sock, limits.message_mb << 20)
    worker = Worker(limits)
    channel.send({"ready": True})
    owner = os.getpid()
    while True:
        try:
            request, body = channel.receive()
        except ChannelClosed:
            return
        try:
            header, answer = getattr(worker, request["do"])(request, body)
            data = json.dumps(answer).encode()
        except BaseException as error:
            if os.getpid() != owner:
                os._exit(1)  # the learner's code forked and its child came back here
            header, data = {"error": worker.describe(error)}, b"null"
        if len(data) > channel.body_limit:
            said = f"the result of {len(data)} bytes is too large to be handed over"
            header, data = {"error": {"type": "ValueError", "message": said}}, b"null"
        if os.getpid() != owner:
            os._exit(1)
        _flush()
        channel.send(header, data)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
