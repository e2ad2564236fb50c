"""Four ways to put position in, trained at 64 tokens and read at 64, 128 and 256 (A21, A35).

One block in the common setting but for the windows of 64 (the budget is ours).  The learned table
has 256 rows, of which training sees 64.  The rotary model is also read with its positions divided
by 2 and by 4, without further training: the rescaling behind most long-context announcements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from course.experiments.base import Experiment, Metric, Result, Row, Run

if TYPE_CHECKING:
    from course.models.gpt import GPT
    from course.tokenizer import TokenizedCorpus

_CONFIG = {
    "vocab_size": 1024,
    "context_length": 64,
    "longest": 256,
    "d_model": 128,
    "n_heads": 4,
    "batch_size": 64,
    "lr": 1e-3,
    "steps": 3000,
}
_READ_AT = (64, 128, 256)
_RESCALED_BY = (2, 4)


def run(run: Run) -> Result:
    """Train one block with one kind of position, and read it at three lengths."""
    import torch

    from course.experiments.protocol import corpus_entry, text_batches, tokens_for, train
    from course.training import Trainer

    tokens = tokens_for(run)
    torch.manual_seed(run.seed)
    model = build(run.config).to(run.device)
    trainer = Trainer(
        model, text_batches(run, tokens), lr=run.config["lr"], steps=run.config["steps"]
    )
    train(run, trainer)
    return Result(measure(model, tokens, run.config), trainer.losses, corpus=corpus_entry(tokens))


def build(config: dict[str, Any], rope_scale: float = 1.0) -> GPT:
    """One block as in the ladder, with ``config["positions"]``."""
    from course.models.gpt import GPT

    return GPT(
        config["vocab_size"],
        config["longest"],
        config["d_model"],
        config["n_heads"],
        1,
        qkv_bias=False,
        tied=False,
        positions=config["positions"],
        rope_scale=rope_scale,
    )


def measure(model: GPT, tokens: TokenizedCorpus, config: dict[str, Any]) -> dict[str, Any]:
    """Held-out perplexity over all positions of windows of 64, 128 and 256 tokens."""
    from course.training import perplexity

    metrics: dict[str, Any] = {f"at_{T}": perplexity(model, tokens.held_out, T) for T in _READ_AT}
    if config["positions"] == "rope":
        device = next(model.parameters()).device
        for factor in _RESCALED_BY:
            rescaled = build(config, rope_scale=factor).to(device)
            rescaled.load_state_dict(model.state_dict())
            for T in _READ_AT:
                metrics[f"at_{T}_rescaled_{factor}"] = perplexity(rescaled, tokens.held_out, T)
    return metrics


def _row(positions: str, label: str, published: dict[str, float] | None = None) -> Row:
    return Row(positions, label, {"positions": positions, **_CONFIG}, published or {})


EXPERIMENT = Experiment(
    name="positions",
    title="Four ways to put position in, read at lengths that training never saw",
    claims=("A21", "A35", "C14"),
    rows=(
        _row("learned", "learned table"),
        _row("sinusoidal", "sinusoids"),
        _row("rope", "rotary (RoPE)"),
        _row("alibi", "linear biases (ALiBi)", {"at_64": 44.95, "at_256": 42.49}),
    ),
    run=run,
    metrics=(
        Metric("at_64", "perplexity at 64"),
        Metric("at_128", "perplexity at 128"),
        Metric("at_256", "perplexity at 256"),
        Metric("at_128_rescaled_2", "at 128, positions halved"),
        Metric("at_256_rescaled_4", "at 256, positions quartered"),
    ),
    quick={"steps": 60},
    evaluation=("course.experiments.positions:measure",),
    seeds=3,
)
