"""Why not a recurrence: what is left of a gradient after k steps, and what a sequence costs (A29).

Nothing is trained.  A fresh network reads 500 random inputs; the gradient of its last output with
respect to each input says how much the input k steps back can still teach it.  T multiplied
Jacobians vanish or explode with their size; gates stretch the range; attention has one step to any
distance.  Then each network's time for sequences of growing length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from course.experiments.base import Experiment, Metric, Result, Row, Run

if TYPE_CHECKING:
    from torch import Tensor, nn

_CONFIG = {"length": 500, "width": 128, "batch_size": 8, "repeats": 5, "device": "cpu"}
_TIMED = (32, 64, 128, 256, 512, 1024, 2048)
_GONE = 1e-3  # a gradient this much smaller than the nearest input's counts as gone


def run(run: Run) -> Result:
    """Measure one network's gradient by distance, and its time by length."""
    import torch

    config = run.config
    torch.manual_seed(run.seed)
    network = build(config)
    by_distance = gradients(network, config)
    run.progress(1, 2, "gradients")
    seconds = times(network, config)
    run.progress(2, 2, "times")
    gone = [
        k
        for k, value in zip(by_distance["distance"], by_distance["relative"], strict=True)
        if value < _GONE
    ]
    metrics = {
        "reach": gone[0] if gone else float(config["length"]),
        "farthest": by_distance["relative"][-1],
        "largest": max(by_distance["relative"]),
        "seconds_longest": seconds["seconds"][-1],
    }
    return Result(metrics, curves={"gradient": by_distance, "time": seconds})


def build(config: dict[str, Any]) -> nn.Module:
    """A tanh recurrence with an orthogonal matrix times ``gain``; an LSTM; or causal attention."""
    import torch
    from torch import nn

    from course.attention import Head

    width = config["width"]
    if config["network"] == "attention":
        return Head(width, width, max(_TIMED))
    if config["network"] == "tanh":
        rnn = nn.RNN(width, width, batch_first=True, bias=False)
        nn.init.orthogonal_(dict(rnn.named_parameters())["weight_hh_l0"], gain=config["gain"])
        return rnn
    lstm = nn.LSTM(width, width, batch_first=True)
    biases = dict(lstm.named_parameters())
    with torch.no_grad():
        # PyTorch orders the gates input, forget, cell, output, and adds two biases.
        biases["bias_ih_l0"][width : 2 * width] = config["forget_bias"]
        biases["bias_hh_l0"][width : 2 * width] = 0.0
    return lstm


def read(network: nn.Module, x: Tensor) -> Tensor:
    """(B, T, C) → (B, T, C), whichever network it is."""
    out: Any = network(x)
    result: Tensor = out[0] if isinstance(out, tuple) else out
    return result


def gradients(network: nn.Module, config: dict[str, Any]) -> dict[str, list[float]]:
    """Norm of the last output's gradient at the input k steps back, against the one a step back."""
    import torch

    # Small inputs keep tanh near its straight part: what is seen is the matrix, not saturation.
    x = 0.1 * torch.randn(config["batch_size"], config["length"], config["width"])
    x.requires_grad_()
    last = read(network, x)[:, -1]  # (B, C)
    (grad,) = torch.autograd.grad((last * torch.randn_like(last)).sum(), x)
    norms = grad.norm(dim=-1).mean(0).flip(0)  # (T,), by distance from 0
    relative = (norms / norms[1]).tolist()
    return {"distance": [float(k) for k in range(1, len(relative))], "relative": relative[1:]}


def times(network: nn.Module, config: dict[str, Any]) -> dict[str, list[float]]:
    """The least of several times for one sequence, forward, by its length."""
    import time

    import torch

    found: dict[str, list[float]] = {"T": [], "seconds": []}
    with torch.no_grad():
        for T in _TIMED:
            x = torch.randn(1, T, config["width"])
            read(network, x)
            best = float("inf")
            for _ in range(config["repeats"]):
                start = time.perf_counter()
                read(network, x)
                best = min(best, time.perf_counter() - start)
            found["T"].append(float(T))
            found["seconds"].append(best)
    return found


def _tanh(gain: float) -> Row:
    return Row(
        f"tanh-{gain}",
        f"tanh recurrence, matrix of size {gain}",
        {**_CONFIG, "network": "tanh", "gain": gain},
    )


def _lstm(bias: float) -> Row:
    return Row(
        f"lstm-{bias:g}",
        f"LSTM, forget bias {bias:g}",
        {**_CONFIG, "network": "lstm", "forget_bias": bias},
    )


EXPERIMENT = Experiment(
    name="recurrence",
    title="What a gradient is worth after k steps, and what a sequence costs",
    claims=("A29",),
    rows=(
        _tanh(0.9),
        _tanh(1.0),
        _tanh(1.2),
        _lstm(0.0),
        _lstm(2.0),
        Row("attention", "causal attention", {**_CONFIG, "network": "attention"}),
    ),
    run=run,
    metrics=(
        Metric("reach", "gradient above 1/1000 up to", "steps", 0),
        Metric("farthest", "relative gradient at the first token", digits=6),
        Metric("seconds_longest", f"time for {_TIMED[-1]} tokens", "s", 4),
    ),
    quick={"length": 100, "repeats": 1},
    seeds=3,
    trains=False,
)
