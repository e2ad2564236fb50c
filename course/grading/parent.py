"""The grader's handle on the warm parent: fork a helper, talk to it, end it, learn how it ended."""

from __future__ import annotations

import array
import contextlib
import json
import os
import select
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from typing import Any

from course.grading.channel import Channel, ChannelClosed, ChannelTimeout, ProtocolError
from course.grading.limits import Limits
from course.grading.sandbox import SandboxError, start_warm_parent

PRELOAD = ("torch", "numpy", "IPython.core.interactiveshell")
# Slow to load, and used by some submissions only: loaded once the first has needed them.
HEAVY = ("torch._dynamo", "torch.fx.experimental.symbolic_shapes", "matplotlib.pyplot")
START_SECONDS = 180.0  # PyTorch from a cold disk


class Helper:
    """One fork: its channel, and what it printed since `take_text` was last called."""

    def __init__(self, number: int, channel: Channel, out: int, err: int, keep: int) -> None:
        self.number, self.channel, self.keep = number, channel, keep
        self._pipes = {out: "stdout", err: "stderr"}
        self._text: list[tuple[str, bytes]] = []
        self._kept = self.printed = 0
        for pipe in self._pipes:
            os.set_blocking(pipe, False)

    def exchange(
        self, header: Mapping[str, Any], body: bytes, deadline: float
    ) -> tuple[dict[str, Any], bytes]:
        """Send a request and wait for the answer, reading what is printed meanwhile.

        Raises:
            ChannelClosed: the process has ended.
            ChannelTimeout: the deadline (``time.monotonic``) passed.
            ProtocolError: what came back is no message.
        """
        self.channel.send(header, body, deadline)
        return self.wait(deadline)

    def wait(self, deadline: float) -> tuple[dict[str, Any], bytes]:
        """The next message. Raises as `exchange` does."""
        while True:
            message = self.channel.take()
            if message is not None:
                self.drain()
                return message
            left = deadline - time.monotonic()
            if left <= 0:
                raise ChannelTimeout("no answer in time")
            sources: list[Any] = [self.channel, *self._pipes]
            ready = select.select(sources, [], [], left)[0]
            for pipe in list(self._pipes):
                if pipe in ready:
                    self._read(pipe)
            if self.channel in ready:
                self.channel.pump()

    def drain(self) -> None:
        """Read what is in the pipes now, and no more: a thread may go on printing."""
        for pipe in list(self._pipes):
            for _ in range(4):
                if not self._read(pipe):
                    break

    def _read(self, pipe: int) -> bool:
        try:
            data = os.read(pipe, 1 << 18)
        except BlockingIOError:
            return False
        if not data:
            del self._pipes[pipe]
            os.close(pipe)
            return False
        self.printed += len(data)
        data = data[: max(0, self.keep - self._kept)]
        if data:
            self._kept += len(data)
            self._text.append((self._pipes[pipe], data))
        return True

    def take_text(self) -> tuple[list[tuple[str, str]], int]:
        """What was printed, as ``(stream, text)`` runs, and how many bytes it was in all."""
        runs: list[tuple[str, bytes]] = []
        for stream, data in self._text:
            if runs and runs[-1][0] == stream:
                runs[-1] = (stream, runs[-1][1] + data)
            else:
                runs.append((stream, data))
        printed = self.printed
        self._text, self._kept, self.printed = [], 0, 0
        return [(s, d.decode("utf-8", "replace").replace("\0", "�")) for s, d in runs], printed

    def close(self) -> None:
        """Close our ends."""
        self.channel.close()
        for pipe in self._pipes:
            os.close(pipe)
        self._pipes = {}


class WarmParent:
    """Starts the warm parent and asks it for forks. A context manager.

    Args:
        isolated: under bubblewrap, or (only if the instructor asked for it) without.

    Raises:
        SandboxError: isolation cannot be had here; the message says what to do.
    """

    def __init__(self, *, isolated: bool = True, preload: tuple[str, ...] = PRELOAD) -> None:
        self.isolated = isolated
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by close)
        with theirs:
            self._process = start_warm_parent(theirs, preload, self._errors, isolated=isolated)
        self._ready = False
        self._next = 0
        self._loaded: set[str] = set()
        self._exits: dict[int, dict[str, Any]] = {}

    def __enter__(self) -> WarmParent:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the warm parent; everything that it forked dies with it."""
        self._control.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()

    def _hear(self, timeout: float) -> bool:
        """Take in one report of the warm parent; whether there was one.

        Raises:
            SandboxError: it has died.
        """
        if not select.select([self._control], [], [], max(0.0, timeout))[0]:
            return False
        data = self._control.recv(1 << 16)
        if not data:
            self._process.wait(timeout=10)
            self._errors.seek(0)
            said = self._errors.read()[-2000:].decode("utf-8", "replace").strip()
            raise SandboxError(
                f"the sandbox ended with status {self._process.returncode}: {said or 'no message'}"
            )
        report = json.loads(data)
        if "ready" in report:
            self._ready = True
        elif "exit" in report:
            self._exits[report["exit"]] = report
        return True

    def wait_until_ready(self) -> None:
        """Return once PyTorch is loaded.

        Raises:
            SandboxError: the sandbox did not start.
        """
        end = time.monotonic() + START_SECONDS
        while not self._ready:
            if not self._hear(end - time.monotonic()):
                raise SandboxError(f"the sandbox did not start within {START_SECONDS:.0f} seconds")

    def fork(self, role: str, limits: Limits) -> Helper:
        """Fork a ``worker`` or a ``judge`` with these limits, and wait until it listens.

        The wait is nobody's fault, so no budget is charged with it.

        Raises:
            SandboxError: the warm parent has died, or the fork could not be confined.
        """
        self.wait_until_ready()
        self._next += 1
        ours, theirs = socket.socketpair()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        request = {"op": "fork", "number": self._next, "role": role, "limits": limits.to_dict()}
        rights = array.array("i", [theirs.fileno(), out_write, err_write])
        try:
            self._control.sendmsg(
                [json.dumps(request).encode()],
                [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)],
            )
        except OSError as error:
            self._hear(1.0)
            raise SandboxError(f"the sandbox is gone: {error}") from error
        finally:
            theirs.close()
            os.close(out_write)
            os.close(err_write)
        channel = Channel(ours, limits.message_mb << 20)
        helper = Helper(self._next, channel, out_read, err_read, limits.cell_output)
        try:
            helper.wait(time.monotonic() + START_SECONDS)
        except (ChannelClosed, ChannelTimeout, ProtocolError) as error:
            ended = self.end(helper)
            said = "".join(text for _, text in helper.take_text()[0]).strip()
            helper.close()
            raise SandboxError(f"a {role} did not start: {said or error} {ended}") from error
        return helper

    def load(self, modules: object) -> None:
        """Let the forks to come have these modules loaded. Only those of `HEAVY` are: the names
        come from a worker."""
        new = [m for m in HEAVY if isinstance(modules, list) and m in modules]
        new = [m for m in new if m not in self._loaded]
        if new:
            self._loaded.update(new)
            with contextlib.suppress(OSError):  # a dead sandbox is found out by the next fork
                self._control.send(json.dumps({"op": "load", "modules": new}).encode())

    def end(self, helper: Helper, *, patience: float = 20.0) -> dict[str, Any]:
        """Kill a helper if it still runs, and say how it ended: ``status`` and ``killed_for``."""
        end = time.monotonic() + patience
        gone = False
        with contextlib.suppress(ChannelClosed, OSError):
            helper.channel.sock.settimeout(0)
            gone = helper.channel.sock.recv(1, socket.MSG_PEEK) == b""
        if not gone:
            with contextlib.suppress(OSError):
                request = {"op": "kill", "number": helper.number}
                self._control.send(json.dumps(request).encode())
        while helper.number not in self._exits:
            if not self._hear(end - time.monotonic()):
                return {"status": None, "killed_for": ""}
        helper.drain()
        return self._exits.pop(helper.number)
