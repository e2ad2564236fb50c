"""Writing the gradebook ahead: faster, and nothing lost when a grading dies."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from sqlalchemy import create_engine, event, text
from sqlalchemy.engine import Engine

from course.grading import journal


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "gradebook.db"
    with Gradebook(f"sqlite:///{path}") as gradebook:
        gradebook.add_student("ann")
    return path


def url(book: Path) -> str:
    return f"sqlite:///{book}"


def add(book: Path, student: str) -> None:
    with Gradebook(url(book)) as gradebook:
        gradebook.add_student(student)


def students(book: Path) -> list[str]:
    with Gradebook(url(book)) as gradebook:
        return sorted(s.id for s in gradebook.students)


def pragma(book: Path, name: str) -> object:
    engine = create_engine(url(book))
    with engine.connect() as connection:
        found = connection.execute(text(f"PRAGMA {name}")).scalar()
    engine.dispose()
    return found


def test_it_writes_ahead_for_as_long_as_it_is_asked_and_is_one_file_again(book: Path) -> None:
    before = (pragma(book, "journal_mode"), pragma(book, "synchronous"))
    assert before == ("delete", 2)
    with journal.ahead(url(book)):
        assert (pragma(book, "journal_mode"), pragma(book, "synchronous")) == ("wal", 1)
        add(book, "bob")
    assert (pragma(book, "journal_mode"), pragma(book, "synchronous")) == before
    assert [p.name for p in book.parent.iterdir()] == [book.name]
    assert students(book) == ["ann", "bob"]


def test_an_error_on_the_way_puts_everything_back(book: Path) -> None:
    def interrupted() -> None:
        with journal.ahead(url(book)):
            add(book, "bob")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interrupted()
    assert (pragma(book, "journal_mode"), pragma(book, "synchronous")) == ("delete", 2)
    assert students(book) == ["ann", "bob"]


def test_what_is_settled_is_in_the_file_itself(book: Path) -> None:
    copy = book.with_name("copy.db")
    with journal.ahead(url(book)) as settle:
        add(book, "bob")
        settle()
        shutil.copy(book, copy)  # without the journal
    assert students(copy) == ["ann", "bob"]


def test_a_grading_that_is_killed_loses_nothing(book: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from nbgrader.api import Gradebook\n"
        "from course.grading import journal\n"
        "with journal.ahead(sys.argv[1]):\n"
        "    Gradebook(sys.argv[1]).add_student('bob')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, url(book)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert book.with_name("gradebook.db-wal").stat().st_size > 0
    assert students(book) == ["ann", "bob"]
    with journal.ahead(url(book)):
        add(book, "eve")
    assert students(book) == ["ann", "bob", "eve"]
    assert pragma(book, "journal_mode") == "delete"


def test_a_reader_beside_it_is_not_in_the_way(book: Path) -> None:
    with journal.ahead(url(book)) as settle:
        with closing(sqlite3.connect(book)) as reader:
            rows = reader.execute("select id from student")  # the form grader, looking
            add(book, "bob")
            settle()
            assert rows.fetchall() == [("ann",)]
    assert students(book) == ["ann", "bob"]
    assert pragma(book, "journal_mode") == "delete"


def test_where_it_cannot_write_ahead_it_writes_as_always(
    book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "_ask", lambda connection, question: None)
    with journal.ahead(url(book)) as settle:
        add(book, "bob")
        settle()
        assert pragma(book, "synchronous") == 2
    assert students(book) == ["ann", "bob"]


def test_another_database_is_let_alone() -> None:
    with journal.ahead("postgresql+psycopg://nobody@localhost:1/none") as settle:
        assert not event.contains(Engine, "connect", journal._lighter)
        assert settle() is None, "it was asked something, and nobody is there"
