"""Induction: [A][B] … [A] → [B], by a previous-token head that feeds a later head (A32).

Attention-only models (embeddings, causal attention with residuals, no MLP) learn to continue
random sequences that repeat themselves.  The period differs from sequence to sequence, so no fixed
distance helps: a model must find where the present token was before, and copy what followed.  One
layer cannot (its keys know nothing of the token before them); two can (Olsson et al. 2022).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from course.experiments.base import Experiment, Metric, Result, Row, Run

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

_CONFIG = {
    "vocab_size": 64,
    "context_length": 48,
    "shortest_period": 6,
    "longest_period": 20,
    "d_model": 64,
    "n_heads": 4,
    "batch_size": 64,
    "lr": 1e-3,
    "steps": 3000,
}
_TEST_SEED = 1_000_003  # the test sequences: the same for every run, never a training seed
_TEST_SEQUENCES = 256


def run(run: Run) -> Result:
    """Train one model, watching its loss on the repeated part and its heads."""
    import torch

    from course.experiments.arrays import half
    from course.experiments.protocol import probe_steps, train
    from course.training import Trainer

    config = run.config
    torch.manual_seed(run.seed)
    model = build(config).to(run.device)
    generator = torch.Generator().manual_seed(_TEST_SEED)
    test, periods = repeated(config, _TEST_SEQUENCES, generator)
    test, periods = test.to(run.device), periods.to(run.device)
    trainer = Trainer(
        model, Sequences(config, run.seed, run.device), lr=config["lr"], steps=config["steps"]
    )
    watched = train(
        run,
        trainer,
        lambda _: look(model, test, periods)[0],
        probe_steps(config["steps"], points=60),
    )
    with torch.no_grad():
        metrics, maps = look(model.eval(), test, periods)
    arrays = (
        {}
        if run.seed
        else {
            "ids": test[0].cpu().numpy().astype("uint8"),
            "maps": half(maps),
            "period": periods[0].cpu().numpy(),
        }
    )
    return Result(dict(metrics), trainer.losses, curves={"heads": watched}, arrays=arrays)


def repeated(
    config: dict[str, Any], count: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Random sequences that repeat: ids (N, T + 1) and their periods (N,)."""
    import torch

    length = config["context_length"] + 1
    periods = torch.randint(
        config["shortest_period"], config["longest_period"] + 1, (count, 1), generator=generator
    )
    fresh = torch.randint(config["vocab_size"], (count, length), generator=generator)
    places = torch.arange(length) % periods  # (N, T + 1)
    return fresh.gather(1, places), periods[:, 0]


class Sequences:
    """Batches of repeating sequences: inputs (B, T) and, one token on, targets (B, T)."""

    def __init__(self, config: dict[str, Any], seed: int, device: str) -> None:
        import torch

        self.config, self.device = config, device
        self.generator = torch.Generator().manual_seed(seed)

    def next(self) -> tuple[Tensor, Tensor]:
        """The next batch."""
        ids, _ = repeated(self.config, self.config["batch_size"], self.generator)
        ids = ids.to(self.device)
        return ids[:, :-1], ids[:, 1:]

    def state_dict(self) -> dict[str, Any]:
        """The generator's state."""
        return {"generator": self.generator.get_state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on drawing from ``state``."""
        self.generator.set_state(state["generator"].cpu())


def build(config: dict[str, Any]) -> nn.Sequential:
    """Embedding, ``n_layers`` of attention with a norm before and a residual round, output."""
    from torch import nn

    from course.attention import MultiHeadAttention
    from course.models.ladder import LadderModel, Residual

    C, T = config["d_model"], config["context_length"]
    layers = [
        Residual(nn.Sequential(nn.LayerNorm(C), MultiHeadAttention(C, config["n_heads"], T)))
        for _ in range(config["n_layers"])
    ]
    return nn.Sequential(
        LadderModel(
            config["vocab_size"], C, T, nn.Sequential(*layers, nn.LayerNorm(C)), positions=True
        )
    )


def look(model: nn.Sequential, ids: Tensor, periods: Tensor) -> tuple[dict[str, float], Tensor]:
    """Losses on the new and on the repeated part, and what the heads look at.

    ``previous_layer1`` is the largest mean weight that a head of layer 1 puts on the token before;
    ``induction_last`` the largest that a head of the last layer puts, in the repeated part, on the
    token after the last occurrence of the present one; ``accuracy`` the share of the repeated part
    predicted.  Also returns the maps (L, H, T, T) of the first sequence.
    """
    import torch
    import torch.nn.functional as F

    from course.attention import MultiHeadAttention

    ladder: Any = model[0]
    inputs, targets = ids[:, :-1], ids[:, 1:]
    x, maps = ladder.embed(inputs), []
    for layer in ladder.layers:
        branch = getattr(layer, "branch", None)
        if branch is None:  # the final norm
            x = layer(x)
            continue
        norm, attention = branch
        assert isinstance(attention, MultiHeadAttention)
        moved, weights = attention(norm(x), return_weights=True)
        x = x + moved
        maps.append(weights)  # (N, H, T, T)
    logits = ladder.output(x)
    loss = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")  # (N, T)
    place = torch.arange(inputs.shape[1], device=ids.device)
    seen = place >= periods[:, None]  # the present token has been here before
    previous = maps[0].diagonal(-1, 2, 3).mean((0, 2))  # (H,)
    source = (place - periods[:, None] + 1).clamp(min=0)  # (N, T): after its last occurrence
    on_source = maps[-1].gather(3, source[:, None, :, None].expand(-1, maps[-1].shape[1], -1, 1))
    induction = (on_source[..., 0] * seen[:, None]).sum((0, 2)) / seen.sum()  # (H,)
    hit = logits.argmax(-1) == targets
    return {
        "loss_new": float(loss[~seen].mean()),
        "loss_repeated": float(loss[seen].mean()),
        "accuracy": float(hit[seen].float().mean()),
        "previous_layer1": float(previous.max()),
        "induction_last": float(induction.max()),
    }, torch.stack([weights[0] for weights in maps])


EXPERIMENT = Experiment(
    name="induction",
    title="Attention-only models on random sequences that repeat",
    claims=("A32",),
    rows=(
        Row("one-layer", "one layer of attention", {**_CONFIG, "n_layers": 1}),
        Row("two-layers", "two layers of attention", {**_CONFIG, "n_layers": 2}),
    ),
    run=run,
    metrics=(
        Metric("loss_repeated", "loss, repeated part", "nats", 3),
        Metric("loss_new", "loss, new part", "nats", 3),
        Metric("accuracy", "accuracy, repeated part", digits=3),
        Metric("previous_layer1", "best previous-token head, layer 1", digits=3),
        Metric("induction_last", "best induction head, last layer", digits=3),
    ),
    quick={"steps": 100},
    evaluation=("course.experiments.induction:look",),
    seeds=3,
)
