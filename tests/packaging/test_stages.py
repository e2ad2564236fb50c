"""The stage runner: a failure is a failure, a missing tool is said, the counts are pytest's."""

from __future__ import annotations

import sys
import time
from itertools import product

import pytest


@pytest.fixture
def runner(script, tmp_path, monkeypatch):
    """stages.py, with its reports in a temporary folder."""
    module = script("stages")
    monkeypatch.setattr(module, "REPORTS", tmp_path)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # the small runs need no plugin
    return module


def stage(runner, name="one", code="", **options):
    """A stage whose only command is a line of Python."""
    return runner.Stage(name, "a test", [[sys.executable, "-c", code]], **options)


def test_a_failing_command_fails_its_stage_and_the_run(runner, capfd):
    good = runner.run_stage(stage(runner), {})
    bad = runner.run_stage(stage(runner, "two", "raise SystemExit(3)"), {})
    assert (good.state, bad.state) == ("passed", "FAILED")
    assert "exited 3" in bad.reason
    assert runner.summary([good]) is True
    assert runner.summary([good, bad]) is False
    assert "not passed: two" in capfd.readouterr().out


def test_the_commands_after_a_failing_one_do_not_run(runner, tmp_path):
    mark = tmp_path / "ran"
    commands = [[sys.executable, "-c", "raise SystemExit(1)"], ["touch", str(mark)]]
    assert runner.run_stage(runner.Stage("one", "", commands), {}).state == "FAILED"
    assert not mark.exists()


def test_a_stage_whose_need_did_not_pass_is_not_run_and_counts_as_wrong(runner):
    done = {"book": runner.Outcome("book", "FAILED")}
    outcome = runner.run_stage(stage(runner, needs=("book",)), done)
    assert (outcome.state, outcome.reason) == ("not run", "book did not pass")
    assert runner.summary([outcome]) is False


@pytest.mark.parametrize(("ci", "state"), [(None, "skipped"), ("true", "FAILED")])
def test_a_missing_tool_is_named_and_fails_in_ci(runner, monkeypatch, ci, state):
    monkeypatch.setattr(runner.shutil, "which", lambda name: None)
    if ci:
        monkeypatch.setenv("CI", ci)
    outcome = runner.run_stage(stage(runner, tools=("chromium",)), {})
    assert outcome.state == state
    assert outcome.reason == "chromium is missing (apt-get install chromium)"


def test_a_command_that_runs_too_long_is_ended(runner):
    start = time.monotonic()
    outcome = runner.run_stage(stage(runner, code="import time; time.sleep(60)", minutes=0.01), {})
    assert outcome.state == "FAILED"
    assert "and was ended" in outcome.reason
    assert time.monotonic() - start < 30


def test_the_counts_come_from_pytest_s_reports(runner, tmp_path, capfd):
    file = tmp_path / "test_three.py"
    file.write_text(
        "import pytest\ndef test_a(): assert 1 + 1 == 2\ndef test_b(): assert 1 + 1 == 3\n"
        "def test_c(): pytest.skip('no reason but this')\n",
        encoding="utf-8",
    )
    command = runner.pytest("one", "-p", "no:cacheprovider", "-c", "/dev/null", str(file))
    outcome = runner.run_stage(runner.Stage("one", "", [command]), {})
    assert outcome.state == "FAILED"
    assert outcome.counts == {"passed": 1, "failed": 1, "skipped": 1}
    capfd.readouterr()
    assert runner.summary([outcome]) is False
    assert capfd.readouterr().out.splitlines()[-1] == "1 passed, 1 failed, 1 skipped"
    assert runner.tally() is False


def test_a_stage_with_no_test_in_it_fails(runner, tmp_path):
    (tmp_path / "test_none.py").write_text("", encoding="utf-8")
    command = runner.pytest("one", "-c", "/dev/null", str(tmp_path / "test_none.py"))
    assert runner.run_stage(runner.Stage("one", "", [command]), {}).state == "FAILED"


def test_slow_tests_beyond_the_budget_are_named(runner, monkeypatch):
    monkeypatch.setattr(runner, "slow_files", lambda: ["tests/test_a.py", "tests/test_b.py"])
    outcomes = runner.run_slow(1.0, {})
    assert [one.state for one in outcomes] == ["left out", "left out"]
    assert "tests/test_b.py: 1 min left" in outcomes[1].reason
    assert runner.summary(outcomes) is True


def test_every_test_is_in_just_one_stage(runner):
    """The selections of the stages, read as pytest reads them, over every set of markers."""
    markers = ("slow", "book", "browser", "grading")
    selections = ["slow"]
    for one in runner.stages():
        for command in one.commands:
            if "pytest" in command:
                selections.append(command[command.index("-m", command.index("pytest")) + 1])
    assert len(selections) == 5
    for values in product((False, True), repeat=len(markers)):
        chosen = [s for s in selections if eval(s, {}, dict(zip(markers, values, strict=True)))]
        assert len(chosen) == 1, dict(zip(markers, values, strict=True))
