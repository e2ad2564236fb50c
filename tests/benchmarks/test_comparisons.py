"""Each comparison runs at a tiny size and gives a whole result. Nothing here asserts a time."""

from __future__ import annotations

import json

import pytest

from benchmarks import __main__ as command
from benchmarks import comparison, peers, registry, report, results

QUICK = [
    "training-step",
    "generation",
    "tokenizer",
    "start-up",
    pytest.param("growth", marks=pytest.mark.slow),
    pytest.param("memory", marks=[pytest.mark.slow, pytest.mark.grading]),
    pytest.param("widgets", marks=[pytest.mark.slow, pytest.mark.browser]),
    pytest.param("pages", marks=[pytest.mark.slow, pytest.mark.book, pytest.mark.browser]),
    pytest.param("lighthouse", marks=[pytest.mark.slow, pytest.mark.book, pytest.mark.browser]),
    pytest.param("grading", marks=[pytest.mark.slow, pytest.mark.grading]),
    pytest.param("book-build", marks=pytest.mark.slow),
]
TOOLS = {
    "memory": "bwrap",
    "grading": "bwrap",
    "widgets": "chromium",
    "pages": "chromium",
    "lighthouse": "chromium",
}


def test_each_file_is_listed_once_with_its_own_name():
    assert [registry.get(name).name for name in registry.NAMES] == list(registry.NAMES)
    with pytest.raises(KeyError, match="no comparison is called 'speed'; there are: training-step"):
        registry.get("speed")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", QUICK)
def test_it_runs_quickly_and_gives_a_whole_result(name, tmp_path, require_peers, require_tool):
    found = registry.get(name)
    require_peers(*found.peers)
    if name in TOOLS:
        require_tool(TOOLS[name])
    result = found.measure(quick=True, scratch=tmp_path)
    results.write(result, tmp_path / "results")
    assert results.read(name, tmp_path / "results") == result
    assert result["quick"]
    assert all(v > 0 for r in result["rows"] for s in r["sides"].values() for v in s["values"])
    said = report.text(result)
    assert all(row["work"] in said for row in result["rows"])
    assert not list(tmp_path.glob(f"{name}*-quick")), "its working files are still there"


def rows_of(*values: float):
    def run(context):
        return [results.Row("work", "s", {"course": list(values)})]

    return run


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Three comparisons that take no time; the second can be made to fail."""
    pytest.importorskip("torch", reason="torch is not installed here")
    state = {"error": None, "ran": []}

    def second(context):
        state["ran"].append("b")
        if state["error"]:
            raise state["error"]
        return rows_of(2.0)(context)

    def first(context):
        state["ran"].append("a")
        return rows_of(1.0)(context)

    made = {
        "a": comparison.Comparison("a", "A", "nothing", first),
        "b": comparison.Comparison("b", "B", "nothing", second),
        "c": comparison.Comparison("c", "C", "nothing", rows_of(3.0), default=False),
    }
    monkeypatch.setattr(registry, "NAMES", dict.fromkeys(made, ""))
    monkeypatch.setattr(registry, "get", made.__getitem__)
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(command, "JOURNAL", tmp_path / "run.json")
    folder = tmp_path / "results"
    monkeypatch.setattr(results, "read", lambda n, f=folder, read=results.read: read(n, f))
    monkeypatch.setattr(results, "write", lambda r, f=folder, write=results.write: write(r, f))
    measure = comparison.Comparison.measure
    monkeypatch.setattr(
        comparison.Comparison,
        "measure",
        lambda self, *a, **k: measure(self, *a, scratch=tmp_path / "scratch", **k),
    )
    state["folder"] = folder
    return state


def test_the_command_measures_keeps_and_prints_what_is_not_expensive(small, tmp_path, capsys):
    assert command.main(["--json", str(tmp_path / "all.json")]) == 0
    kept = sorted(p.name for p in small["folder"].iterdir())
    assert kept == ["a.json", "b.json"]
    assert [r["comparison"] for r in json.loads((tmp_path / "all.json").read_text())] == ["a", "b"]
    assert "not yet measured" in capsys.readouterr().out  # c, which was not asked for
    assert command.main(["c"]) == 0
    assert (small["folder"] / "c.json").is_file()


def test_quick_keeps_nothing(small):
    assert command.main(["--quick"]) == 0
    assert not small["folder"].exists()


def test_one_that_fails_does_not_stop_the_others_and_shows_in_the_status(small, capsys):
    small["error"] = comparison.CannotMeasure("no Chromium here")
    assert command.main(["b", "a"]) == 1
    assert small["ran"] == ["b", "a"]
    assert "not measured: no Chromium here" in capsys.readouterr().err
    small["error"] = ZeroDivisionError("oh")
    assert command.main(["b"]) == 1
    assert "FAILED: ZeroDivisionError: oh" in capsys.readouterr().err


def test_an_interrupted_run_goes_on_where_it_was(small, capsys):
    small["error"] = KeyboardInterrupt()
    assert command.main([]) == 130
    assert small["ran"] == ["a", "b"]
    small["error"] = None
    assert command.main([]) == 0
    assert small["ran"] == ["a", "b", "b"]
    assert "Going on after a" in capsys.readouterr().err
    assert command.main([]) == 0  # it was finished: this one is a new run
    assert small["ran"] == ["a", "b", "b", "a", "b"]


@pytest.mark.parametrize(
    ("arguments", "said"), [(["speed"], "speed"), (["--rounds", "0"], "at least 1, got 0")]
)
def test_bad_input_is_named_in_one_line(arguments, said, capsys):
    assert command.main(arguments) == 2
    assert said in capsys.readouterr().err


def test_a_missing_peer_is_named_with_the_command_that_installs_it():
    with pytest.raises(comparison.CannotMeasure, match=r"no_such_peer not installed here: python"):
        peers.require(["torch", "no_such_peer"])


def test_the_committed_results_are_whole():
    for path in results.RESULTS.glob("*.json"):
        assert results.read(path.stem)["comparison"] in registry.NAMES
        assert not results.read(path.stem)["quick"]
