"""Training: schedules at known points, exact resumption, perplexity by hand."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course.models import build_rung
from course.training import (
    Batches,
    Trainer,
    make_optimizer,
    noam_rate,
    perplexity,
    pick_device,
    warmup_rate,
    windows,
)

TEXT = torch.randint(16, (2_000,), generator=torch.Generator().manual_seed(0))


def make_trainer(steps=12, **kwargs):
    torch.manual_seed(3)
    model = build_rung("head", vocab_size=16, d_model=8, n_heads=2, context_length=8)
    return Trainer(model, Batches(TEXT, 8, 4, seed=5), steps=steps, **kwargs)


def test_noam_peaks_at_the_end_of_warm_up():
    """C7: 6.988e-4 at step 4000 for d_model 512."""
    rates = [noam_rate(step, 512) for step in range(1, 12_001)]
    assert max(range(12_000), key=rates.__getitem__) + 1 == 4000
    assert noam_rate(4000, 512) == pytest.approx(6.988e-4, abs=5e-8)
    assert noam_rate(2000, 512) == pytest.approx(noam_rate(4000, 512) / 2)
    assert noam_rate(16_000, 512) == pytest.approx(noam_rate(4000, 512) / 2)


@pytest.mark.parametrize("rate", [lambda s: noam_rate(s, 512), lambda s: warmup_rate(s, 10)])
@pytest.mark.parametrize("step", [0, -3])
def test_a_step_below_one_is_refused(rate, step):
    with pytest.raises(ValueError, match=f"step must be .* got {step}"):
        rate(step)


def test_warm_up_rises_in_a_line_and_stays():
    assert [warmup_rate(s, 4) for s in (1, 2, 4, 9)] == [0.25, 0.5, 1, 1]
    assert warmup_rate(1, 0) == 1
    with pytest.raises(ValueError, match="-1"):
        warmup_rate(1, -1)


def test_the_schedule_reaches_the_optimizer():
    trainer, seen = make_trainer(4, lr=0.5, schedule=lambda s: warmup_rate(s, 4)), []
    trainer.run(progress=False, on_step=lambda t: seen.append(t.optimizer.param_groups[0]["lr"]))
    assert seen == [0.125, 0.25, 0.375, 0.5]


def test_the_recipe_of_2017():
    """C6."""
    group = make_optimizer(nn.Linear(2, 2), "adam-2017").param_groups[0]
    assert group["betas"] == (0.9, 0.98)
    assert group["eps"] == 1e-9
    assert isinstance(make_optimizer(nn.Linear(2, 2)), torch.optim.AdamW)
    with pytest.raises(ValueError, match="sgd"):
        make_optimizer(nn.Linear(2, 2), "sgd")
    with pytest.raises(ValueError, match="-1"):
        make_optimizer(nn.Linear(2, 2), lr=-1)


def test_label_smoothing_is_the_smoothed_target():
    """C8: K = 4, ε = 0.1 → 0.925 and 0.025, and PyTorch's own loss on them."""
    target = torch.full((4,), 0.1 / 4, dtype=torch.float64)
    target[2] += 0.9
    assert target.tolist() == pytest.approx([0.025, 0.025, 0.925, 0.025])
    logits = torch.randn(1, 4, dtype=torch.float64)
    by_hand = -(target * logits.log_softmax(-1)).sum()
    smoothed = F.cross_entropy(logits, torch.tensor([2]), label_smoothing=0.1)
    assert smoothed.item() == pytest.approx(by_hand.item(), abs=1e-12)
    plain, smooth = make_trainer(), make_trainer(label_smoothing=0.1)
    assert plain.advance() != smooth.advance()


def test_targets_are_the_inputs_one_token_on():
    x, y = Batches(TEXT, 8, 4, seed=1).next()
    assert x.shape == y.shape == (4, 8)
    assert x[:, 1:].equal(y[:, :-1])
    flat = TEXT.tolist()
    for row, last in zip(x.tolist(), y[:, -1].tolist(), strict=True):
        assert any(flat[i : i + 8] == row and flat[i + 8] == last for i in range(len(flat) - 8))


def test_the_batches_of_a_seed_do_not_depend_on_other_random_numbers():
    torch.manual_seed(0)
    first = Batches(TEXT, 8, 4, seed=1).next()[0]
    torch.manual_seed(99)
    assert Batches(TEXT, 8, 4, seed=1).next()[0].equal(first)
    assert not Batches(TEXT, 8, 4, seed=2).next()[0].equal(first)


def test_a_run_stopped_and_continued_is_the_run_never_stopped(tmp_path):
    whole = make_trainer().run(progress=False)
    first = make_trainer()
    first.run(until=5, progress=False)
    torch.save(first.state_dict(), tmp_path / "state.pt")
    torch.manual_seed(1234)
    second = make_trainer()
    second.load_state_dict(torch.load(tmp_path / "state.pt"))
    assert second.step == 5
    assert second.run(progress=False) == whole
    assert len(whole) == 12


def test_training_lowers_the_loss():
    trainer = make_trainer(200, lr=1e-2)
    pattern = torch.arange(2_000) % 7
    trainer.batches = Batches(pattern, 8, 4)
    losses = trainer.run(progress=False)
    assert losses[-1] < 0.1 < 1.5 < losses[0]


def test_a_loss_that_is_no_number_stops_the_run_and_names_the_step():
    trainer = make_trainer()
    trainer.run(until=2, progress=False)
    nn.init.constant_(trainer.model.output.bias, float("nan"))
    with pytest.raises(FloatingPointError, match="step 3"):
        trainer.run(progress=False)
    assert trainer.step == 2


def test_perplexity_is_over_all_positions_of_whole_windows():
    model = make_trainer().model
    x, y = windows(TEXT, 8)
    assert x.shape == y.shape == (249, 8)
    assert x.flatten()[1:].equal(y.flatten()[:-1])
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()
    model.train()
    for batch_size in (7, 64, 1000):
        assert perplexity(model, TEXT, 8, batch_size) == pytest.approx(math.exp(loss), rel=1e-5)
    assert model.training


def test_an_untrained_uniform_model_has_the_vocabularys_perplexity():
    model = build_rung("no-context", vocab_size=16, d_model=8, n_heads=2, context_length=8)
    for p in model.output.parameters():
        nn.init.zeros_(p)
    assert perplexity(model, TEXT, 8) == pytest.approx(16, rel=1e-5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Batches(TEXT[:8], 8, 4), r"N > context_length=8, got \(8,\)"),
        (lambda: Batches(TEXT, 0, 4), "context_length"),
        (lambda: windows(TEXT[:8], 8), "8 tokens are too few"),
        (lambda: make_trainer(0), "steps"),
        (lambda: pick_device("tpu-7"), "tpu-7"),
    ],
)
def test_bad_values_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_auto_picks_what_is_there(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert pick_device().type == "cuda"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert pick_device().type == "mps"
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert pick_device().type == "cpu"
    assert pick_device("meta").type == "meta"
    with pytest.raises(ValueError, match="cuda"):
        pick_device("cuda")
