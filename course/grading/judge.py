"""The process that runs the locked test cells, and never a line of the learner's.

It is forked by `course.grading.warm`, confined like the worker, in namespaces of its own. The
learner's names are stand-ins (`course.grading.proxy`) that send messages by way of the grader.
What a hidden test says stays hidden: the learner is shown the sentences of `course.checks`, the
name of an error and the line of their own code, the instructor's record has the rest.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import random
import signal
import sys
import traceback
from typing import Any

import numpy as np
import torch

from course.checks.notebook import LISTENERS, SEED_VARIABLE
from course.checks.subject import SubjectError, from_wire
from course.grading import names as naming
from course.grading.channel import Channel, ChannelClosed
from course.grading.limits import Limits
from course.grading.proxy import RemoteSubject, Stand
from course.grading.regions import hidden_lines
from course.grading.worker import write_file

CELL = "<test cell>"


class _Text(io.StringIO):
    """Keeps what the visible part of a test prints, within a limit."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit, self.hidden = limit, False

    def write(self, text: str) -> int:
        if not self.hidden and self.tell() < self.limit:
            super().write(text[: self.limit - self.tell()])
        return len(text)


class Judge:
    """Runs test cells one after the other in one namespace."""

    def __init__(self, channel: Channel, limits: Limits) -> None:
        self.channel, self.limits = channel, limits
        self.names = naming.Names()
        self.space: dict[str, Any] = {"__name__": "__tests__", "__builtins__": __builtins__}
        self.reports: list[dict[str, Any]] = []
        self.hidden = False
        self.subject = RemoteSubject(self._send_program, None)
        torch.set_num_threads(1)
        sys.path.append(os.getcwd())  # the instructor's hidden files, after everything else
        LISTENERS.append(self._keep)

    def _keep(self, report: dict[str, Any]) -> None:
        self.reports.append({**report, "hidden": self.hidden})

    def file(self, request: dict[str, Any], body: bytes) -> dict[str, Any]:
        """Put one of the instructor's files beside the tests."""
        write_file(request["name"], body)
        return {}

    # ------------------------------------------------------------------------- the learner's side

    def _ask(self, header: dict[str, Any], body: bytes = b"") -> tuple[dict[str, Any], bytes]:
        self.channel.send({**header, "hidden": self.hidden}, body)
        return self.channel.receive()

    def _send_program(self, body: bytes, count: int) -> tuple[dict[str, Any], bytes]:
        return self._ask({"ask": "program"}, body)

    def _resolve(self, name: str) -> None:
        """Bind a name of the test cell, unless an earlier one has done so."""
        if name in self.space:
            return
        if name in self.names.helpers:
            self._run_helper(self.names.helpers[name])
        elif name in self.names.imports or name in naming.USUAL:
            exec(self.names.imports.get(name) or naming.USUAL[name], self.space)
        elif self.names.is_learners(name):
            header, body = self._ask({"ask": "look", "name": name})
            self._bind(name, header, body)

    def _bind(self, name: str, header: dict[str, Any], body: bytes) -> None:
        kind = header.get("kind")
        if kind == "plain":
            with contextlib.suppress(Exception):  # what arrives may be anything
                self.space[name] = from_wire(json.loads(body))
        elif kind in ("class", "callable", "object"):
            self.space[name] = Stand(self.subject, name, kind)
        elif kind in ("missing", "module"):
            # A check can say more than a NameError can, so it gets a stand-in too.
            self.space[name] = Stand(self.subject, name, "missing")

    def _run_helper(self, source: str) -> None:
        for name in sorted(naming.used(source) - naming.bound(source)):
            self._resolve(name)
        exec(compile(source, "<locked cell>", "exec"), self.space)

    # ---------------------------------------------------------------------------------- requests

    def start(self, request: dict[str, Any], body: bytes) -> dict[str, Any]:
        """Take over the names and the seed of a notebook; the body is the learner's source."""
        self.names = naming.Names(**request["names"])
        os.environ[SEED_VARIABLE] = str(request["seed"])
        random.seed(request["seed"])
        np.random.seed(request["seed"] % 2**32)
        torch.manual_seed(request["seed"])
        self.subject.source = body.decode()
        return {}

    def cell(self, request: dict[str, Any], body: bytes) -> dict[str, Any]:
        """Run one test cell: its score, what the learner may read, what the instructor may."""
        source = body.decode()
        self.reports = []
        text = _Text(self.limits.cell_output)
        value: Any = None
        shown: dict[str, Any] | None = None
        private = ""
        try:
            with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
                value = self._execute(source, text)
        except SubjectError as error:
            shown = {"type": error.kind, "message": self._learners_error(error)}
            private = str(error)
        except BaseException as error:
            shown = self._show(error, source)
            private = "".join(traceback.format_exception(error))[-8000:]
        self.hidden = False
        return {"value": _points(value), "error": shown, "text": text.getvalue(),
                "private": private, "reports": self.reports}  # fmt: skip

    def _execute(self, source: str, text: _Text) -> Any:
        """Run a cell statement by statement; the value of a last expression is the result."""
        tree = ast.parse(source, CELL)
        secret = hidden_lines(source)
        for name in sorted(naming.used(source)):
            self._resolve(name)
        value = None
        for statement in tree.body:
            span = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
            self.hidden = text.hidden = not secret.isdisjoint(span)
            if isinstance(statement, ast.Expr) and statement is tree.body[-1]:
                code = compile(ast.Expression(statement.value), CELL, "eval")
                value = eval(code, self.space)
            else:
                exec(compile(ast.Module([statement], []), CELL, "exec"), self.space)
        return value

    def _learners_error(self, error: SubjectError) -> str:
        line = f" (line {error.line} of your cell)" if error.line else ""
        if self.hidden:
            return f"your code raised {error.kind} in a hidden test{line}"
        return f"{error.message}{line}"

    def _show(self, error: BaseException, source: str) -> dict[str, Any]:
        kind, message = type(error).__name__, str(error)
        if type(error).__module__.startswith("course.checks"):
            return {"type": kind, "message": message}
        if self.hidden:
            return {"type": kind, "message": "a hidden test did not pass"}
        at = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == CELL]
        if at and at[-1] and at[-1] not in hidden_lines(source):
            line = source.split("\n")[at[-1] - 1].strip()
            message = f"{message}\n  in: {line}" if message else line
        return {"type": kind, "message": message[:4000]}


def _points(value: Any) -> float | None:
    """A number that a test cell ends with is its partial score; a truth value is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


def serve(sock: Any, limits: Limits) -> None:
    """Answer requests until the channel closes."""
    # An alarm far away: checks set their own only where none is running, and theirs would stop us
    # in the middle of a message. The grader keeps the time.
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 1e6)
    channel = Channel(sock, limits.message_mb << 20)
    judge = Judge(channel, limits)
    channel.send({"ready": True})
    while True:
        try:
            request, body = channel.receive()
        except ChannelClosed:
            return
        answer = getattr(judge, request["do"])(request, body)
        channel.send({"done": True}, json.dumps(answer).encode())
