"""One build of a clone at a time; a second one waits for the first."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def building(root: Path) -> Iterator[None]:
    """Hold the clone's lock; it goes when the process ends, however it ends."""
    try:
        import fcntl
    except ImportError:  # no such locks on Windows: there, one build at a time is the user's care
        yield
        return
    (root / "_build").mkdir(exist_ok=True)
    with (root / "_build" / ".book-lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            print("Another build of this clone is running; waiting for it …", file=sys.stderr)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
