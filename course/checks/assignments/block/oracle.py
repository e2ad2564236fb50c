"""Taking a block apart, and the right and wrong parts it may be made of.

The block is taken apart by setting parameters: with the MLP's matrices at zero only the attention
branch is left, and the other way round. Vectors that start as ones are the norms' gains and stay
ones; all other vectors are set to zero, so that the values rest on matrices alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from course.checks.assignments.block.exercise import CLS, CONTEXT, TOL
from course.checks.engine import Trial, fitting
from course.checks.oracles import Fault, attend
from course.checks.roles import Named, Roles, multi_head_roles
from course.checks.toolkit import (
    Target,
    build,
)

Norm = Callable[[Tensor], Tensor]


ATTENTION_FAULTS = (
    "not-divided",
    "divided-by-d-model",
    "no-mask",
    "mask-upside-down",
    "mask-inverted",
    "mask-one-too-far",
    "mask-after-softmax",
    "mask-with-zero",
    "softmax-over-queries",
    "mask-hides-self",
    "mask-hides-self-zeros",
    "mask-hides-self-finite",
)


def layer_norm(x: Tensor) -> Tensor:
    """LayerNorm without gain and shift."""
    return F.layer_norm(x, x.shape[-1:])


NORMS: dict[str, Norm] = {
    "right": layer_norm,
    "none": lambda x: x,
    "rms-norm": lambda x: x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt(),
    "unbiased-norm": lambda x: (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6),
    "norm-over-tokens": lambda x: (
        (x - x.mean(-2, keepdim=True)) / (x.var(-2, keepdim=True, unbiased=False) + 1e-5).sqrt()
    ),
    "norm-over-tokens#1": lambda x: (
        (x - x.mean((-3, -2), keepdim=True))
        / (x.var((-3, -2), keepdim=True, unbiased=False) + 1e-5).sqrt()
    ),
}


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "tanh-gelu": lambda x: F.gelu(x, approximate="tanh"),
    "quick-gelu": lambda x: x * torch.sigmoid(1.702 * x),
    "relu": F.relu,
}


OTHER_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "silu": F.silu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "elu": F.elu,
    "leaky": F.leaky_relu,
    "softplus": F.softplus,
    "softmax": lambda x: x.softmax(-1),
    "squared relu": lambda x: F.relu(x).square(),
    "mish": F.mish,
}


@dataclass
class Parts:
    """A block's parameters by what they do. Matrices only; vectors were set to 0 or 1."""

    attention: list[Named]
    mlp: list[tuple[Tensor, Tensor]]  # candidates (C, F), (F, C)
    mlp_names: tuple[str, ...]
    gains: list[str]
    width: int = 0
    roles: Roles | None = field(default=None)


def split(parameters: Sequence[Named], gains: Sequence[str], C: int, H: int) -> Parts:
    """Tell the MLP's two matrices from the attention's."""
    matrices = [(n, p) for n, p in parameters if p.dim() >= 2]
    pairs = [
        (a, b)
        for i, a in enumerate(matrices)
        for b in matrices[i + 1 :]
        if a[1].dim() == b[1].dim() == 2
        and a[1].shape == b[1].shape[::-1]
        and C in a[1].shape
        and a[1].shape[0] != a[1].shape[1]
    ]
    # The widest pair: heads of width d_model / n_heads may have such shapes too.
    pairs.sort(key=lambda p: -p[0][1].numel())
    if not pairs:
        return Parts(matrices, [], (), list(gains))
    (na, a), (nb, b) = pairs[0]
    up, down = (a, b) if a.shape[1] == C else (b, a)  # nn.Linear keeps (out, in)
    rest = [(n, p) for n, p in matrices if n not in (na, nb)]
    return Parts(
        rest,
        [(up.T, down.T), (down, up)],
        (na, nb),
        list(gains),
        max(a.shape),
        multi_head_roles(rest, C, H),
    )


def make(
    t: Trial, args: Sequence[object], *, dtype: str | None = None, only: str = "both"
) -> tuple[Target, Parts]:
    """Build a block with random matrices, gains of one and all other vectors zero.

    Args:
        only: ``"both"``, ``"attention"`` (the MLP's matrices are zero), ``"mlp"``, or ``"none"``.
    """
    gains: list[str] = []

    def values(name: str, old: Tensor) -> Tensor:
        if old.dim() >= 2:
            return t.normal(*old.shape, dtype=old.dtype, sd=1.2 / max(old.shape[-2:]) ** 0.5)
        if bool((old == 1).all()):
            gains.append(name)
            return old
        return torch.zeros_like(old)

    target = build(t, CLS, args, dtype=dtype, values=values)
    C, H = int(args[0]), int(args[1])  # type: ignore[call-overload]
    parts = split(target.parameters, gains, C, H)
    off = {
        "both": [],
        "attention": list(parts.mlp_names),
        "mlp": [n for n, _ in parts.attention],
        "none": [n for n, p in target.parameters if p.dim() >= 2],
    }[only]
    if off:
        zeros = {n: torch.zeros_like(p) for n, p in target.parameters if n in off}
        t.subject.ask([{"op": "set", "on": target.on, "values": zeros}])
        target.parameters = [(n, zeros.get(n, p)) for n, p in target.parameters]
    return target, parts


def sizes(t: Trial) -> list[int]:
    """Constructor arguments, no two alike."""
    C, H = t.pick([(10, 2), (10, 5), (12, 2), (14, 2)])
    return [C, H, CONTEXT]


def mlp(h: Tensor, pair: tuple[Tensor, Tensor], activation: Callable[[Tensor], Tensor]) -> Tensor:
    """Two matrices round an activation."""
    return activation(h @ pair[0]) @ pair[1]


def whole_attention(h: Tensor, roles: Roles, fault: Fault = Fault()) -> Tensor:  # noqa: B008
    """The attention branch for every candidate. (B, T, C) → (K, B, T, C)"""
    return attend(h, roles, fault)


def right_block(
    x: Tensor, roles: Roles, pair: tuple[Tensor, Tensor], activation: Callable[[Tensor], Tensor]
) -> Tensor:
    """Pre-norm. (B, T, C) → (K, B, T, C)"""
    h = x + whole_attention(layer_norm(x), roles)
    return h + mlp(layer_norm(h), pair, activation)


def hit(out: Tensor, expected: Tensor) -> bool:
    """Whether any of the stacked candidates (K, …) is the result."""
    return bool(fitting(out, expected, TOL).any())


def hits(out: Tensor, expected: Tensor) -> list[int]:
    """The candidates that give the result."""
    return fitting(out, expected, TOL).nonzero().flatten().tolist()
