"""What the experiments measure is what they say: languages, probes, splits, published figures."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from course.experiments import (
    arrays,
    norms,
    positions,
    scaling,
)
from course.experiments.base import Replayed
from course.experiments.protocol import probe_steps
from course.experiments.registry import EXPERIMENTS
from course.models.counting import count_parameters
from course.models.ladder import RUNGS, build_rung
from tests.experiments.runs import run_of


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
