"""The warm parent: loads PyTorch once, then forks one confined process per request.

Runs inside the sandbox (`course.grading.sandbox` starts it) and only ever imports: a parallel
PyTorch operation here would start threads that its forks do not have, and they would hang.
It reads JSON datagrams from one socket; a fork request carries three descriptors (the message
channel, standard output, standard error). It never reads from a learner.

Each fork is three processes: a launcher with new namespaces, the first process of the new process
namespace (it reaps, and all die with it), and the one that runs `course.grading.worker` or
`course.grading.judge`.
"""

from __future__ import annotations

import array
import contextlib
import gc
import importlib
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any, NoReturn

from course.grading import confine, syscalls
from course.grading.limits import Limits

ROLES = {"worker": "course.grading.worker", "judge": "course.grading.judge"}
WATCH_EVERY = 0.1  # seconds between two looks at the memory of what runs


@dataclass
class Fork:
    """A running fork: its number for the grader, and what it may use."""

    number: int
    memory_limit: int  # bytes, all its processes together
    folder: str = ""  # where it works, if that is not within its own file system
    killed_for: str = ""


def main(control: socket.socket, preload: list[str], uid: int | None, isolated: bool) -> None:
    """Import ``preload``, say so, and serve until the control socket closes."""
    for name in preload:
        importlib.import_module(name)
    roles = {role: importlib.import_module(module) for role, module in ROLES.items()}
    gc.collect()
    gc.freeze()  # the collector must not touch, and so copy, the shared pages
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    os.set_blocking(wake_read, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write)
    forks: dict[int, Fork] = {}
    looked = 0.0
    base = _resident(os.getpid())
    control.send(json.dumps({"ready": os.getpid(), "base": base}).encode())
    while True:
        timeout = WATCH_EVERY if forks else None
        ready = _readable([control, wake_read], timeout)
        if wake_read in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(wake_read, 4096)
        _reap(control, forks)
        if control not in ready:
            if time.monotonic() > looked + WATCH_EVERY:
                _watch_memory(forks)
                looked = time.monotonic()
            continue
        data, descriptors = _receive(control)
        if not data:
            break
        request = json.loads(data)
        if request["op"] == "fork":
            limits = Limits(**request["limits"])
            folder = "" if isolated else tempfile.mkdtemp(prefix="grading-")
            pid = _fork(roles[request["role"]], limits, uid, folder, descriptors)
            forks[pid] = Fork(int(request["number"]), base + (limits.memory_mb << 20), folder)
        elif request["op"] == "kill":
            for pid, fork in forks.items():
                if fork.number == request["number"]:
                    _kill(pid)
        elif request["op"] == "load":
            for name in request["modules"]:
                importlib.import_module(name)
            gc.freeze()
        for descriptor in descriptors:
            os.close(descriptor)
    for pid, fork in forks.items():
        _kill(pid)
        _clear(fork)


def _readable(sources: list[Any], timeout: float | None) -> list[Any]:
    return select.select(sources, [], [], timeout)[0]


def _receive(control: socket.socket) -> tuple[bytes, list[int]]:
    room = socket.CMSG_SPACE(3 * array.array("i").itemsize)
    data, ancillary, _, _ = control.recvmsg(1 << 16, room)
    found = array.array("i")
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            found.frombytes(payload[: len(payload) - len(payload) % found.itemsize])
    return data, list(found)


def _kill(launcher: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(launcher, signal.SIGKILL)


def _clear(fork: Fork) -> None:
    if fork.folder:
        shutil.rmtree(fork.folder, ignore_errors=True)


def _reap(control: socket.socket, forks: dict[int, Fork]) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        fork = forks.pop(pid, None)
        if fork is not None:
            _clear(fork)
            report = {"exit": fork.number, "status": os.waitstatus_to_exitcode(status),
                      "killed_for": fork.killed_for}  # fmt: skip
            control.send(json.dumps(report).encode())


# ------------------------------------------------------------------------------------------ forks


def _fork(role: Any, limits: Limits, uid: int | None, folder: str, fds: list[int]) -> int:
    """Fork a process that works in ``folder``, or, without one, in a file system of its own."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        confine.die_with_parent()
        if not folder:
            confine.new_namespaces()
            _launch(role, limits, uid, fds)
        os.chdir(folder)
        _become_role(role, limits, None, fds, isolated=False)
    except BaseException as error:
        _complain(fds, error)
    os._exit(70)


def _launch(role: Any, limits: Limits, uid: int | None, fds: list[int]) -> NoReturn:
    first = os.fork()
    if first:
        for descriptor in fds:
            os.close(descriptor)
        _, status = os.waitpid(first, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    confine.die_with_parent()
    confine.fresh_filesystems(limits.scratch_mb)
    runner = os.fork()
    if not runner:
        _become_role(role, limits, uid, fds, isolated=True)
    for descriptor in fds:
        os.close(descriptor)
    while True:
        pid, status = os.wait()
        if pid == runner:
            code = os.waitstatus_to_exitcode(status)
            os._exit(128 - code if code < 0 else code)


def _become_role(
    role: Any, limits: Limits, uid: int | None, fds: list[int], *, isolated: bool
) -> NoReturn:
    try:
        channel, out, err = fds
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        confine.close_all_but({0, 1, 2, channel})
        if isolated:
            confine.drop_bounding_set()
            confine.become(uid)
            confine.allow_own_proc()
            confine.limit_resources(
                memory_mb=limits.memory_mb, processes=limits.processes, file_mb=limits.file_mb,
                cpu_seconds=limits.cpu_seconds,
            )  # fmt: skip
            confine.drop_privileges()
            if syscalls.supported():
                syscalls.install()
            os.makedirs("/tmp/home", exist_ok=True)
            os.makedirs("/tmp/work", exist_ok=True)
            os.chdir("/tmp/work")
        role.serve(socket.socket(fileno=channel), limits)
        os._exit(0)
    except BaseException as error:
        _complain(fds, error)
        os._exit(70)


def _complain(fds: list[int], error: BaseException) -> None:
    """Say on standard error what stopped a fork before it could serve."""
    for descriptor in (2, *fds[2:]):
        with contextlib.suppress(OSError):
            os.write(descriptor, f"grading sandbox: {error!r}\n".encode())


# ----------------------------------------------------------------------------------------- memory


def _resident(pid: int) -> int:
    """Bytes of memory that the process holds, its share of what it shares (0 if it has gone)."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as rollup:
            for line in rollup:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) << 10
    except OSError:
        return 0
    return 0


def _children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat") as stat:
                parent = int(stat.read().rpartition(")")[2].split()[1])
                found.setdefault(parent, []).append(int(name))
    return found


def _anonymous(pid: int) -> int:
    """An upper bound that is cheap to read: resident pages that belong to no file."""
    try:
        with open(f"/proc/{pid}/statm") as statm:
            fields = statm.read().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")


def _watch_memory(forks: dict[int, Fork]) -> None:
    """Kill a fork whose processes together hold more than it may: a limit per process is not one
    for a thousand of them."""
    if not forks:
        return
    children = _children()
    for pid, fork in forks.items():
        family, queue = [], [pid]
        while queue:
            member = queue.pop()
            family.append(member)
            queue += children.get(member, [])
        if sum(map(_anonymous, family)) < fork.memory_limit:
            continue
        total = 0
        for member in family:  # each takes a while: stop as soon as it is clear
            total += _resident(member)
            if total > fork.memory_limit:
                fork.killed_for = "memory"
                _kill(pid)
                break
