"""Interleaving, medians, goals and results: the arithmetic that every comparison relies on."""

from __future__ import annotations

import json
import os
import sys

import pytest

from benchmarks import measure, report, results
from benchmarks import watch as watching
from benchmarks.comparison import Comparison, Context
from benchmarks.results import Goal, Row
from benchmarks.station import Station


def test_the_sides_take_turns_and_the_warm_up_is_left_out():
    order: list[str] = []
    sides = {name: (lambda n=name: order.append(n)) for name in "AB"}
    values = measure.interleave(sides, rounds=3, warmup=2)
    assert order == list("ABABABABAB")
    assert {name: len(v) for name, v in values.items()} == {"A": 3, "B": 3}
    assert all(v >= 0 for side in values.values() for v in side)


def test_a_side_that_measures_itself_is_believed():
    given = iter([9.0, 1.0, 2.0, 3.0])
    assert measure.interleave({"A": lambda: next(given)}, rounds=3) == {"A": [1.0, 2.0, 3.0]}


def test_median_quartiles_and_percentile():
    assert measure.summary([3, 1, 2, 5, 4]) == measure.Summary(3, 2, 4, 5)
    assert measure.summary([7.0]) == measure.Summary(7, 7, 7, 1)
    assert measure.percentile(range(1, 101), 95) == 95
    assert isinstance(measure.percentile([7], 95), float), "an int would not count as a measurement"
    assert measure.percentile([4.0], 95) == 4
    with pytest.raises(ValueError, match="never measured"):
        measure.summary([])


def test_a_missed_goal_has_to_say_why():
    assert Goal("s", 1.0, below=2.0).reached
    assert not Goal("s", 2.0, below=2.0, why="slow").reached
    assert Goal("times", 1.5, at_least=1.5).reached
    with pytest.raises(ValueError, match="say why"):
        Goal("s", 3.0, below=2.0)
    with pytest.raises(ValueError, match="one bound"):
        Goal("s", 3.0)


def test_the_ratio_says_how_many_times_better_the_course_is():
    row = Row("w", "s", {"course": [2.0], "peer": [3.0]}).to_dict()
    assert row["sides"]["peer"]["ratio"] == 1.5
    row = Row("w", "a minute", {"course": [4.0], "peer": [2.0]}, better="higher").to_dict()
    assert row["sides"]["peer"]["ratio"] == 2.0


def made(tmp_path, value: float = 1.0) -> dict:
    """A small whole result."""
    goal = Goal("whole", value, below=2.0, why="it is slow", unit="s")
    rows = [Row("work", "s", {"course": [value, value + 1], "peer": [3.0, 3.0]}, [goal])]
    comparison = Comparison("tiny", "Tiny", "a peer", lambda context: rows)
    return comparison.measure(rounds=2, scratch=tmp_path)


def test_a_result_is_written_whole_and_read_back(tmp_path):
    result = made(tmp_path)
    path = results.write(result, tmp_path)
    assert results.read("tiny", tmp_path) == json.loads(path.read_text()) == result
    assert result["git"]["commit"]
    assert result["machine"]["cores"] >= 1
    assert set(result["versions"]) >= {"python", "torch"}
    assert results.read("absent", tmp_path) is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda r: r.pop("machine"), "machine"),
        (lambda r: r.update(rows=[]), "no rows"),
        (lambda r: r["rows"][0]["goals"][0].update(reached=False), "agree"),
        (lambda r: r["rows"][0]["sides"]["course"].update(median=99.0), "spread"),
    ],
)
def test_a_result_that_contradicts_itself_is_refused(tmp_path, change, said):
    result = made(tmp_path)
    change(result)
    (tmp_path / "tiny.json").write_text(json.dumps(result), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"tiny\.json is not a result .*{said}"):
        results.read("tiny", tmp_path)


def test_the_report_names_goal_machine_and_reason(tmp_path):
    said = report.text(made(tmp_path, 5.0))
    assert "NOT reached: it is slow" in said
    assert "goal: below 2 s" in said
    assert "cores" in said
    table = report.goals_table({"tiny": made(tmp_path), "other": None})
    assert table[0] == ("Tiny: work; whole", "1 s", "below 2 s", "yes")
    assert table[1][1] == "not yet measured"


def test_a_part_is_measured_once_and_again_for_another_commit(tmp_path):
    ran: list[int] = []

    def compute() -> int:
        ran.append(1)
        return len(ran)

    context = Context(1, True, print, tmp_path, "abc")
    assert [context.part("a", compute) for _ in range(3)] == [1, 1, 1]
    assert Context(1, True, print, tmp_path, "def").part("a", compute) == 2


def own_process() -> measure.Side:
    return lambda: float(os.getpid())


def broken() -> measure.Side:
    raise ArithmeticError("this side cannot be made")


def test_a_station_is_one_process_of_its_own():
    with Station(own_process) as side:
        first, second = side(), side()
    assert first == second != os.getpid()


def test_a_side_that_fails_in_its_process_says_how():
    with pytest.raises(RuntimeError, match="this side cannot be made"), Station(broken):
        pass


PARENT = """
import subprocess, sys
subprocess.run([sys.executable, "child.py"], check=True)
"""
CHILD = """
import time
held = bytearray(64 << 20)
end = time.process_time() + 1.0
while time.process_time() < end:
    held[::4096] = bytes(len(held) // 4096)
"""


def test_a_watched_command_counts_what_its_children_take(tmp_path):
    (tmp_path / "child.py").write_text(CHILD, encoding="utf-8")
    taken = watching.watch([sys.executable, "-c", PARENT], tmp_path)
    assert taken.cpu_seconds >= 0.5
    assert taken.seconds >= 0.5
    assert taken.peak_mb >= 64
    idle = watching.watch([sys.executable, "-c", "import time; time.sleep(0.3)"], tmp_path)
    assert idle.cpu_seconds < taken.cpu_seconds
    with pytest.raises(RuntimeError, match="ended with 3:\nno such"):
        watching.watch([sys.executable, "-c", "print('no such'); raise SystemExit(3)"], tmp_path)
