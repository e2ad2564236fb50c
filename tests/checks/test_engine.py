"""Grading: seeds, selection, partial marks, refusals, time, counter-examples."""

import pytest
import torch

from course.checks import registry
from course.checks.counterexample import CounterExample, number, shrink, small_matrices
from course.checks.engine import (
    Exercise,
    Failure,
    OutOfTime,
    Property,
    agree,
    grade,
    select,
    time_limit,
)
from course.checks.subject import LocalSubject

RIGHT = (
    "import torch\ndef causal_average(x):\n    n = torch.arange(1, x.shape[1] + 1)\n"
    "    return (x.cumsum(1) / n[:, None]).to(x.dtype)\n"
)
SUMS = "def causal_average(x):\n    return x.cumsum(1)\n"


def report(source, slug="average", **options):
    return grade(registry.get(slug), LocalSubject.from_source(source, "answer.py"), **options)


@pytest.mark.parametrize("slug", registry.SLUGS)
def test_every_exercise_is_whole(slug):
    exercise = registry.get(slug)
    assert exercise.slug == slug
    assert exercise.max_score >= 9
    assert {p.function for p in exercise.properties} == set(exercise.names)
    assert all(p.points >= 1 and p.title for p in exercise.properties)
    assert len(exercise.mistakes) >= 8
    # A sentence is for a learner: it says something and what to do, in a line or three.
    for name, sentence in exercise.mistakes.items():
        assert 25 < len(sentence) < 400, name


def test_full_marks_have_no_diagnosis():
    r = report(RIGHT).as_dict()
    assert r["score"] == r["max_score"]
    assert r["diagnosis"] == []
    assert r["counter_example"] is None
    assert all(c["passed"] and c["earned"] == c["points"] for c in r["checks"])


def test_a_wrong_answer_keeps_the_points_it_deserves_and_hears_why():
    r = report(SUMS).as_dict()
    assert 0 < r["score"] < r["max_score"]
    assert r["score"] == sum(c["points"] for c in r["checks"] if c["passed"])
    assert r["mistakes"] == ["summed"]
    assert "divide row t by t + 1" in r["diagnosis"][0]
    assert "expected" in r["counter_example"]


def test_the_same_seed_gives_the_same_report_and_each_property_its_own_inputs():
    a, b = (report(SUMS, seed=11).as_dict() for _ in range(2))
    assert a == b
    values = next(c for c in a["checks"] if c["name"] == "values")
    alone = report(SUMS, seed=11, only=["values"]).as_dict()["checks"]
    assert alone == [values]
    assert report(SUMS).seed != report(SUMS).seed


def test_one_function_of_an_exercise_can_be_graded():
    source = "def scaled_scores(q, k):\n    return q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5\n"
    r = report(source, "scaling", function="scaled_scores")
    assert r.score == r.max_score == 5
    whole = report(source, "scaling")
    assert whole.score == 5
    assert whole.max_score == 10
    assert "effective_tokens" in whole.as_dict()["diagnosis"][0]
    with pytest.raises(ValueError, match="scaled_scores"):
        select(registry.get("scaling"), "nothing")
    with pytest.raises(ValueError, match="no check 'x'"):
        select(registry.get("scaling"), None, ["x"])


def test_a_missing_name_scores_nothing_and_says_what_is_there():
    r = report("def average(x):\n    return x\n").as_dict()
    assert r["score"] == 0
    assert "your code defines average" in r["diagnosis"][0]
    assert report("causal_average = 3\n").as_dict()["mistakes"] == ["missing"]


def test_an_extra_property_counts_and_a_bug_in_a_check_stops_nothing():
    def broken(t):
        raise KeyError("bug")

    def failing(t):
        raise Failure("no")

    extra = [
        Property("a", "a", 2, "causal_average", broken),
        Property("b", "b", 3, "causal_average", failing),
    ]
    r = report(RIGHT, extra=extra)
    assert r.max_score - r.score == 5
    assert "KeyError" in r.outcomes[-2].message


# By thread: the signal of pytest-timeout is an alarm, and ours is not set beside another.
@pytest.mark.timeout(120, method="thread")
def test_an_endless_loop_costs_its_check_and_no_more(monkeypatch):
    monkeypatch.setattr("course.checks.engine.PROPERTY_SECONDS", 0.3)
    monkeypatch.setattr("course.checks.engine.DIAGNOSIS_SECONDS", 0.3)
    source = (
        "def causal_average(x):\n    while x.shape[0] == 3:\n        try:\n"
        "            x = x + 0\n        except Exception:\n            pass\n    return x\n"
    )
    exercise = Exercise(
        "average", "t", ("causal_average",), {"none": "nothing at all is named here"}
    )

    @exercise.prop("loops", 1, "three rows")
    def _loops(t):
        t.subject.call("causal_average", t.normal(3, 2, 2))

    @exercise.prop("returns", 1, "two rows")
    def _returns(t):
        t.subject.call("causal_average", t.normal(2, 2, 2))

    r = grade(exercise, LocalSubject.from_source(source))
    assert [o.passed for o in r.outcomes] == [False, True]
    assert "endless loop" in r.outcomes[0].message


def spin(seconds):
    with time_limit(seconds):
        while True:
            pass


@pytest.mark.timeout(120, method="thread")
def test_a_time_limit_leaves_nobody_elses_alarm_behind():
    import signal

    with pytest.raises(OutOfTime):
        spin(0.05)
    assert signal.getitimer(signal.ITIMER_PROF)[0] == 0
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_agreement_is_relative_to_the_largest_and_strict_about_infinity():
    e = torch.tensor([1e6, 1.0])
    assert agree(e + 1.0, e)
    assert not agree(e * 1.001, e)
    assert not agree(torch.tensor([float("nan"), 1.0]), e)
    odd = torch.tensor([float("inf"), 1.0])
    assert agree(odd, odd.clone())
    assert not agree(odd, -odd)
    assert not agree(e[:1], e)


def test_a_counter_example_is_the_smallest_with_the_fewest_numbers():
    cases = [[m] for T in (1, 2, 3) for m in small_matrices(T, 2)]
    found = shrink(cases, lambda c: bool(c[0].shape[0] >= 2 and c[0][1, 1] != 0))
    assert found[0].shape == (2, 2)
    assert int((found[0] != 0).sum()) == 1
    assert shrink(cases, lambda c: False) is None


def test_a_counter_example_is_readable_as_text_and_as_a_table():
    e = CounterExample(
        "f(x)",
        [
            ("x", torch.eye(2)),
            ("yours", torch.tensor([[1.0, 0.25]])),
            ("expected", torch.tensor([[1.0, -0.5]])),
        ],
    )
    assert (
        e.as_text().splitlines()[1:]
        == [
            "x    | yours      | expected  ",
            "1  0 |    1  0.25 |    1  −0.5",
            "0  1 |            |",
        ]
        or "−0.5" in e.as_text()
    )
    page = e.as_html()
    assert page.count("<table>") == 3
    assert "✗ 0.25" in page
    assert "✗ 1" not in page
    assert [number(v) for v in (0.0, -0.0, 1.5, float("inf"), float("nan"), 2e7)] == [
        "0",
        "0",
        "1.5",
        "∞",
        "nan",
        "2e+07",
    ]


def test_names_of_properties_are_unique():
    exercise = Exercise("x", "x", ("f",), {})
    exercise.prop("a", 1, "a")(lambda t: None)
    with pytest.raises(ValueError, match="two properties"):
        exercise.prop("a", 1, "a")(lambda t: None)


def test_nan_is_equal_to_nan_and_earns_nothing_by_it():
    source = "def causal_average(x):\n    return x * float('nan')\n"
    found = report(source, seed=3)
    # Its input is not edited; all else is lost.
    assert [o.property.name for o in found.outcomes if o.passed] == ["pure"]


@pytest.mark.parametrize(
    "source",
    [
        "globals().update({f'a{i}' * 20_000: (lambda: 0) for i in range(100)})",
        "def causal_average(x):\n    return type('x' * 10**6, (), {})()",
        "import torch\ndef causal_average(x):\n    return torch.zeros(1, 100, 1000, 8)",
        "def causal_average(x):\n    return x[..., :0]",
        "def causal_average(x):\n    raise ValueError('x' * 10**6)",
    ],
)
def test_what_a_learner_can_make_long_is_cut(source):
    found = report(source, seed=3)
    assert found.score < found.max_score
    assert len(str(found.as_dict())) < 20_000
    assert found.example is None or len(found.example.as_html()) < 20_000
