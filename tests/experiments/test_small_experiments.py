"""Recurrence, induction, sequences and cost measure what they say."""

from __future__ import annotations

import pytest
import torch

from course.experiments import (
    cost,
    induction,
    recurrence,
    seq2seq,
)
from course.experiments.registry import EXPERIMENTS


def test_gradients_of_a_linear_chain_fall_as_they_must():
    config = {
        **EXPERIMENTS["recurrence"].row("tanh-0.9").config,
        "gain": 0.5,
        "length": 12,
        "width": 16,
    }
    torch.manual_seed(0)
    found = recurrence.gradients(recurrence.build(config), config)
    assert found["distance"] == list(range(1, 12))
    assert found["relative"][0] == 1
    # tanh is almost straight here: each step multiplies by the matrix of size one half
    assert found["relative"][5] == pytest.approx(0.5**5, rel=0.25)


def test_repeating_sequences_repeat():
    config = EXPERIMENTS["induction"].row("two-layers").config
    ids, periods = induction.repeated(config, 50, torch.Generator().manual_seed(0))
    assert ids.shape == (50, config["context_length"] + 1)
    assert periods.min() >= config["shortest_period"]
    assert periods.max() <= config["longest_period"]
    for row, period in zip(ids, periods.tolist(), strict=True):
        assert torch.equal(row[period:], row[:-period])
        assert len(set(row[:period].tolist())) > 1


def test_an_ideal_induction_circuit_is_recognised():
    """Maps made by hand: layer 1 looks one back, layer 2 at what followed the last occurrence."""
    config = dict(EXPERIMENTS["induction"].row("two-layers").config)
    ids, periods = induction.repeated(config, 3, torch.Generator().manual_seed(0))
    model = induction.build(config)
    T = config["context_length"]
    maps = torch.zeros(2, 3, 4, T, T)
    for t in range(T):
        maps[0, :, 2, t, max(t - 1, 0)] = 1
        for n, period in enumerate(periods.tolist()):
            maps[1, n, 1, t, t - period + 1 if t >= period else 0] = 1
    handed = iter(maps)
    from course.attention import MultiHeadAttention

    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.forward = lambda x, return_weights=False: (torch.zeros_like(x), next(handed))
    with torch.no_grad():
        found, kept = induction.look(model, ids, periods)
    assert found["previous_layer1"] == 1
    assert found["induction_last"] == pytest.approx(1)
    assert kept.shape == (2, 4, T, T)


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (0, "zero"),
        (13, "thirteen"),
        (40, "forty"),
        (99, "ninety nine"),
        (100, "one hundred"),
        (342, "three hundred and forty two"),
        (1000, "one thousand"),
        (1001, "one thousand and one"),
        (21_305, "twenty one thousand three hundred and five"),
        (999_999, "nine hundred and ninety nine thousand nine hundred and ninety nine"),
    ],
)
def test_numbers_in_words(n, text):
    assert " ".join(seq2seq.in_words(n)) == text


def test_numbers_in_words_are_all_different():
    assert len({tuple(seq2seq.in_words(n)) for n in range(20_000)}) == 20_000


@pytest.mark.parametrize("task", ["reversal", "numbers"])
def test_held_out_sources_are_never_trained_on(task):
    sources = []
    for held_out in (False, True):
        generator = torch.Generator().manual_seed(0)
        sources.append({tuple(seq2seq.pair(task, generator, held_out)[0]) for _ in range(400)})
    assert not sources[0] & sources[1]
    longest = max(len(s) for s in sources[0] | sources[1])
    config = EXPERIMENTS["seq2seq"].row(task).config
    assert longest + 1 <= config["context_length"]


def test_batches_of_pairs_are_padded_and_masked():
    config = {**EXPERIMENTS["seq2seq"].row("reversal").config, "batch_size": 16}
    source, target, mask, wanted = seq2seq.Pairs(config, 0, "cpu").next()
    assert torch.equal(mask, source != seq2seq.PAD)
    assert (target[:, 0] == seq2seq.START).all()
    assert torch.equal(
        target[:, 1:][wanted[:, 1:] != seq2seq.PAD], wanted[:, :-1][wanted[:, 1:] != seq2seq.PAD]
    )
    for s, w in zip(source.tolist(), wanted.tolist(), strict=True):
        letters = [i for i in s if i != seq2seq.PAD]
        end = w.index(seq2seq.END)
        assert w[:end] == letters[::-1]
        assert set(w[end + 1 :]) <= {seq2seq.PAD}


def test_costs_are_summarised_over_the_last_four_that_fit():
    config = dict(EXPERIMENTS["cost"].row("plain").config)
    done = [
        {"peak_mb": 3.0 * 4**i, "seconds": 2.0**i, "projection_seconds": 1.0} for i in range(7)
    ] + [{}]
    metrics = cost.summarise(done, config)
    assert metrics["memory_exponent"] == pytest.approx(2)
    assert metrics["time_exponent"] == pytest.approx(1)
    assert metrics["projection_exponent"] == pytest.approx(0)
    assert metrics["longest_fitting"] == 8192
    assert metrics["out_of_memory"] is True
    assert metrics["largest_memory_ratio"] == pytest.approx(4)
    columns = cost.by_column([128 * 2**i for i in range(8)], done, config)
    assert columns["scores_mb"] == [0.5, 2, 8, 32, 128, 512, 2048, 8192]
    assert columns["peak_mb"][-1] is None


def test_a_length_that_does_not_fit_is_a_result_and_another_failure_is_not():
    config = {**EXPERIMENTS["cost"].row("plain").config, "repeats": 1, "limit_gib": 4}
    assert cost.in_fresh_process(16384, config) == {}
    with pytest.raises(RuntimeError, match="n = 64: the measuring process ended with status 1"):
        cost.in_fresh_process(64, {**config, "n_heads": 7})


def test_the_plain_kernel_holds_the_scores_and_the_efficient_one_does_not():
    config = {**EXPERIMENTS["cost"].row("plain").config, "repeats": 1}
    n = 1024
    plain = cost.in_fresh_process(n, config)
    efficient = cost.in_fresh_process(n, {**config, "kernel": "efficient"})
    scores = 8 * n * n * 4 / 2**20
    assert plain["peak_mb"] > 1.5 * scores
    assert efficient["peak_mb"] < scores
