"""The two commands, as a person types them."""

from __future__ import annotations

import json

import pytest

from course.experiments import cli, records_cli
from course.experiments.records import records_dir
from course.experiments.registry import EXPERIMENTS


def test_list_names_every_row(capsys):
    assert cli.main(["list"]) == 0
    text = capsys.readouterr().out
    for experiment in EXPERIMENTS.values():
        assert experiment.title in text
        assert all(f" {row.name} " in text for row in experiment.rows)
    assert cli.main(["list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["experiments"]
    assert [e["name"] for e in listed] == list(EXPERIMENTS)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "attic"], "no experiment 'attic'; there are ladder"),
        (["run", "ladder", "--rows", "attic"], "no row 'attic' in ladder; there are no-context"),
        (["run", "ladder", "--seeds", "-1"], "got -1"),
        (["run", "recurrence", "--jobs", "0", "--budget", "quick"], "jobs must be at least 1"),
        (["show", "attic"], "no experiment 'attic'"),
    ],
)
def test_wrong_arguments_are_named(capsys, arguments, said):
    assert cli.main(arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_run_show_and_status(capsys):
    pytest.importorskip("torch", reason="torch is not installed here")
    arguments = ["run", "recurrence", "--rows", "attention", "--seeds", "0", "--budget", "quick"]
    assert cli.main(arguments) == 0
    out = capsys.readouterr().out
    assert "[1/1] recurrence/attention seed 0: recorded" in out
    assert cli.main(arguments) == 0
    assert "1 present" in capsys.readouterr().out
    assert cli.main([*arguments, "--missing"]) == 0
    assert "nothing to run" in capsys.readouterr().out
    assert cli.main(["show", "recurrence", "--budget", "quick", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["row"]: row["n"] for row in rows}["attention"] == 1
    assert not records_dir("full").exists()  # a quick run never goes among the full records

    assert records_cli.main(["status", "recurrence", "--budget", "quick", "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)["counts"]
    wanted = 3 * len(EXPERIMENTS["recurrence"].rows)
    assert counts == {"current": 1, "stale": 0, "missing": wanted - 1, "damaged": 0}


def test_refresh_runs_what_is_missing_and_what_is_damaged(capsys):
    pytest.importorskip("torch", reason="torch is not installed here")
    arguments = ["run", "recurrence", "--seeds", "0", "--budget", "quick"]
    cli.main(arguments)
    (records_dir("quick") / "recurrence" / "attention-s0.json").write_text("{")
    (records_dir("quick") / "recurrence" / "lstm-0-s0.json").unlink()
    assert records_cli.main(["status", "recurrence", "--budget", "quick", "--strict"]) == 1
    capsys.readouterr()
    assert records_cli.main(["refresh", "recurrence", "--budget", "quick", "--seeds", "0"]) == 0
    out = capsys.readouterr().out
    assert "2 recorded" in out
    assert records_cli.main(["status", "recurrence", "--budget", "quick", "--strict"]) == 0
    assert records_cli.main(["status", "attic"]) == 2
    assert "no experiment 'attic'" in capsys.readouterr().err


def test_verify_says_what_it_cannot_vouch_for(capsys):
    pytest.importorskip("torch", reason="torch is not installed here")
    cli.main(["run", "recurrence", "--rows", "attention", "--seeds", "0", "--budget", "quick"])
    path = records_dir("quick") / "recurrence" / "attention-s0.json"
    content = json.loads(path.read_text())
    content["code"]["hash"] = "other"
    path.write_text(json.dumps(content))
    capsys.readouterr()
    assert records_cli.main(["verify", "recurrence", "--budget", "quick"]) == 1
    assert "recurrence/attention-s0: stale: it trains nothing" in capsys.readouterr().out
