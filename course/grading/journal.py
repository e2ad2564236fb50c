"""Write the gradebook at the speed of a disk that is asked once a submission, not 18 times.

nbgrader commits after every score, and by default SQLite waits for the disk several times in each
commit: more than half the time that a class took. For the length of a grading a journal written
ahead (WAL) takes the commits; nothing is lost when the process dies, and `settle` has the disk
hold what was written so far.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import create_engine, event
from sqlalchemy.engine import Engine

_KEEP_SAFE = "PRAGMA synchronous=NORMAL"  # with WAL: never a broken file, the disk waited for later


def _lighter(connection: Any, _: Any) -> None:
    if isinstance(connection, sqlite3.Connection):
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
        if mode == "wal":
            connection.execute(_KEEP_SAFE)


@contextlib.contextmanager
def ahead(db_url: str) -> Iterator[Callable[[], None]]:
    """For the length of a ``with``, the gradebook at ``db_url`` writes ahead; yields ``settle``.

    ``settle()`` returns once the disk holds everything committed before (but for what another
    program is reading an older state of just then). Afterwards the gradebook is one file again,
    unless another program has it open. A gradebook that is no SQLite file, or lies where SQLite
    cannot write ahead (some network file systems), is written as always.
    """
    engine = create_engine(db_url)
    if engine.dialect.name != "sqlite":
        engine.dispose()
        yield lambda: None
        return
    # Held open: SQLite would clear the journal away, and wait for the disk, at each last close.
    with contextlib.closing(engine.raw_connection()) as held:
        if not _switch(held, "wal"):
            yield lambda: None
            return
        event.listen(Engine, "connect", _lighter)
        try:
            yield lambda: _ask(held, "PRAGMA wal_checkpoint(PASSIVE)")
        finally:
            event.remove(Engine, "connect", _lighter)
            _ask(held, "PRAGMA wal_checkpoint(PASSIVE)")
            _switch(held, "delete")
    engine.dispose()


def _switch(connection: Any, mode: str) -> bool:
    """Ask for a kind of journal; whether the gradebook has it now."""
    return _ask(connection, f"PRAGMA journal_mode={mode}") == mode


def _ask(connection: Any, question: str) -> Any:
    """The first value of the answer; ``None`` where another program holds the gradebook."""
    try:
        return connection.cursor().execute(question).fetchone()[0]
    except sqlite3.OperationalError:
        return None
