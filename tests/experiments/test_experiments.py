"""What the experiments measure is what they say: languages, probes, splits, published figures."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from course.experiments import (
    arrays,
    cost,
    induction,
    norms,
    positions,
    pronouns,
    recurrence,
    scaling,
    seq2seq,
)
from course.experiments.base import Replayed, Run
from course.experiments.checkpoints import NoCheckpoint
from course.experiments.protocol import probe_steps
from course.experiments.registry import EXPERIMENTS
from course.models.counting import count_parameters
from course.models.ladder import RUNGS, build_rung


def run_of(name: str, row: str, seed: int = 0, **changes) -> Run:
    """A run of a row at the quick budget, with some of its configuration replaced."""
    experiment = EXPERIMENTS[name]
    config = {**experiment.config(experiment.row(row), "quick"), **changes}
    return Run(name, row, config, seed, "quick", "cpu", NoCheckpoint())


def test_the_ladder_s_rows_are_the_ladder_s_rungs():
    rows = EXPERIMENTS["ladder"].rows
    assert [row.name for row in rows] == list(RUNGS)
    for row in rows:
        rung = RUNGS[row.name]
        assert (row.label, row.published["held_out"]) == (rung.label, rung.published)
        assert bool(row.approximate) is rung.approximate
        assert row.config["rung"] == row.name
        assert (row.config["steps"], row.config["batch_size"], row.config["lr"]) == (3000, 64, 1e-3)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_quick_is_never_more_than_full(name):
    experiment = EXPERIMENTS[name]
    for row in experiment.rows:
        full, quick = experiment.config(row, "full"), experiment.config(row, "quick")
        assert full == dict(row.config)
        assert quick != full
        assert all(quick[key] <= full[key] for key in experiment.quick if key in full)
    with pytest.raises(ValueError, match="medium"):
        experiment.config(row, "medium")


@pytest.mark.parametrize("name", [e.name for e in EXPERIMENTS.values() if e.trains])
def test_every_training_experiment_can_be_replayed(name, monkeypatch):
    row = EXPERIMENTS[name].rows[-1].name
    small = {"steps": 6, "batch_size": 2, "n_layers": 1, "initialisations": 1}
    config = EXPERIMENTS[name].config(EXPERIMENTS[name].row(row), "quick")
    losses = []
    for _ in range(2):
        run = run_of(name, row, **{k: v for k, v in small.items() if k in config})
        run.replay = 4
        with pytest.raises(Replayed) as replayed:
            EXPERIMENTS[name].run(run)
        losses.append(replayed.value.losses)
    assert losses[0] == losses[1]
    assert len(losses[0]) == 4
    assert all(math.isfinite(loss) for loss in losses[0])


def test_probe_steps_are_dense_at_the_start_and_reach_the_end():
    steps = probe_steps(3000)
    assert steps[:6] == [0, 1, 2, 5, 10, 20]
    assert steps[-1] == 3000
    assert steps == sorted(set(steps))
    assert max(b - a for a, b in itertools.pairwise(steps)) <= 76
    assert probe_steps(3)[-1] == 3


def test_kept_weights_come_back(tmp_path):
    class Merges:
        merges = ((1, 2), (3, 4))

    model, other = build_rung("four-heads", 20, 16, 4, 8), build_rung("four-heads", 20, 16, 4, 8)
    kept = arrays.stored_weights(model, Merges())
    assert kept["merges"].tolist() == [[1, 2], [3, 4]]
    arrays.restore_weights(other, kept)
    idx = torch.randint(20, (2, 8))
    assert torch.allclose(model(idx), other(idx), atol=1e-2)
    assert not torch.equal(model(idx), other(idx))  # float16 on the way
    del kept["weight/output.bias"]
    with pytest.raises(ValueError, match=r"output\.bias has shape \(20,\), the .* nothing"):
        arrays.restore_weights(other, kept)
    with pytest.raises(ValueError, match="shape"):
        arrays.restore_weights(build_rung("four-heads", 21, 16, 4, 8), kept)


def test_the_maps_kept_are_those_of_the_model():
    class Bytes:
        def encode(self, text):
            return list(text.encode())

        def token_bytes(self, token):
            return bytes([token])

    model = build_rung("one-block", 256, 32, 4, 16)
    kept = arrays.sample_maps(model, Bytes(), "to be, or not to be")
    assert kept["maps"].shape == (1, 4, 16, 16)
    assert "".join(kept["pieces"]) == "to be, or not to"
    ids = torch.tensor([kept["ids"].tolist()])
    block = model.layers[0]
    _, weights = block(model.embed(ids), return_weights=True)
    assert np.allclose(kept["maps"][0], weights[0].detach().numpy(), atol=1e-3)
    assert model.training


# --- scaling -------------------------------------------------------------------------------------


def test_the_probe_of_the_head_is_the_head():
    config = {
        **EXPERIMENTS["scaling"].row("dk32-3000-undivided").config,
        "d_head": 8,
        "context_length": 12,
        "vocab_size": 30,
    }
    model = scaling.build(config)
    windows = torch.randint(30, (5, 12))
    (head,) = (m for m in model.modules() if type(m).__name__ == "Head")
    assert head.scale == 1.0
    with torch.no_grad():
        found = scaling.look_inside(model, windows)
        x = model.embed(windows)
        _, weights = head(x, return_weights=True)
    rows = [row[: t + 1] for n in range(5) for t, row in enumerate(weights[n]) if t]
    entropy = np.mean([-float((row * row.clamp(min=1e-30).log()).sum()) for row in rows])
    assert found["entropy"] == pytest.approx(entropy, abs=1e-5)
    assert found["share_over_099"] == pytest.approx(
        np.mean([float(row.max()) > 0.99 for row in rows]), abs=1e-6
    )
    q, k = head.q_proj(x).detach(), head.k_proj(x).detach()
    scores = [float(q[n, t] @ k[n, s]) for n in range(5) for t in range(12) for s in range(t + 1)]
    assert found["score_std"] == pytest.approx(np.std(scores, ddof=1), rel=1e-4)


def test_scores_start_at_two_thirds_of_the_root_of_the_width():
    torch.manual_seed(0)
    config = EXPERIMENTS["scaling"].row("dk1024-1500-undivided").config
    with torch.no_grad():
        found = scaling.look_inside(scaling.build(config), torch.randint(1024, (8, 128)))
    assert found["score_std"] == pytest.approx(2 / 3 * 1024**0.5, rel=0.1)


def test_only_the_width_and_the_division_differ_between_rows_of_a_setting():
    for row in EXPERIMENTS["scaling"].rows:
        config = dict(row.config)
        width, steps, variant = row.name.removeprefix("dk").split("-")
        assert (config["d_head"], config["steps"]) == (int(width), int(steps))
        assert config["divide"] is (variant == "divided")
        assert config["batch_size"] == {3000: 64, 1500: 32}[config["steps"]]


# --- norms and positions -------------------------------------------------------------------------


def test_twelve_blocks_with_norms_before_or_after():
    for name, norm in (("pre-plain", "pre"), ("post-warmup", "post")):
        config = EXPERIMENTS["norms"].row(name).config
        with torch.device("meta"):
            model = norms.build(config)
        assert len(model.blocks) == 12
        assert {block.norm for block in model.blocks} == {norm}
        assert (config["lr"], config["steps"], config["batch_size"]) == (3e-3, 1000, 32)
    assert EXPERIMENTS["norms"].row("post-plain").config["warmup"] == 0
    assert EXPERIMENTS["norms"].row("post-warmup").config["warmup"] == 200


def test_gradient_norms_are_those_of_the_first_batch():
    class Tokens:
        train = torch.randint(1024, (2000,))

    run = run_of("norms", "post-plain", seed=1, n_layers=2, batch_size=2, initialisations=1)
    found = norms.gradient_norms(run, Tokens)
    from course.training import Batches

    torch.manual_seed(1)
    model = norms.build(run.config)
    inputs, targets = Batches(Tokens.train, 128, 2, 1).next()
    torch.nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()).backward()
    grad = model.blocks[1].attention.o_proj.weight.grad
    assert found["block"] == [1, 2]
    assert found["output"][1] == pytest.approx(float(grad.norm()), rel=1e-5)
    assert found["output_low"] == found["output"] == found["output_high"]
    whole = math.sqrt(sum(float(p.grad.square().sum()) for p in model.blocks[0].parameters()))
    assert found["all"][0] == pytest.approx(whole, rel=1e-5)


def test_the_four_encodings_are_one_block_of_the_ladder():
    with torch.device("meta"):
        block = count_parameters(build_rung("one-block"))
        sizes = {
            row.name: count_parameters(positions.build(dict(row.config)))
            for row in EXPERIMENTS["positions"].rows
        }
    assert sizes["learned"] == block + 128 * 128  # 256 rows of positions instead of 128
    assert sizes["sinusoidal"] == sizes["rope"] == sizes["alibi"] == block - 128 * 128


# --- pronouns ------------------------------------------------------------------------------------


def words(ids: torch.Tensor) -> list[list[str]]:
    return [[pronouns.WORDS[i] for i in row] for row in ids.tolist()]


@pytest.mark.parametrize("seed", [0, 1])
def test_the_closed_language_holds_out_pairs_whose_reverse_is_in_training(seed):
    config = dict(EXPERIMENTS["pronouns"].row("two-blocks").config)
    training, held_out = (words(part) for part in pronouns.corpus(config, seed))
    pairs = [{(s[pronouns.X], s[pronouns.Y]) for s in part} for part in (training, held_out)]
    assert len(pairs[1]) == config["held_out_pairs"] == 90
    assert not pairs[0] & pairs[1]
    assert {(y, x) for x, y in pairs[1]} <= pairs[0]
    assert len(pairs[0] | pairs[1]) == 240
    assert len(training) + len(held_out) == 240 * 8
    nouns = {noun for pair in pairs[0] for noun in pair}
    assert {x for x, _ in pairs[0]} == {y for _, y in pairs[0]} == nouns == set(pronouns.NOUNS)


def test_the_leaky_language_gives_the_category_away():
    config = dict(EXPERIMENTS["pronouns"].row("leaky-average").config)
    training, held_out = (words(part) for part in pronouns.corpus(config, 0))
    assert len(held_out) == 12 * 8
    for sentence in training + held_out:
        assert sentence[pronouns.X] in pronouns.ANIMALS
        assert sentence[pronouns.Y] in pronouns.PLACES
        animal = sentence[pronouns.ADJECTIVE] in pronouns.CROSSER
        assert (sentence[pronouns.REFERENT] in pronouns.ANIMALS) is animal


def test_the_sentence():
    crosser = pronouns.sentence("dog", "road", "tired")
    assert " ".join(crosser) == (
        "the dog did not cross the road because it was too tired , so the dog waited ."
    )
    assert pronouns.sentence("dog", "road", "wet")[pronouns.REFERENT] == "road"
    assert len(crosser) == pronouns.LENGTH == 18
    assert (crosser[pronouns.X], crosser[pronouns.Y]) == ("dog", "road")
    assert set(crosser) <= set(pronouns.WORDS)
    assert len(set(pronouns.WORDS)) == len(pronouns.WORDS)
    assert (len(pronouns.NOUNS), len(pronouns.CROSSER), len(pronouns.CROSSED)) == (16, 4, 4)


def test_the_score_counts_right_wrong_noun_and_other():
    config = dict(EXPERIMENTS["pronouns"].row("average").config)
    _, held_out = pronouns.corpus(config, 0)

    class Guess(torch.nn.Module):
        """Says the first noun, whatever is asked."""

        def forward(self, idx):
            return (
                torch.nn.functional.one_hot(idx[:, pronouns.X], len(pronouns.WORDS))[:, None]
                .float()
                .expand(-1, idx.shape[1], -1)
            )

    metrics, kept = pronouns.measure(Guess(), held_out, config)
    assert (metrics["right"], metrics["wrong_noun"], metrics["other"]) == (0.5, 0.5, 0.0)
    assert kept == {}


def test_block_one_asks_the_same_whatever_the_adjective():
    config = dict(EXPERIMENTS["pronouns"].row("two-blocks").config)
    torch.manual_seed(3)
    model = pronouns.build(config).eval()
    for p in model.parameters():  # large weights, so that maps are far from uniform
        torch.nn.init.normal_(p, std=0.3) if p.dim() == 2 else None
    _, held_out = pronouns.corpus(config, 0)
    with torch.no_grad():
        metrics, kept = pronouns.measure(model, held_out, config)
    assert metrics["block1_score_difference"] < 1e-4
    assert 0 < metrics["block1_weight_difference"] <= metrics["block1_adjective_weight_max"]
    assert metrics["block2_weight_difference"] > 0.01
    assert kept["maps"].shape == (8, 2, 4, 17, 17)
    assert kept["words"][:, pronouns.ADJECTIVE].tolist() == kept["adjectives"].tolist()
    assert kept["adjectives"].tolist() == list(pronouns.ADJECTIVES)
    assert kept["logits"].shape == (8, len(pronouns.WORDS))
    rows = kept["maps"].astype(np.float32).sum(-1)
    assert np.allclose(rows, 1, atol=5e-3)
    with torch.no_grad():
        ids = held_out[:8, :-1]
        scores = pronouns.first_block_scores(model, ids).masked_fill(
            ~torch.ones(17, 17, dtype=torch.bool).tril(), -math.inf
        )
        assert torch.allclose(scores.softmax(-1), model(ids, return_weights=True)[1][0], atol=1e-5)


# --- recurrence, induction, sequences, cost ------------------------------------------------------


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
