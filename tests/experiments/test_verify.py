"""Stale records: found, and vouched for by a replay only where a replay can vouch."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from course.experiments import runner, status
from course.experiments.records import RecordError, read_record, record_path
from course.experiments.registry import EXPERIMENTS
from course.experiments.runner import Settings, run_row
from course.experiments.status import accepted, verify
from course.experiments.table import load_records

QUICK = Settings(budget="quick", device="cpu", progress=False)
ROW = ("pronouns", "average", 0)


@pytest.fixture
def path(monkeypatch):
    """A record of the pronoun experiment at a few steps."""
    pytest.importorskip("torch", reason="torch is not installed here")
    experiment = replace(EXPERIMENTS["pronouns"], quick={"steps": 30})
    monkeypatch.setitem(EXPERIMENTS, "pronouns", experiment)
    runner._loaded.cache_clear()
    assert run_row(*ROW, QUICK).status == "recorded"
    return record_path(*ROW, "quick")


def edit(path, change):
    """Change a record's JSON as if it had been written so."""
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def age(path):
    """Let the record be of other code."""

    def change(data):
        data["code"]["hash"] = "of other code"
        data["code"]["modules"]["course.averaging"] = "other"

    edit(path, change)


def state(path):
    return next(s for s in status.status(["pronouns"], "quick", [0]) if s.row == "average")


def test_fresh_records_are_current_and_the_rest_is_missing(path):
    states = status.status(["pronouns"], "quick", [0])
    assert {s.row: s.state for s in states} == {
        row.name: "current" if row.name == "average" else "missing"
        for row in EXPERIMENTS["pronouns"].rows
    }


def test_other_code_makes_it_stale_and_an_equal_replay_current_again(path):
    age(path)
    before = json.loads(path.read_text())
    found = state(path)
    assert (found.state, found.reason) == ("stale", "code changed in course.averaging")
    assert load_records("pronouns", "quick")["average"].stale
    verdict = verify(found, "quick")
    assert verdict.verified, verdict.message
    assert "20 losses equal" in verdict.message
    assert state(path).state == "current"
    assert not load_records("pronouns", "quick")["average"].stale
    after = json.loads(path.read_text())
    (stamp,) = after["verified"]
    assert stamp["largest_difference"] == 0
    assert set(stamp["git"]) == {"commit", "dirty"}
    after["verified"] = []
    assert after == before  # what was measured is as it was


def test_other_losses_leave_it_stale(path):
    age(path)
    edit(path, lambda data: data["first_losses"].__setitem__(19, data["first_losses"][19] + 1e-6))
    verdict = verify(state(path), "quick")
    assert not verdict.verified
    assert "differ by up to" in verdict.message
    assert state(path).state == "stale"
    assert verify(state(path), "quick", tolerance=1e-5).verified
    assert json.loads(path.read_text())["verified"][0]["tolerance"] == 1e-5


def test_another_machine_is_allowed_its_rounding(path):
    age(path)
    edit(path, lambda data: data["machine"].__setitem__("cpu", "another processor"))
    edit(path, lambda data: data["first_losses"].__setitem__(19, data["first_losses"][19] + 1e-6))
    assert verify(state(path), "quick").verified


def test_changed_evaluation_cannot_be_vouched_for(path, monkeypatch):
    age(path)
    monkeypatch.setattr(status.provenance, "extract_package", lambda commit, folder: False)
    edit(path, lambda data: data["code"].__setitem__("evaluation", "other"))
    verdict = verify(state(path), "quick")
    assert not verdict.verified
    assert "measures after training" in verdict.message


def test_a_changed_configuration_is_named(path):
    edit(
        path,
        lambda data: (
            data["config"].__setitem__("lr", 1.0),
            data.__setitem__("config_hash", "other"),
        ),
    )
    found = state(path)
    assert (found.state, found.reason) == ("stale", "its configuration changed (lr)")
    assert "configuration" in verify(found, "quick").message


def test_what_trains_nothing_must_be_run_again():
    pytest.importorskip("torch", reason="torch is not installed here")
    piece = ("recurrence", "attention", 0)
    run_row(*piece, QUICK)
    path = record_path(*piece, "quick")
    age(path)
    found = next(s for s in status.status(["recurrence"], "quick", [0]) if s.row == "attention")
    assert found.state == "stale"
    assert "trains nothing" in verify(found, "quick").message


def test_damage_is_a_state(path):
    path.write_text("{")
    assert state(path).state == "damaged"
    with pytest.raises(RecordError, match="damaged"):
        load_records("pronouns", "quick")


def test_a_stale_record_may_be_accepted_with_a_reason(path):
    age(path)
    file = path.parents[1] / status.ACCEPTED_FILE
    file.write_text(json.dumps({"pronouns/average-s0": "only the error message changed"}))
    assert state(path).accepted == "only the error message changed"
    file.write_text(json.dumps({"pronouns/average-s0": ""}))
    with pytest.raises(RecordError, match="reason"):
        accepted("quick")


def test_a_quick_record_among_the_full_ones_is_refused(path, tmp_path):
    stray = tmp_path / "records" / "pronouns" / path.name
    stray.parent.mkdir(parents=True)
    stray.write_bytes(path.read_bytes())
    with pytest.raises(RecordError, match="quick budget"):
        load_records("pronouns")
    assert read_record(stray).data["budget"] == "quick"


def test_the_code_of_the_record_s_commit_counts_where_the_stored_hash_is_another(path, monkeypatch):
    age(path)
    edit(path, lambda data: data["code"].__setitem__("evaluation", "taken in another way"))

    def today(commit, folder):
        shutil.copytree(Path(status.__file__).parents[1], folder / "course")
        return True

    def another_day(commit, folder):
        today(commit, folder)
        file = folder / "course" / "experiments" / "pronouns.py"
        text = file.read_text(encoding="utf-8")
        assert "(guess == right)" in text
        file.write_text(text.replace("(guess == right)", "(guess != right)"), encoding="utf-8")
        return True

    monkeypatch.setattr(status.provenance, "extract_package", another_day)
    assert "measures after training" in verify(state(path), "quick").message
    monkeypatch.setattr(status.provenance, "extract_package", today)
    assert verify(state(path), "quick").verified


def test_the_package_of_a_commit_can_be_had(tmp_path):
    from course.experiments import provenance

    commit = provenance.git_state()["commit"]
    if commit is None:
        pytest.skip("not a git repository")
    assert provenance.extract_package(commit, tmp_path)
    assert (tmp_path / "course" / "attention.py").is_file()
    assert not provenance.extract_package("0" * 40, tmp_path)
    assert not provenance.extract_package(None, tmp_path)
