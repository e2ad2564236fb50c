"""Runs: skipped when there, resumed when killed, reported when they fail; nothing is ever lost."""

from __future__ import annotations

import errno
import os
import signal
import time
from dataclasses import replace

import pytest

from course.experiments import checkpoints, runner
from course.experiments import records as records_module
from course.experiments.records import read_record, record_path
from course.experiments.registry import EXPERIMENTS, pieces_of_work
from course.experiments.runner import Outcome, Settings, run_all, run_row
from course.experiments.table import load_records

QUICK = Settings(budget="quick", device="cpu", progress=False)
ROW = ("pronouns", "average", 0)


@pytest.fixture
def short(monkeypatch):
    """The pronoun experiment at a few steps, the smallest training run there is."""
    pytest.importorskip("torch", reason="torch is not installed here")
    experiment = replace(EXPERIMENTS["pronouns"], quick={"steps": 30})
    monkeypatch.setitem(EXPERIMENTS, "pronouns", experiment)
    runner._loaded.cache_clear()
    return experiment


def path_of(piece=ROW):
    return record_path(*piece, "quick")


def test_a_run_leaves_a_whole_record(short):
    outcome = run_row(*ROW, QUICK)
    assert (outcome.status, outcome.message) == ("recorded", "")
    record = read_record(path_of())
    data = record.data
    assert data["budget"] == "quick"
    assert data["config"]["steps"] == 30
    assert len(data["first_losses"]) == 20
    assert len(data["loss_curve"]["step"]) == 30
    assert data["machine"]["device"] == "cpu"
    assert data["machine"]["threads"] >= 1
    assert data["machine"]["cpu"]
    assert set(data["versions"]) == {"python", "torch", "numpy"}
    assert set(data["git"]) == {"commit", "dirty"}
    assert "course.experiments.pronouns" in data["code"]["modules"]
    assert 0 <= record.metrics["right"] <= 1
    assert not list((path_of().parents[2] / "checkpoints").rglob("*.pt"))


def test_what_is_there_is_skipped_and_force_runs_it_again(short):
    assert run_row(*ROW, QUICK).status == "recorded"
    written = path_of().stat().st_mtime_ns
    assert run_row(*ROW, QUICK).status == "present"
    assert path_of().stat().st_mtime_ns == written
    assert run_row(*ROW, replace(QUICK, force=True)).status == "recorded"
    assert path_of().stat().st_mtime_ns != written


def test_a_changed_configuration_or_code_runs_again(short, monkeypatch):
    run_row(*ROW, QUICK)
    monkeypatch.setitem(EXPERIMENTS, "pronouns", replace(short, quick={"steps": 31}))
    assert run_row(*ROW, QUICK).status == "recorded"
    loaded = runner._loaded("pronouns")
    other = type(loaded.code)({**loaded.code, "course.training": "edited"})
    monkeypatch.setattr(runner, "_loaded", lambda name: replace(loaded, code=other))
    assert run_row(*ROW, QUICK).status == "recorded"
    assert read_record(path_of()).data["code"]["modules"]["course.training"] == "edited"


def test_the_same_seed_gives_the_same_record(short):
    run_row(*ROW, QUICK)
    first = read_record(path_of()).data
    run_row(*ROW, replace(QUICK, force=True))
    second = read_record(path_of()).data
    for field in ("metrics", "first_losses", "loss_curve", "curves"):
        assert first[field] == second[field]


class Stopped(BaseException):
    """Stands for a kill: nothing in the code catches it."""


@pytest.mark.parametrize("row", ["average", "one-block"])
def test_a_run_stopped_anywhere_resumes_to_the_same_numbers(short, monkeypatch, row):
    piece = ("pronouns", row, 0)
    run_row(*piece, QUICK)
    whole = read_record(path_of(piece)).data
    path_of(piece).unlink()
    monkeypatch.setattr(checkpoints.FileCheckpoint, "due", lambda self: True)
    from course.training import Trainer

    advance = Trainer.advance

    def stop_at(step):
        def advance_or_stop(self):
            if self.step == step:
                raise Stopped
            return advance(self)

        monkeypatch.setattr(Trainer, "advance", advance_or_stop)

    for step in (7, 25):
        stop_at(step)
        with pytest.raises(Stopped):
            run_row(*piece, QUICK)
        assert not path_of(piece).exists()
    steps = []
    monkeypatch.setattr(Trainer, "advance", lambda self: steps.append(self.step) or advance(self))
    assert run_row(*piece, QUICK).status == "recorded"
    assert steps == list(range(25, 30))
    resumed = read_record(path_of(piece)).data
    for field in ("metrics", "first_losses", "loss_curve", "curves"):
        assert resumed[field] == whole[field]


def wait_for(condition, process, seconds=240):
    """Wait until the condition holds while the process runs."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come in time"
        assert process.poll() is None, process.communicate()
        time.sleep(0.2)


@pytest.mark.slow
def test_a_killed_process_resumes_and_two_at_once_do_not_collide(course_command, tmp_path):
    import torch

    arguments = (
        "experiments",
        "run",
        "pronouns",
        "--rows",
        "two-blocks",
        "--seeds",
        "0",
        "--device",
        "cpu",
    )
    folder = tmp_path / "cache" / "checkpoints" / "pronouns"
    first = course_command(*arguments)
    wait_for(lambda: list(folder.glob("*.pt")), first)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    (saved,) = folder.glob("*.pt")
    written = saved.stat().st_mtime_ns
    steps = len(torch.load(saved, weights_only=True)["trainer"]["losses"])

    second = course_command(*arguments)
    wait_for(lambda: saved.stat().st_mtime_ns != written, second)
    assert len(torch.load(saved, weights_only=True)["trainer"]["losses"]) > steps
    third = course_command(*arguments)
    out, _ = third.communicate(timeout=240)
    assert f"held pronouns/two-blocks-s0 is being run by process {second.pid}" in out
    second.send_signal(signal.SIGTERM)
    _, said = second.communicate(timeout=240)
    assert f"taking over from process {first.pid}" in said
    assert "stopped by signal 15" in said
    assert not list((tmp_path / "records").rglob("*.json"))


def test_a_damaged_record_is_kept_and_measured_anew(short, capsys):
    path_of().parent.mkdir(parents=True)
    path_of().write_text("{half a rec")
    outcome = run_row(*ROW, QUICK)
    assert outcome.status == "recorded"
    assert "average-s0.json.damaged-1" in outcome.message
    assert path_of().with_name("average-s0.json.damaged-1").read_text() == "{half a rec"
    assert "is damaged" in capsys.readouterr().err


def test_a_damaged_checkpoint_is_kept_and_the_run_begins_anew(short, capsys, monkeypatch):
    import torch

    monkeypatch.setattr(checkpoints.FileCheckpoint, "due", lambda self: True)
    saves = []
    monkeypatch.setattr(
        torch, "save", lambda state, buffer: (saves.append(1), buffer.write(b"not a checkpoint"))
    )
    monkeypatch.setattr(checkpoints.FileCheckpoint, "remove", lambda self: None)
    run_row(*ROW, QUICK)
    path_of().unlink()
    assert run_row(*ROW, QUICK).status == "recorded"
    assert saves
    said = capsys.readouterr().err
    assert "cannot be read" in said
    assert ".damaged-1" in said


def test_a_full_disk_costs_the_record_and_not_the_training(short, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(records_module, "atomic_write_text", full)
    outcome = run_row(*ROW, QUICK)
    assert outcome.status == "failed"
    assert "No space left on device" in outcome.message
    assert "checkpoint is kept" in outcome.message
    monkeypatch.undo()
    monkeypatch.setenv("COURSE_CACHE", str(path_of().parents[2]))


def test_a_full_disk_under_a_checkpoint_is_said_once(short, monkeypatch, capsys):
    monkeypatch.setattr(checkpoints.FileCheckpoint, "due", lambda self: True)
    real = checkpoints.atomic_write_bytes

    def full(path, content):
        if path.suffix == ".pt":
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, content)

    monkeypatch.setattr(checkpoints, "atomic_write_bytes", full)
    assert run_row(*ROW, QUICK).status == "recorded"
    assert capsys.readouterr().err.count("No space left on device") == 1


def test_one_row_s_failure_does_not_end_the_others(short, monkeypatch):
    def run(run):
        if run.row == "average":
            raise FloatingPointError("the loss is nan at step 3")
        return short.run(run)

    run.__module__, run.__name__ = short.run.__module__, short.run.__name__
    monkeypatch.setitem(EXPERIMENTS, "pronouns", replace(short, run=run))
    runner._loaded.cache_clear()
    outcomes = run_all([ROW, ("pronouns", "leaky-average", 0)], QUICK)
    assert [o.status for o in outcomes] == ["failed", "recorded"]
    assert outcomes[0].message == "FloatingPointError: the loss is nan at step 3"


def test_every_row_s_first_seed_comes_before_any_second():
    seeds = [seed for _, _, seed in pieces_of_work(list(EXPERIMENTS), None, None)]
    assert seeds == sorted(seeds)
    assert seeds.count(0) == sum(not row.optional for e in EXPERIMENTS.values() for row in e.rows)
    one = list(pieces_of_work(["cost"], ["plain-cuda"], [0]))
    assert [row.name for _, row, _ in one] == ["plain-cuda"]
    with pytest.raises(KeyError, match="no row 'attic'"):
        list(pieces_of_work(["ladder"], ["attic"], None))
    with pytest.raises(KeyError, match="no experiment 'attic'"):
        list(pieces_of_work(["attic"], None, None))


def test_two_processes_share_the_rows(monkeypatch):
    pytest.importorskip("torch", reason="torch is not installed here")
    work = [("recurrence", row.name, 0) for row in EXPERIMENTS["recurrence"].rows]
    told: list[Outcome] = []
    outcomes = run_all(work, QUICK, jobs=2, report=told.append)
    assert sorted(o.row for o in outcomes) == sorted(row for _, row, _ in work)
    assert {o.status for o in outcomes} == {"recorded"}
    assert told == outcomes
    assert all(summary.n == 1 for summary in load_records("recurrence", "quick"))


def test_a_terminated_run_says_that_it_goes_on_later(short, monkeypatch):
    from course.training import Trainer

    advance = Trainer.advance

    def advance_and_be_told(self):
        if self.step == 5:
            os.kill(os.getpid(), signal.SIGTERM)
        return advance(self)

    monkeypatch.setattr(Trainer, "advance", advance_and_be_told)
    with pytest.raises(runner.Interrupted, match="stopped by signal 15; run it again"):
        run_row(*ROW, QUICK)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
