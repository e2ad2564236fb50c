"""Late penalties, exports to learning management systems, and a gradebook in PostgreSQL."""

from __future__ import annotations

import csv
import io
from datetime import datetime
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from traitlets import TraitError

from course.grading import exports
from course.grading.classroom import Classroom
from course.grading.late import LatePenalty
from course.grading.parent import WarmParent
from tests.grading.lab import RIGHT, WRONG, Lab

HOUR, DAY = 3600.0, 86_400.0


@pytest.mark.parametrize(
    ("late", "points"),
    [(60, None), (15 * 60, None), (16 * 60, 1.0), (23 * HOUR, 1.0), (DAY + 1, 2.0),
     (4 * DAY, 4.0), (30 * DAY, 5.0)],
)  # fmt: skip
def test_a_tenth_a_day_after_a_grace_and_no_more_than_half(late: float, points: float) -> None:
    plugin = LatePenalty(percent_per_day=10.0, most_percent=50.0)
    assert plugin.late_submission_penalty("ann", 10.0, late) == points


def test_an_extension_moves_the_date() -> None:
    plugin = LatePenalty(percent_per_day=10.0, extensions={"ann": 48})
    assert plugin.late_submission_penalty("ann", 10.0, 2 * DAY) is None
    assert plugin.late_submission_penalty("ann", 10.0, 2 * DAY + HOUR) == 1.0
    assert plugin.late_submission_penalty("bob", 10.0, 2 * DAY) == 2.0
    assert LatePenalty().late_submission_penalty("bob", 10.0, 2 * DAY) is None
    with pytest.raises((ValueError, TraitError), match="0 to 100"):
        LatePenalty(percent_per_day=110.0)


def late_class(lab: Lab, room: Classroom) -> None:
    """Ann in time and right, Bob a day and a half late, Eve wrong; Zoe handed in nothing."""
    with Gradebook(room.db_url) as gradebook:
        gradebook.update_or_create_assignment("tiny", duedate=datetime(2026, 3, 1, 12))
        gradebook.update_or_create_student("zoe", first_name="Zoë", last_name="=Quine")
        gradebook.update_or_create_student("ann", first_name="Ann", email="ann@uni.example")
    for student, answer, handed_in in (
        ("ann", RIGHT, "2026-03-01 11:59:00 UTC"), ("bob", RIGHT, "2026-03-03 00:00:00 UTC"),
        ("eve", WRONG, "2026-03-01 13:00:00 UTC"),
    ):  # fmt: skip
        folder = lab.submit(student, lab.notebook(answer))
        (folder / "timestamp.txt").write_text(handed_in)
    assert room.api.autograde("tiny", "*", force=True)["success"]


def test_penalties_and_exports(lab: Lab) -> None:
    from traitlets.config import Config

    changes = Config()
    changes.LatePenalty.percent_per_day = 20.0
    room = Classroom(lab.root, changes)
    late_class(lab, room)
    with Gradebook(room.db_url) as gradebook:
        canvas = list(csv.reader(io.StringIO(exports.canvas(gradebook, ["tiny"], []))))
        moodle = list(csv.DictReader(io.StringIO(exports.moodle(gradebook, [], []))))
        one = exports.moodle(gradebook, ["tiny"], ["bob"])
    assert canvas[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "tiny"]
    assert canvas[1][-1] == "12"
    assert {row[3]: row[5] for row in canvas[2:]} == {
        "ann": "10",
        "bob": "6",
        "eve": "0",
        "zoe": "",
    }
    assert canvas[-1][0] == "'=Quine, Zoë"  # no formula
    assert list(moodle[0].values()) == ["ann", "Ann", "", "ann@uni.example", "10"]
    assert list(moodle[0]) == ["Username", "First name", "Last name", "Email address",
                               "Assignment: tiny (Real)"]  # fmt: skip
    assert len(one.splitlines()) == 2


def test_the_exporters_are_nbgraders_plugins(lab: Lab, tmp_path: Path) -> None:
    lab.submit("ann", lab.notebook())
    lab.autograde()
    for plugin, head in ((exports.CanvasExport, "Student,ID"), (exports.MoodleExport, "Username")):
        target = tmp_path / "grades.csv"
        with Gradebook(lab.room.db_url) as gradebook:
            plugin(to=str(target), assignment=["tiny"]).export(gradebook)
        assert target.read_text().startswith(head)


def test_a_gradebook_in_postgresql(
    postgres: str, tmp_path: Path, parent: WarmParent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COURSE_GRADEBOOK", postgres)
    lab = Lab(tmp_path / "course")
    assert lab.room.db_url == postgres
    late_class(lab, lab.room)
    assert (lab.total("ann"), lab.total("bob"), lab.total("eve")) == (10, 10, 0)
    assert lab.room.api.generate_feedback("tiny", "*", force=True)["success"]
    lab.submit("ann", b"broken")
    assert lab.autograde(force=False)["success"]
    assert lab.total("ann") == 0
    assert not (lab.root / "class" / "gradebook.db").exists()
    from course.grading import cli

    assert cli.main(["tiny", "--root", str(lab.root), "--jobs", "1", "--export", "canvas"]) == 0
    exported = (lab.root / "class/reports/tiny-canvas.csv").read_text()
    assert "bob,,10" in exported
