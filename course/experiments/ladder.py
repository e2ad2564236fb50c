"""The ladder: ten models, each one idea away from the one before, trained alike (A2 to A10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from course.experiments.base import Experiment, Metric, Result, Row, Run

if TYPE_CHECKING:
    from course.models.ladder import LadderModel
    from course.tokenizer import TokenizedCorpus

_CONFIG = {
    "vocab_size": 1024,
    "context_length": 128,
    "d_model": 128,
    "n_heads": 4,
    "batch_size": 64,
    "lr": 1e-3,
    "steps": 3000,
}
_SAMPLE = "ROMEO:\nBut soft, what light through yonder window breaks?\nIt is the east"
_KEEP_WEIGHTS = ("one-block",)  # what the pages generate from
_KEEP_MAPS = ("four-heads", "one-block")


def run(run: Run) -> Result:
    """Train one rung with one seed and measure its perplexities."""
    import torch

    from course.experiments.protocol import corpus_entry, text_batches, tokens_for, train
    from course.models.ladder import build_rung
    from course.training import Trainer

    config = run.config
    tokens = tokens_for(run)
    torch.manual_seed(run.seed)
    model = build_rung(
        config["rung"],
        config["vocab_size"],
        config["d_model"],
        config["n_heads"],
        config["context_length"],
    ).to(run.device)
    trainer = Trainer(model, text_batches(run, tokens), lr=config["lr"], steps=config["steps"])
    train(run, trainer)
    metrics, arrays = measure(model, tokens, config, with_arrays=run.seed == 0)
    return Result(metrics, trainer.losses, arrays=arrays, corpus=corpus_entry(tokens))


def measure(
    model: LadderModel, tokens: TokenizedCorpus, config: dict[str, Any], with_arrays: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Perplexities and sizes; for some rungs also weights and maps, for the pages."""
    from course.experiments.arrays import sample_maps, stored_weights
    from course.experiments.protocol import split_perplexities
    from course.models.counting import count_parameters

    metrics: dict[str, Any] = split_perplexities(model, tokens, config["context_length"])
    metrics["parameters"] = count_parameters(model)
    arrays: dict[str, Any] = {}
    if with_arrays and config["rung"] in _KEEP_MAPS:
        arrays |= sample_maps(model, tokens.tokenizer, _SAMPLE)
    if with_arrays and config["rung"] in _KEEP_WEIGHTS:
        arrays |= stored_weights(model, tokens.tokenizer)
    return metrics, arrays


def _row(rung: str, label: str, published: dict[str, float], approximate: bool = False) -> Row:
    return Row(
        rung, label, {"rung": rung, **_CONFIG}, published, tuple(published) if approximate else ()
    )


EXPERIMENT = Experiment(
    name="ladder",
    title="From an average to a block: ten rungs, one idea each",
    claims=("A2", "A3", "A4", "A5", "A6", "A7", "A8", "A9", "A10", "A36"),
    rows=(
        _row("no-context", "no context: token → linear", {"held_out": 59.71}),
        _row("average", "the causal average instead of the token", {"held_out": 248.0}, True),
        _row(
            "average-positions",
            "the same with positions added before averaging",
            {"held_out": 246.0},
            True,
        ),
        _row("token-plus-average", "token (with positions) plus the average", {"held_out": 60.45}),
        _row("head-instead", "one head instead of the token", {"held_out": 55.5}, True),
        _row("head", "one head plus the token", {"held_out": 46.5}, True),
        _row(
            "four-heads",
            "four heads with an output projection, plus the token",
            {"held_out": 43.5},
            True,
        ),
        _row("feed-forward", "plus a feed-forward network, no norms", {"held_out": 39.9}, True),
        _row("one-block", "plus LayerNorms: one block", {"held_out": 38.07, "train": 18.77}),
        _row("two-blocks", "two blocks", {"held_out": 40.57, "train": 14.49}),
    ),
    run=run,
    metrics=(
        Metric("held_out", "perplexity, held out"),
        Metric("train", "perplexity, training text"),
        Metric("parameters", "parameters", digits=0),
    ),
    quick={"steps": 150},
    evaluation=("course.experiments.ladder:measure",),
    seeds=3,
)
