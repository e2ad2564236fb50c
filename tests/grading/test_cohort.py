"""A class in one command: nobody ungraded, resumable, manual scores kept, a report."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader.api import Gradebook

from course.grading import cli, record, running
from course.grading.cohort import Cohort
from course.grading.limits import Limits
from tests.grading.hostile import all_cases
from tests.grading.lab import RIGHT, ROOT, SECRET, WRONG, Lab, find

TROUBLE = ("exit-in-test", "stubborn-loop", "memory-tensor", "link-notebook", "empty-file",
           "no-metadata", "update-grade", "prints")  # fmt: skip


class Here(Executor):
    """Runs at once, in this process: the warm parent of the tests is used."""

    def __init__(self) -> None:
        self.runs: list[Any] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.runs.append(args)
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future


def command(lab: Lab, *args: str) -> int:
    return cli.main(["tiny", "--root", str(lab.root), *args])


def rows(lab: Lab) -> dict[str, dict[str, str]]:
    path = lab.root / "class" / "reports" / "tiny.csv"
    with path.open(newline="") as handle:
        return {row["student_id"]: row for row in csv.DictReader(handle)}


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Here:
    """The command line with a pool that is this process."""
    import contextlib

    import course.parallel

    pool = Here()
    monkeypatch.setattr(course.parallel, "executor", lambda *a: contextlib.nullcontext(pool))
    return pool


@pytest.mark.timeout(900)
def test_a_class_of_24_with_8_in_trouble(lab: Lab, here: Here) -> None:
    cases = {c.name: c for c in all_cases(lab.root, 9) if c.name in TROUBLE}
    assert len(cases) == len(TROUBLE) == 8
    names = [f"learner{i:02}" for i in range(15)] + ["Åsa O'Neil (3+)"]
    for i, student in enumerate(names):
        lab.submit(student, lab.notebook(RIGHT if i % 4 else WRONG))
    for name, case in cases.items():
        case.hand_in(lab, name)
    assert command(lab) == 0
    found = rows(lab)
    assert len(found) == 24
    for i, student in enumerate(names):
        assert float(found[student]["total"]) == (10 if i % 4 else 0)
    for name, case in cases.items():
        assert float(found[name]["total"]) == case.deserves, name
        assert found[name]["graded_at"]
    page = (lab.root / "class/reports/tiny.html").read_text()
    assert "24 submissions, 24 graded" in page
    assert "the file is empty" in page
    assert "http" not in page.replace("http-equiv", "")
    assert SECRET not in page
    for student in found:
        assert SECRET not in lab.feedback(student)

    # The same again: nothing has changed, so nothing is run.
    here.runs.clear()
    assert command(lab) == 0
    assert here.runs == []
    assert rows(lab) == found

    # One changes, and only that one is run.
    lab.submit("learner00", lab.notebook(RIGHT))
    assert command(lab) == 0
    assert len(here.runs) == 1
    assert float(rows(lab)["learner00"]["total"]) == 10


def test_a_broken_file_takes_the_old_score_away(lab: Lab) -> None:
    lab.submit("ann", lab.notebook(RIGHT))
    lab.autograde()
    assert lab.total("ann") == 10
    lab.submit("ann", b"not a notebook")
    answer = lab.autograde(force=False)  # plain nbgrader would skip it here
    assert answer["success"]
    assert lab.total("ann") == 0
    assert "not valid JSON" in lab.text("ann")


def test_manual_scores_and_comments_survive(lab: Lab, here: Here) -> None:
    nb = lab.notebook(WRONG)
    find(nb, "essay").source = "Because."
    lab.submit("ann", nb)
    assert command(lab) == 0
    assert "needs a manual grade" in rows(lab)["ann"]["needs_a_look"]
    with Gradebook(lab.room.db_url) as gradebook:
        found = gradebook.find_submission_notebook("tiny", "tiny", "ann")
        for grade in found.grades:
            if grade.cell.name == "essay":
                grade.manual_score, grade.needs_manual_grade = 1.5, False
            if grade.cell.name == "visible":
                grade.manual_score, grade.extra_credit = 1.0, 0.25
        found.comments[0].manual_comment = "Nicely put."
        gradebook.db.commit()
    assert command(lab, "--force") == 0
    assert float(rows(lab)["ann"]["score"]) == 2.75
    with Gradebook(lab.room.db_url) as gradebook:
        found = gradebook.find_submission_notebook("tiny", "tiny", "ann")
        assert found.comments[0].manual_comment == "Nicely put."


def test_changed_tests_are_noticed_and_everybody_is_graded_again(
    lab: Lab, here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.submit("ann", lab.notebook("def double(x):\n    return x + x if x.numel() != 4 else x"))
    assert command(lab) == 0
    assert float(rows(lab)["ann"]["total"]) == 7
    path = lab.root / "solutions" / "tiny" / "tiny.ipynb"
    nb = nbformat.read(path, as_version=4)
    for cell in nb.cells:
        cell.source = cell.source.replace("torch.randn(4)", "torch.randn(5)")
    nbformat.write(nb, path)
    assert "older tests" in json.dumps(lab.autograde(force=False))
    assert command(lab) == 0
    assert "brought up to date" in capsys.readouterr().out
    assert float(rows(lab)["ann"]["total"]) == 10


def test_renamed_cells_after_grading_are_refused_with_advice(
    lab: Lab, here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.submit("ann", lab.notebook())
    assert command(lab) == 0
    path = lab.root / "solutions" / "tiny" / "tiny.ipynb"
    path.write_text(path.read_text().replace('"grade_id": "hidden"', '"grade_id": "renamed"'))
    assert command(lab) == 2
    assert "Put their old grade_ids back" in capsys.readouterr().err
    assert lab.total("ann") == 10


def test_one_that_fails_inside_the_grader_does_not_stop_the_others(
    lab: Lab, here: Here, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ann", "bob", "eve"):
        lab.submit(name, lab.notebook(f"# {name}\n{RIGHT}"))
    real = running.run

    def run(asked: Any) -> Any:
        if "# bob" in json.dumps(asked):
            raise OSError("the disk is full")
        return real(asked)

    monkeypatch.setattr(running, "run", run)
    assert command(lab) == 1
    assert "NOT GRADED bob: OSError: the disk is full" in capsys.readouterr().err
    assert (lab.total("ann"), lab.total("eve")) == (10, 10)
    assert "not graded: OSError" in rows(lab)["bob"]["needs_a_look"]
    monkeypatch.setattr(running, "run", real)
    here.runs.clear()
    assert command(lab) == 0
    assert len(here.runs) == 1  # only bob was left
    assert lab.total("bob") == 10


def test_a_record_lets_an_appeal_run_again(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    lab.submit("ann", lab.notebook("def double(x):\n    return x + x if x.dim() == 2 else x"))
    assert command(lab) == 0
    capsys.readouterr()
    (kept,) = record.read_all(lab.room.folder("records"), "tiny")
    assert kept["score"] == 5.0
    assert kept["isolation"] == "bwrap"
    assert kept["limits"] == Limits().to_dict()
    assert kept["versions"]["torch"]
    assert len(kept["submission_sha256"]) == 64
    assert [t["grade_id"] for t in kept["tests"]] == ["visible", "hidden", "partial"]
    assert SECRET in kept["tests"][1]["private"]  # the instructor sees what the learner does not
    assert kept["seconds"] > 0
    assert command(lab, "--appeal", "--student", "ann") == 0
    said = capsys.readouterr().out
    assert "hidden: 0 then, 0 now, of 3  =" in said
    assert "partial: 5 then, 5 now, of 5  =" in said
    assert "Confirmed." in said
    assert "not as it was" not in said
    assert len(list(record.read_all(lab.room.folder("records"), "tiny"))) == 1  # nothing changed
    lab.submit("ann", lab.notebook(RIGHT))
    assert command(lab, "--appeal", "--student", "ann") == 1
    said = capsys.readouterr().out
    assert "hidden: 0 then, 3 now, of 3  DIFFERS" in said
    assert "the submission is another one" in said
    assert command(lab, "--appeal", "--student", "zoe") == 2
    assert command(lab, "--appeal") == 2


def test_solutions_may_live_elsewhere(
    lab: Lab, tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lab.root / "solutions").rename(tmp_path / "private")
    monkeypatch.setenv("COURSE_SOLUTIONS", str(tmp_path / "private"))
    lab.submit("ann", lab.notebook())
    assert command(lab) == 0
    assert lab.total("ann") == 10


def test_submissions_are_taken_from_a_folder_and_old_ones_kept(lab: Lab, tmp_path: Path) -> None:
    download = tmp_path / "download"
    (download / "ann").mkdir(parents=True)
    nbformat.write(lab.notebook(), download / "ann" / "tiny.ipynb")
    (download / "bob" / "tiny").mkdir(parents=True)
    nbformat.write(lab.notebook(), download / "bob" / "tiny" / "tiny.ipynb")
    nbformat.write(lab.notebook(WRONG), download / "eve.ipynb")
    (download / "mal").symlink_to("/etc")
    assert lab.room.take_in(download, "tiny") == ["ann", "bob", "eve", "mal"]
    submitted = lab.room.folder("submitted")
    assert (submitted / "eve" / "tiny" / "tiny.ipynb").is_file()
    assert not (submitted / "mal" / "tiny" / "passwd").exists()
    lab.room.take_in(download, "tiny")
    assert not [p for p in lab.room.folder("superseded").glob("*/*/*") if "mal" not in str(p)]
    nbformat.write(lab.notebook(), download / "eve.ipynb")
    lab.room.take_in(download, "tiny")
    (old,) = lab.room.folder("superseded", "eve", "tiny").iterdir()
    assert WRONG.splitlines()[1] in (old / "tiny.ipynb").read_text()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nothing-such"], "There is no assignment 'nothing-such'. There are: tiny."),
        (["tiny"], "nothing to grade"),
        (["tiny", "--jobs", "0"], "--jobs must be at least 1, got 0"),
        (["tiny", "--student", "zoe"], "no submission of tiny by zoe"),
        (["tiny", "--submissions", "/nowhere"], "There is no folder /nowhere"),
    ],
)
def test_bad_input_is_named(
    lab: Lab, args: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*args, "--root", str(lab.root)]) == 2
    assert said in capsys.readouterr().err


def test_a_name_that_is_a_pattern(
    lab: Lab, here: Here, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """nbgrader cannot find such a folder; from a download it is taken in under another name."""
    lab.submit("ann [3]", lab.notebook())
    lab.submit("bob", lab.notebook())
    assert command(lab) == 1
    assert "NOT GRADED ann [3]: nbgrader takes *?[] in a name" in capsys.readouterr().err
    assert lab.total("bob") == 10
    (tmp_path / "download").mkdir()
    nbformat.write(lab.notebook(), tmp_path / "download" / "eve [2].ipynb")
    assert lab.room.take_in(tmp_path / "download", "tiny") == ["eve _2_"]
    assert command(lab, "--submissions", str(tmp_path)) == 2
    assert "holds this course" in capsys.readouterr().err


def test_two_gradings_at_once(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    lab.submit("ann", lab.notebook())
    with lab.room.alone("tiny"):
        assert command(lab) == 2
    assert "is being graded by another process" in capsys.readouterr().err


def test_outside_a_course_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["tiny", "--no-isolation"]) == 2
    assert "There is no nbgrader_config.py" in capsys.readouterr().err


def test_an_interrupted_run_goes_on(lab: Lab) -> None:
    """The real command with real processes, interrupted and started again."""
    for i in range(4):
        slow = f"import time\ntime.sleep({0.1 if i < 2 else 2})"
        lab.submit(f"s{i}", lab.notebook(RIGHT, [slow]))
    line = [sys.executable, "-m", "course", "grade", "tiny", "--jobs", "2"]
    process = subprocess.Popen(
        line, cwd=lab.root, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    records = lab.room.folder("records")
    end = time.monotonic() + 240
    while not list(records.glob("*/tiny/*.json")) and time.monotonic() < end:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=120)
    first = {p.parent.parent.name for p in records.glob("*/tiny/*.json")}
    assert first, said
    done = subprocess.run(
        line, cwd=lab.root, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
        capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [lab.total(f"s{i}") for i in range(4)] == [10] * 4
    if process.returncode == 130:  # it was stopped before the end
        assert b"Interrupted" in said
        assert len(list(records.glob("*/tiny/*.json"))) <= 5


def test_a_late_cohort_object_needs_no_command_line(lab: Lab) -> None:
    """The pieces by themselves: what the command prints is what `Summary` holds."""
    lab.submit("ann", lab.notebook())
    summary = Cohort(lab.room, "tiny").grade(["ann"], Here())
    assert (summary.graded, summary.unchanged, summary.failed) == (["ann"], [], {})
    assert not list(lab.room.folder("results").iterdir())
