"""A wrong answer that tries to change what is outside its process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.grading.hostile.case import FULL, NOTHING, Case, cells
from tests.grading.lab import Lab


def breaking(root: Path, port: int) -> Iterator[Case]:
    """A wrong answer that tries to change what is outside its process."""
    database = root / "class" / "gradebook.db"
    yield cells(
        "update-grade",
        NOTHING,
        f"""import sqlite3
try:
    connection = sqlite3.connect({str(database)!r})
    connection.execute("UPDATE grade SET auto_score = 10, manual_score = 10")
    connection.commit()
    print("CHANGED")
except sqlite3.Error as error:
    print("refused", error)""",
        says="refused",
    )
    yield cells(
        "write-course",
        NOTHING,
        f"""import course, pathlib, sys, torch
targets = [{str(root)!r}, {str(root / "solutions")!r}, pathlib.Path(course.__file__).parent,
           pathlib.Path(torch.__file__).parent, sys.prefix, "/", "/etc", "/usr", "/dev"]
for target in targets:
    try:
        pathlib.Path(target, "planted-7261").write_text("x")
        print("PLANTED", target)
    except OSError as error:
        print("refused", target)
try:
    open(course.__file__, "a")
    print("PLANTED")
except OSError:
    print("refused")""",
        says="refused",
    )
    yield cells(
        "network",
        NOTHING,
        f"""import socket, urllib.request
for address in (("127.0.0.1", {port}), ("1.1.1.1", 53), ("localhost", {port})):
    try:
        socket.create_connection(address, timeout=1).sendall(b"hello")
        print("CONNECTED", address)
    except OSError as error:
        print("refused", error)
for family in (socket.AF_NETLINK, 40, 38):  # netlink, vsock, the kernel's crypto
    try:
        socket.socket(family, socket.SOCK_DGRAM)
        print("family", family)
    except OSError as error:
        print("refused", family)""",
        says="refused",
    )
    yield cells(
        "orphan",
        NOTHING,
        """import os
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv("/bin/sleep", ["orphan-7261", "600"])
    os._exit(0)""",
    )
    yield cells(
        "kill-others",
        NOTHING,
        """import os, signal
for pid in list(range(1, 400)) + [-1]:
    if pid != os.getpid():
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass""",
    )
    yield cells(
        "gain-rights",
        NOTHING,
        """import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print("unshare", libc.unshare(0x10000000), libc.unshare(0x00020000))
print("mount", libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))
print("ptrace", libc.ptrace(16, 1, 0, 0))
for change in (lambda: os.setuid(0), lambda: os.setgroups([0]), lambda: os.chroot("/tmp")):
    try:
        change()
        print("GAINED")
    except OSError:
        print("refused")
print([line for line in open("/proc/self/status") if line.startswith("Cap")])""",
        says="refused",
    )
    yield Case("link-notebook", NOTHING, _link_notebook, "is a link")
    yield Case("link-file", FULL, _link_file, "was refused")
    yield Case("link-folder", NOTHING, _link_folder, "link to another folder")


def _link_notebook(lab: Lab, who: str) -> None:
    folder = lab.submit(who, None)
    (folder / "tiny.ipynb").symlink_to(lab.root / "solutions" / "tiny" / "tiny.ipynb")


def _link_file(lab: Lab, who: str) -> None:
    folder = lab.submit(who, lab.notebook())
    (folder / "data.txt").symlink_to("/etc/passwd")
    (folder / "folder").symlink_to("/etc")


def _link_folder(lab: Lab, who: str) -> None:
    folder = lab.root / "class" / "submitted" / who
    folder.mkdir(parents=True)
    (folder / "tiny").symlink_to(lab.root / "solutions" / "tiny")
