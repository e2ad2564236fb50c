"""The widgets compute what the course computes: each against the function a chapter defines."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from course.attention import causal_mask, masked_softmax, scaled_dot_product_attention
from course.averaging import average_matmul, averaging_matrix
from course.models import gpt_parameters
from course.positions import alibi_slopes, rope_angles
from course.sampling import filter_logits
from course.training import noam_rate
from course.widgets import (
    AttentionMap,
    AveragingMatrix,
    FromAverage,
    LearningRate,
    MaskedSoftmaxRow,
    NextToken,
    ParameterCount,
    PositionReach,
    PronounMaps,
    QuadraticCost,
    Quiz,
    ScaledSoftmax,
    ShuffledAverage,
    WorkedAttention,
)
from course.widgets.arithmetic import normals, softmax
from course.widgets.masked_softmax_row import DTYPES, round_to
from course.widgets.norms_and_warmup import rows_of
from course.widgets.parameter_count import PRESETS, counts
from course.widgets.quiz import read_questions
from course.widgets.scaled_softmax import queries_and_keys, scores
from tests.widgets import samples


@pytest.mark.parametrize("scale", [None, 1.0])
def test_scaled_softmax_is_attention(scale: float | None) -> None:
    d_k = 100
    q, k = (torch.tensor(x[2, :, :d_k]) for x in queries_and_keys(0))  # (64, 100)
    _, weights = scaled_dot_product_attention(q, k, k, scale=scale, return_weights=True)
    n = ScaledSoftmax(d_k=d_k, row=2 * 64 + 7).numbers()
    found = n["divided" if scale is None else "undivided"]
    np.testing.assert_allclose(found["weights"], weights[7].numpy(), rtol=1e-9, atol=1e-15)
    variance = scores(0, 1024).var()
    assert abs(variance / 1024 - 1) < 0.03


def test_shuffled_average_is_the_causal_average_of_the_whole_window() -> None:
    widget = ShuffledAverage(shuffle=13)
    n = widget.numbers()
    x = torch.tensor(normals(widget.seed, 0, 20).reshape(1, 10, 2)[:, n["order"]])
    np.testing.assert_allclose(n["average"], average_matmul(x)[0, -1].numpy(), atol=1e-12)
    assert sorted(n["order"]) == list(range(10))


def test_averaging_matrix_is_the_courses() -> None:
    for row in (1, 5, 8):
        n = AveragingMatrix(T=8, row=row).numbers()
        np.testing.assert_allclose(n["weights"], averaging_matrix(8)[row - 1].numpy(), atol=1e-7)


def test_worked_attention_is_the_reference_example() -> None:
    n = WorkedAttention().numbers()
    assert np.round(n["weights"][0], 3).tolist() == [0.306, 0.373, 0.321]
    assert np.round(n["out"][0], 3).tolist() == [0.281, 0.381, 0.481, 0.581]
    assert round(n["sum"], 3) == 3.802
    masked = WorkedAttention(masked=True)
    x = torch.tensor(masked.x, dtype=torch.float64)
    out, weights = scaled_dot_product_attention(x, x, x, causal_mask(3), return_weights=True)
    np.testing.assert_allclose(masked.numbers()["weights"], weights.numpy(), atol=1e-12)
    np.testing.assert_allclose(masked.numbers()["out"], out.numpy(), atol=1e-12)
    assert masked.numbers()["weights"][0] == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("dtype", list(DTYPES))
def test_rounding_is_torchs(dtype: str) -> None:
    values = [*normals(3, 0, 200), 1e-9, -1e9, 65504.0, 65519.9, 65520.0, -70000.0, 3e38, 1 / 3]
    values += [2.0**e for e in range(-30, 17)] + [-(2.0**-25), 1.5 * 2.0**-25, 0.0]
    expected = torch.tensor(values, dtype=torch.float64).to(getattr(torch, dtype)).double()
    assert [round_to(float(v), dtype) for v in values] == expected.tolist()


def test_masked_row_is_masked_softmax_and_a_finite_mask_leaks() -> None:
    n = MaskedSoftmaxRow().numbers()
    mask = torch.tensor([True] * 4 + [False] * 2)
    expected = masked_softmax(torch.tensor(MaskedSoftmaxRow().scores), mask)
    np.testing.assert_allclose(n["weights"], expected.numpy(), atol=1e-6)
    pushed = MaskedSoftmaxRow(shift=-30000.0, mask="−1e4").numbers()
    assert pushed["leak"] == 1.0
    assert all(pushed["leaks"][d][0] == 0 for d in DTYPES), "−∞ never leaks"


def test_counts_are_the_courses() -> None:
    for shape in [s[:4] for s in PRESETS.values()] + [(128, 2, 1024, 128)]:
        ours, theirs = counts(*shape), gpt_parameters(*shape)
        assert ours["total"] == theirs["total"]
        assert ours["attention"] == shape[1] * theirs["attention"]
        assert ours["feed_forward"] == shape[1] * theirs["feed_forward"]
    n = ParameterCount().numbers()
    assert n["total"] == 124_439_808
    assert n["preset"] == "GPT-2 small"
    assert abs(n["share"]["embedding"] - 0.316) < 1e-3


def test_the_schedule_is_the_courses() -> None:
    for step, d_model, warmup in [(1, 64, 250), (4000, 512, 4000), (9000, 512, 16_000)]:
        n = LearningRate(step=step, d_model=d_model, warmup=warmup).numbers()
        assert n["rate"] == pytest.approx(1e4 * noam_rate(step, d_model, warmup), rel=1e-12)


def test_positions_are_the_courses() -> None:
    for pair, head, distance in [(1, 1, 3), (5, 4, 100), (16, 8, 256)]:
        n = PositionReach({}, pair=pair, head=head, distance=distance).numbers()
        angle = rope_angles(torch.tensor([float(distance)], dtype=torch.float64), 32)[0, pair - 1]
        assert math.cos(float(angle)) == pytest.approx(n["cosine"], abs=1e-4)
        assert float(alibi_slopes(8)[head - 1]) == pytest.approx(n["slope"], rel=1e-6)


@pytest.mark.parametrize(("n", "mb"), [(128, 0.5), (1024, 32), (4096, 512), (16384, 8192)])
def test_scores_take_the_published_megabytes(n: int, mb: float) -> None:
    found = QuadraticCost(n=n, measured=[], measured_tiles=[]).numbers()
    assert found["scores"] == mb
    assert found["both"] == 2 * mb


@pytest.mark.parametrize("temperature", [0.0, 0.2, 1.0, 2.0])
@pytest.mark.parametrize("top_k", [0, 1, 7, 60])
@pytest.mark.parametrize("top_p", [1.0, 0.9, 0.3])
def test_next_token_filters_as_sampling_does(temperature: float, top_k: int, top_p: float) -> None:
    widget = NextToken(*samples.some_logits(), temperature=temperature, top_k=top_k, top_p=top_p)
    n = widget.numbers()
    logits = torch.tensor(widget.logits[0].astype(np.float64))
    kept = filter_logits(logits, temperature, top_k or None, top_p)
    expected = kept.softmax(-1)
    assert n["kept"] == int((kept > -math.inf).sum())
    np.testing.assert_allclose(n["after"], expected[n["order"]].numpy(), atol=1e-12)


def test_from_average_goes_from_the_average_to_the_map() -> None:
    weights, tokens = samples.some_causal_weights()
    np.testing.assert_allclose(
        FromAverage(weights, tokens, strength=0.0).blend(), averaging_matrix(9).numpy(), atol=1e-7
    )
    np.testing.assert_allclose(FromAverage(weights, tokens).blend(), weights, atol=1e-6)


def test_a_readers_own_tensors_are_accepted() -> None:
    weights = torch.rand(3, 5, 5).softmax(-1)
    widget = AttentionMap(weights, list("abcde"))
    assert widget.weights.shape == (1, 3, 5, 5)
    assert not widget.causal
    assert AttentionMap(torch.eye(4), list("abcd")).causal
    wide = AttentionMap(torch.full((2, 7), 1 / 7), list("ab"), list("1234567"))
    assert wide.numbers()["effective"] == pytest.approx(7, rel=1e-3)
    graph = torch.zeros(5, 5, requires_grad=True).softmax(-1)
    assert AttentionMap(graph, list("abcde")).weights[0, 0, 0, 0] == np.float16(0.2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AttentionMap(np.ones((3, 3)), list("abc")), "sum to 1, not to 3"),
        (lambda: AttentionMap(np.eye(3), list("ab")), "do not fit 2 queries and 2 keys"),
        (lambda: AttentionMap(), "weights .* are needed"),
        (lambda: NextToken(np.zeros((2, 3)), ["a"], ["b"]), r"shape \(2, 3\) for 1 contexts"),
        (lambda: FromAverage(np.full((2, 2), 0.5), list("ab")), "look ahead"),
        (lambda: FromAverage(np.eye(3), list("ab")), "for 2 tokens"),
        (lambda: PronounMaps(np.zeros((2, 2, 3)), [["a"]], ["x"], ["y"]), "do not fit 1 sentences"),
        (lambda: Quiz([]), "no question"),
        (
            lambda: Quiz("99-nothing"),
            "no questions for '99-nothing'; there are some for: 01-average",
        ),
        (lambda: Quiz("nowhere.toml"), "cannot be read: .*nowhere.toml"),
        (lambda: Quiz([{"question": "?", "choices": ["a", "b"]}]), "no correct and no why"),
    ],
)
def test_what_does_not_fit_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"choices": ["a", "a"]}, "2 to 6 different choices"),
        ({"choices": ["a"]}, "2 to 6 different choices"),
        ({"correct": 2}, "correct is 2 of 2"),
        ({"correct": "a"}, "correct is 'a' of 2"),
        ({"correct": True}, "correct is True of 2"),
        ({"why": "."}, "one sentence in why for each"),
        ({"why": ["."]}, "one sentence in why for each"),
        ({"why": [".", " "]}, "one sentence in why for each"),
    ],
)
def test_a_quiz_question_that_cannot_be_answered_is_refused(
    change: dict[str, Any], message: str
) -> None:
    question = {"question": "?", "choices": ["a", "b"], "correct": 0, "why": ["Yes.", "No."]}
    assert read_questions([question]) == [question]
    with pytest.raises(ValueError, match=message):
        read_questions([{**question, **change}])


def test_records_become_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from course.experiments import load_records

    monkeypatch.setenv("COURSE_RECORDS", str(tmp_path))
    assert rows_of(load_records("norms")) == []
    assert softmax([0.0])[0] == 1
