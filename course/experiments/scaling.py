"""Does dividing by √d_k matter? One head of each width, scores divided and not (A17, A18).

The model is the ladder's rung "one head plus the token", without a norm before the projections;
the values keep width d_model whatever the width of queries and keys (ours: the reference does not
say), so that d_k is all that changes.  The narrow heads train in the common setting, the wide ones
in a shorter one, alike for both variants; d_k = 128 is in both and ties them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from course.experiments.base import Experiment, Metric, Result, Row, Run

if TYPE_CHECKING:
    from torch import Tensor

    from course.models.ladder import LadderModel

_COMMON = {"vocab_size": 1024, "context_length": 128, "d_model": 128, "lr": 1e-3}
_LONG = {"batch_size": 64, "steps": 3000}
_SHORT = {"batch_size": 32, "steps": 1500}
_PROBE_WINDOWS = 32


def run(run: Run) -> Result:
    """Train one head of one width, watching its scores."""
    import torch

    from course.experiments.protocol import (
        corpus_entry,
        held_out_windows,
        probe_steps,
        split_perplexities,
        text_batches,
        tokens_for,
        train,
    )
    from course.training import Trainer

    config = run.config
    tokens = tokens_for(run)
    torch.manual_seed(run.seed)
    model = build(config).to(run.device)
    windows = held_out_windows(tokens, config["context_length"], _PROBE_WINDOWS).to(run.device)
    trainer = Trainer(model, text_batches(run, tokens), lr=config["lr"], steps=config["steps"])
    watched = train(
        run, trainer, lambda trainer: look_inside(model, windows), probe_steps(config["steps"])
    )
    metrics: dict[str, Any] = split_perplexities(model, tokens, config["context_length"])
    for when, at in (("start", 0), ("end", -1)):
        for name in ("score_std", "entropy", "share_over_099"):
            metrics[f"{name}_{when}"] = watched[name][at]
    return Result(metrics, trainer.losses, curves={"inside": watched}, corpus=corpus_entry(tokens))


def build(config: dict[str, Any]) -> LadderModel:
    """The rung "one head plus the token" with queries and keys of width ``d_head``."""
    from course.attention import Head
    from course.models.ladder import LadderModel, Residual

    head = Head(
        config["d_model"],
        config["d_head"],
        config["context_length"],
        d_value=config["d_model"],
        divide=config["divide"],
    )
    return LadderModel(
        config["vocab_size"],
        config["d_model"],
        config["context_length"],
        Residual(head),
        positions=True,
    )


def look_inside(model: LadderModel, windows: Tensor) -> dict[str, float]:
    """What the head's rows look like on fixed held-out windows (N, T).

    The standard deviation of the scores that enter the softmax, over the pairs the mask allows;
    and over the rows with at least two keys, the mean entropy in nats and the share of rows with
    more than 0.99 on one token.
    """
    import torch

    from course.attention import Head, causal_mask, masked_softmax

    (head,) = (module for module in model.modules() if isinstance(module, Head))
    x = model.embed(windows)  # (N, T, C)
    scores = head.q_proj(x) @ head.k_proj(x).transpose(-2, -1) * head.scale  # (N, T, T)
    mask = causal_mask(windows.shape[1], device=windows.device)
    weights = masked_softmax(scores, mask)[:, 1:]  # (N, T − 1, T)
    entropy = -torch.xlogy(weights, weights).sum(-1)  # (N, T − 1)
    return {
        "score_std": float(scores[:, mask].std()),
        "entropy": float(entropy.mean()),
        "share_over_099": float((weights.amax(-1) > 0.99).float().mean()),
    }


def _rows() -> tuple[Row, ...]:
    rows = []
    for width, setting, published in (
        (32, _LONG, {}),
        (64, _LONG, {}),
        (128, _LONG, {}),
        (128, _SHORT, {}),
        (256, _SHORT, {}),
        (512, _SHORT, {}),
        (1024, _SHORT, {}),
        (1024, _LONG, {}),
    ):
        for divide in (True, False):
            variant = "divided" if divide else "undivided"
            if width == 1024 and setting is _LONG:
                published = (
                    {"score_std_end": 3.44}
                    if divide
                    else {
                        "score_std_start": 21.0,
                        "score_std_end": 5147.0,
                        "share_over_099_end": 0.999,
                    }
                )
            rows.append(
                Row(
                    f"dk{width}-{setting['steps']}-{variant}",
                    f"d_k = {width}, {variant}, {setting['steps']} steps",
                    {**_COMMON, **setting, "d_head": width, "divide": divide},
                    published,
                )
            )
    return tuple(rows)


EXPERIMENT = Experiment(
    name="scaling",
    title="Scores divided by √d_k, and not: what it costs, and what happens inside",
    claims=("A17", "A18"),
    rows=_rows(),
    run=run,
    metrics=(
        Metric("held_out", "perplexity, held out"),
        Metric("train", "perplexity, training text"),
        Metric("score_std_start", "score std, start"),
        Metric("score_std_end", "score std, end"),
        Metric("entropy_end", "entropy, end", "nats", 3),
        Metric("share_over_099_end", "rows over 0.99, end", digits=3),
    ),
    quick={"steps": 60},
    evaluation=(
        "course.experiments.scaling:look_inside",
        "course.experiments.protocol:split_perplexities",
    ),
    seeds=3,
)
