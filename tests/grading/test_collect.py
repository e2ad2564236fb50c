"""Collecting from an exchange into whose inbound folder learners have put what they like."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config

from tests.grading.lab import Lab
from tests.grading.other_user import IS_ROOT

TIME = "2027-03-01 10:00:00.000000 UTC"
LATER = "2027-03-02 10:00:00.000000 UTC"


class Inbound:
    """The inbound folder of an exchange, and collecting from it."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        root = lab.root / "exchange"
        self.folder = root / "attention-from-average" / "inbound"
        self.folder.mkdir(parents=True)
        changes = Config()
        changes.Exchange.root = str(root)
        config = lab.room.api.config.copy()
        config.merge(changes)
        self.api = NbGraderAPI(config=config)

    def put(self, name: str, *, time: str = TIME, said: str | None = None) -> Path:
        """A learner's folder with the right answer in it."""
        folder = self.folder / f"{name}+tiny+{time}+r4nd0m"
        folder.mkdir()
        nbformat.write(self.lab.notebook(), folder / "tiny.ipynb")
        (folder / "timestamp.txt").write_text(time if said is None else said)
        return folder

    def collect(self) -> Any:
        answer = self.api.collect("tiny", update=True)
        assert answer["success"], answer
        return answer["log"]


@pytest.fixture
def inbound(lab: Lab) -> Inbound:
    return Inbound(lab)


def test_links_to_what_only_the_instructor_may_read_are_refused(lab: Lab, inbound: Inbound) -> None:
    solution = lab.root / "solutions" / "tiny"
    inbound.put("ann")
    linked = inbound.put("bob")
    (linked / "tiny.ipynb").unlink()
    (linked / "tiny.ipynb").symlink_to(solution / "tiny.ipynb")
    (linked / "more").symlink_to(solution)
    (inbound.folder / f"eve+tiny+{TIME}+r4nd0m").symlink_to(solution)
    said = inbound.collect()
    assert "bob+tiny" in said
    assert "is a link and will be refused" in said
    lab.autograde()
    assert [lab.total(name) for name in ("ann", "bob", "eve")] == [10, 0, 0]
    for name in ("bob", "eve"):
        assert "link" in lab.text(name)
        folder = lab.root / "class" / "submitted" / name / "tiny"
        files = [p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()]
        assert [p.name for p in files] == ["timestamp.txt"]
    inbound.collect()  # and once more: nothing stands in its way


def test_nobody_stops_the_others(lab: Lab, inbound: Inbound) -> None:
    os.mkfifo(inbound.put("fay", said="whenever you like") / "pipe")
    (inbound.put("gus") / "timestamp.txt").unlink()
    for odd in ("hal+tiny+not-a-time+x", f"..+tiny+{TIME}+x", f"+tiny+{TIME}+x"):
        (inbound.folder / odd).mkdir()
    (inbound.folder / f"ivy+tiny+{TIME}+x").write_text("a file, not a folder")
    inbound.put("zoe")
    said = inbound.collect()
    for name in ("hal", "/+tiny", "pipe"):
        assert any(name in line for line in said.splitlines() if "ERROR" in line), (name, said)
    lab.autograde()
    assert [lab.total(n) for n in ("fay", "gus", "ivy", "zoe")] == [10, 10, 0, 10]
    assert not (lab.root / "class" / "tiny").exists()
    with Gradebook(lab.room.db_url) as gradebook:
        late = gradebook.find_submission("tiny", "fay").timestamp
    assert f"{late:%Y-%m-%d}" == TIME[:10]  # that of the folder's name
    inbound.put("fay", time=LATER)
    inbound.collect()
    timestamp = lab.root / "class" / "submitted" / "fay" / "tiny" / "timestamp.txt"
    assert timestamp.read_text() == LATER


def test_what_is_too_large_is_said_and_the_next_is_collected(
    lab: Lab, inbound: Inbound, caplog: pytest.LogCaptureFixture
) -> None:
    inbound.api.coursedir.max_dir_size = inbound.api.config.CourseDirectory.max_dir_size = 100
    with (inbound.put("ann") / "data.bin").open("wb") as file:
        file.truncate(200_000)
    inbound.put("bob")
    with caplog.at_level(logging.ERROR):
        said = inbound.collect()
    assert "more than 100 kB" in said
    submitted = lab.root / "class" / "submitted"
    assert not (submitted / "ann" / "tiny" / "tiny.ipynb").exists()
    assert (submitted / "bob" / "tiny" / "tiny.ipynb").exists()


@pytest.mark.skipif(not IS_ROOT, reason="needs root to give a file to another user")
def test_a_file_of_another_user_is_not_taken(lab: Lab, inbound: Inbound) -> None:
    """As when a folder is exchanged for a link while it is copied."""
    theirs = inbound.put("ann")
    for path in (theirs, theirs / "timestamp.txt"):
        shutil.chown(path, "nobody")
    assert "belongs to another user" in inbound.collect()
    assert not (lab.root / "class" / "submitted" / "ann" / "tiny" / "tiny.ipynb").exists()
