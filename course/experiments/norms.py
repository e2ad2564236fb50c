"""Pre-norm against post-norm, twelve blocks deep, with and without warm-up (A20).

1000 steps at a learning rate of 3e-3 with batches of 32; the rest is the common setting.  Before
any step, the gradient of the loss on one batch is measured block by block over several fresh
models: its norm over the attention's output projection (whose size the published figures have),
over all four of the attention's projections, and over all the block's parameters (where the two
variants are closer to each other).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from course.experiments.base import Experiment, Metric, Result, Row, Run

if TYPE_CHECKING:
    from torch import nn

    from course.block import Block
    from course.models.gpt import GPT
    from course.tokenizer import TokenizedCorpus

_CONFIG = {
    "vocab_size": 1024,
    "context_length": 128,
    "d_model": 128,
    "n_heads": 4,
    "n_layers": 12,
    "batch_size": 32,
    "lr": 3e-3,
    "steps": 1000,
    "initialisations": 5,
}


def run(run: Run) -> Result:
    """Measure the gradients at the start, train, and measure the perplexity."""
    import torch

    from course.experiments.protocol import (
        corpus_entry,
        split_perplexities,
        text_batches,
        tokens_for,
        train,
    )
    from course.training import Trainer, warmup_rate

    config = run.config
    tokens = tokens_for(run)
    gradients = gradient_norms(run, tokens)
    torch.manual_seed(run.seed)
    model = build(config).to(run.device)
    trainer = Trainer(
        model,
        text_batches(run, tokens),
        lr=config["lr"],
        steps=config["steps"],
        schedule=lambda step: warmup_rate(step, config["warmup"]),
    )
    train(run, trainer)
    metrics: dict[str, Any] = split_perplexities(model, tokens, config["context_length"])
    for name in ("output", "attention", "all"):
        norms = gradients[name]
        metrics |= {
            f"gradient_{name}_first": norms[0],
            f"gradient_{name}_last": norms[-1],
            f"gradient_{name}_ratio": norms[-1] / norms[0],
        }
    return Result(
        metrics, trainer.losses, curves={"gradients": gradients}, corpus=corpus_entry(tokens)
    )


def build(config: dict[str, Any]) -> GPT:
    """Twelve of the ladder's blocks, with norms before or after."""
    from course.models.gpt import GPT

    return GPT(
        config["vocab_size"],
        config["context_length"],
        config["d_model"],
        config["n_heads"],
        config["n_layers"],
        qkv_bias=False,
        tied=False,
        norm=config["norm"],
    )


def gradient_norms(run: Run, tokens: TokenizedCorpus) -> dict[str, list[float]]:
    """Norms of the first batch's gradient, block by block, averaged over fresh models.

    ``output`` is over W_o, ``attention`` over W_q, W_k, W_v and W_o, ``all`` over every parameter
    of the block; ``output_low`` and ``output_high`` are the extreme models, and so on.
    """
    import torch
    import torch.nn.functional as F

    from course.training import Batches

    config = run.config
    by_model: list[dict[str, list[float]]] = []
    for number in range(config["initialisations"]):
        seed = run.seed * config["initialisations"] + number
        torch.manual_seed(seed)
        model = build(config).to(run.device)
        inputs, targets = Batches(
            tokens.train, config["context_length"], config["batch_size"], seed, run.device
        ).next()
        F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()).backward()
        blocks = [cast("Block", block) for block in model.blocks]
        attentions = [block.attention for block in blocks]
        by_model.append(
            {
                "output": [_norm(list(a.o_proj.parameters())[:1]) for a in attentions],
                "attention": [
                    _norm([p for p in a.parameters() if p.dim() == 2]) for a in attentions
                ],
                "all": [_norm(list(block.parameters())) for block in blocks],
            }
        )
    norms: dict[str, list[float]] = {"block": [i + 1.0 for i in range(config["n_layers"])]}
    for name in ("output", "attention", "all"):
        per_block = list(zip(*(model[name] for model in by_model), strict=True))
        norms[name] = [sum(values) / len(values) for values in per_block]
        norms[f"{name}_low"] = [min(values) for values in per_block]
        norms[f"{name}_high"] = [max(values) for values in per_block]
    return norms


def _norm(parameters: list[nn.Parameter]) -> float:
    squares = [float(p.grad.square().sum()) for p in parameters if p.grad is not None]
    return float(sum(squares) ** 0.5)


def _row(norm: str, warmup: int, published: dict[str, float]) -> Row:
    label = f"{norm}-norm, {f'{warmup} steps of warm-up' if warmup else 'no warm-up'}"
    name = f"{norm}-{'warmup' if warmup else 'plain'}"
    return Row(name, label, {**_CONFIG, "norm": norm, "warmup": warmup}, published)


EXPERIMENT = Experiment(
    name="norms",
    title="LayerNorm before or after, twelve blocks deep",
    claims=("A20",),
    rows=(
        _row(
            "pre",
            0,
            {
                "held_out": 37.82,
                "gradient_output_first": 0.0498,
                "gradient_output_last": 0.0657,
                "gradient_output_ratio": 1.32,
            },
        ),
        _row("pre", 200, {"held_out": 37.62}),
        _row(
            "post",
            0,
            {
                "held_out": 308.05,
                "gradient_output_first": 0.0977,
                "gradient_output_last": 0.1613,
                "gradient_output_ratio": 1.65,
            },
        ),
        _row("post", 200, {"held_out": 37.88}),
    ),
    run=run,
    metrics=(
        Metric("held_out", "perplexity, held out"),
        Metric("train", "perplexity, training text"),
        Metric("gradient_output_first", "gradient of W_o, first block", digits=4),
        Metric("gradient_output_last", "gradient of W_o, last block", digits=4),
        Metric("gradient_output_ratio", "last / first"),
        Metric("gradient_all_ratio", "last / first, all parameters"),
    ),
    quick={"steps": 10, "n_layers": 4, "initialisations": 2},
    evaluation=(
        "course.experiments.norms:gradient_norms",
        "course.experiments.protocol:split_perplexities",
        "course.training:warmup_rate",
    ),
    seeds=2,
)
