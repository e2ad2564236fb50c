"""One run at a time for one record, also across processes.

The lock is the operating system's on an open file, so a process that dies, however it dies, lets
go of it: there is no stale lock to clean up.  What the file says (process, host, since when) is
for people.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from course.experiments.provenance import now
from course.files import cache_dir

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["Held", "hold"]


class Held(Exception):
    """Somebody else holds the lock; the message says who."""


def _try_lock(file: IO[str]) -> bool:
    try:
        if sys.platform == "win32":
            file.seek(1 << 20)  # past the text: a locked byte cannot be read by others there
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def hold(record: Path, wait: bool = False, poll_seconds: float = 1.0) -> Iterator[str]:
    """Hold the lock of the record at ``record``; yields a message where a dead holder left one.

    The lock file lies in the cache (the record's folder is part of the tree).

    Raises:
        Held: another process holds it and ``wait`` is False.
    """
    resolved = record.resolve()
    key = hashlib.sha256(str(resolved).encode()).hexdigest()[:12]
    path = cache_dir() / "locks" / f"{resolved.parent.name}-{resolved.stem}-{key}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+", encoding="utf-8") as file:
        while not _try_lock(file):
            if not wait:
                name = f"{resolved.parent.name}/{resolved.stem}"
                raise Held(f"{name} is being run by {_holder(path)}")
            time.sleep(poll_seconds)
        left = _holder(path) if path.stat().st_size else ""
        file.seek(0)
        file.truncate()
        json.dump({"pid": os.getpid(), "host": socket.gethostname(), "since": now()}, file)
        file.flush()
        try:
            yield f"taking over from {left}, which is no longer running" if left else ""
        finally:
            file.seek(0)
            file.truncate()


def _holder(path: Path) -> str:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return f"process {data['pid']} on {data['host']} (since {data['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
