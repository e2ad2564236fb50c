"""``Block(d_model, n_heads, context_length, dropout=0.0)``: pre-norm, attention then MLP.

The block is taken apart by setting parameters: with the MLP's matrices at zero only the attention
branch is left, and the other way round. Vectors that start as ones are the norms' gains and stay
ones; all other vectors are set to zero, so that the values rest on matrices alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from course.checks.assignments.head import MISTAKES as OF_ONE_HEAD
from course.checks.engine import Exercise, Failure, Finding, Trial, agree, difference
from course.checks.oracles import FAULTS, Fault, attend
from course.checks.roles import Named, Roles, multi_head_roles
from course.checks.toolkit import (
    Target,
    build,
    expect_causal,
    expect_dtypes,
    expect_gradients,
    expect_lengths,
    expect_pure,
    expect_registered,
    twice,
)

CLS = "Block"
CONTEXT = 10
TOL = 2e-4  # epsilons of the norms differ

MISTAKES = {
    "post-norm": "Your norms come after the sum (post-norm): the stream has to stay as it is, and "
    "each branch reads a normalised copy: x + f(norm(x)).",
    "residual-from-norm": "You add the branch to the NORMALISED stream: add it to x itself: "
    "x + f(norm(x)), not norm(x) + f(norm(x)).",
    "no-norm-attention": "The attention reads the stream as it is: give it norm1(x).",
    "no-norm-mlp": "The MLP reads the stream as it is: give it norm2(x).",
    "no-norms": "There is no norm: each branch reads a normalised copy of the stream.",
    "no-residual-attention": "The attention's result replaces the stream: add it, x = x + …",
    "no-residual-mlp": "The MLP's result replaces the stream: add it, x = x + …",
    "no-residuals": "Both branches replace the stream: add each one, x = x + …",
    "parallel": "Both branches read the same x: the MLP has to read the stream AFTER the attention "
    "was added to it.",
    "mlp-first": "The MLP comes before the attention: first the attention, then the MLP.",
    "linear-mlp": "Your MLP has no activation, so its two matrices are one linear map: put GELU or "
    "ReLU between them.",
    "activation-last": "Your activation comes after the second matrix: it belongs between the two.",
    "activation-twice": "You activate after the second matrix as well: only between the two.",
    "other-activation": "Your MLP's activation is neither GELU nor ReLU.",
    "mlp-width": "Your MLP's hidden layer is not 4 · d_model wide.",
    "one-norm": "One norm serves both branches: each has its own, with its own gain and bias.",
    "final-norm": "You normalise the result as well: the norm after the last block belongs to the "
    "model.",
    "norm-over-tokens": "You normalise over the tokens (or the batch): each token is normalised "
    "over "
    "its own features.",
    "rms-norm": "Your norm does not subtract the mean: this block uses LayerNorm.",
    "unbiased-norm": "Your norm divides by the spread with n − 1 (torch's std by default): "
    "LayerNorm "
    "uses n (unbiased=False).",
    "mlp-missing": "There is no MLP: after the attention comes a network of two matrices.",
    "attention-missing": "There is no attention in your block.",
    "double-residual": "You add x twice: once in the branch and once round it.",
    "mlp-mixes-tokens": "Your MLP mixes tokens: it works on each position by itself.",
    "dropout-on-stream": "Dropout falls on the stream itself: drop each branch's result BEFORE it "
    "is "
    "added.",
    "dropout-ignored": "The dropout argument has no effect in training.",
    "dropout-in-evaluation": OF_ONE_HEAD["dropout-in-evaluation"],
    "edits-input": "Your block edits its input in place (x += …): write x = x + …",
    "not-registered": OF_ONE_HEAD["not-registered"],
    "detached": OF_ONE_HEAD["detached"],
    "fixed-dtype": OF_ONE_HEAD["fixed-dtype"],
    "returns-tuple": "You return a tuple: forward returns only the stream, (B, T, d_model).",
    **{
        k: OF_ONE_HEAD[k]
        for k in (
            "not-divided",
            "no-mask",
            "mask-upside-down",
            "mask-inverted",
            "mask-one-too-far",
            "mask-after-softmax",
            "mask-with-zero",
            "softmax-over-queries",
            "mask-hides-self",
        )
    },
    "divided-by-d-model": "The scores in your attention are divided by √d_model; divide by "
    "√d_head, "
    "d_head = d_model / n_heads.",
    "no-output-projection": "The output projection of your attention is missing.",
    "norms-swapped": "The two norms are exchanged.",
}

block = Exercise(
    "block",
    "The transformer block",
    (CLS,),
    MISTAKES,
    refused=(
        "TransformerEncoderLayer",
        "TransformerDecoderLayer",
        "TransformerEncoder",
        "TransformerDecoder",
    ),
    allowed=("course.attention.MultiHeadAttention",),
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
    C, H = t.pick([(8, 2), (10, 2), (10, 5), (12, 2)])
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
    if out.shape != expected.shape[1:]:
        return False
    gap = (expected - out).abs().nan_to_num(1e9).flatten(1).amax(1)
    size = expected.abs().nan_to_num(0.0).flatten(1).amax(1).clamp(min=1.0)
    return bool((gap <= TOL * size).any())


def hits(out: Tensor, expected: Tensor) -> list[int]:
    """The candidates that give the result."""
    gap = (expected - out).abs().nan_to_num(1e9).flatten(1).amax(1)
    size = expected.abs().nan_to_num(0.0).flatten(1).amax(1).clamp(min=1.0)
    return (gap <= TOL * size).nonzero().flatten().tolist()


@block.prop("shape", 1, "x (B, T, d_model) keeps its shape, for every T up to context_length")
def _shape(t: Trial) -> None:
    for C, H, B, T, n in ((12, 3, 2, 7, 9), (8, 2, 1, 1, 4), (6, 1, 3, 5, 5)):
        out = build(t, CLS, [C, H, n])(t.normal(B, T, C))
        t.tensor(out, (B, T, C), f"{CLS}({C}, {H}, {n}) on x of shape ({B}, {T}, {C})")


@block.prop("values", 4, "The values are those of x + attention(norm(x)), then + MLP(norm(·))")
def _values(t: Trial) -> None:
    args = sizes(t)
    for T in (1, 4, 7):
        target, parts = make(t, args)
        if parts.roles is None or not parts.mlp:
            raise Failure(
                "Your block's matrices do not fit: four of the attention (or fused) and "
                "two of the MLP, (d_model, 4 d_model) and back. Found: "
                + ", ".join(f"{n} {tuple(p.shape)}" for n, p in target.parameters if p.dim() >= 2)
                + "."
            )
        x = t.normal(2, T, args[0])
        out = t.tensor(target(x), x.shape)
        trials = [
            right_block(x, parts.roles, pair, f) for pair in parts.mlp for f in ACTIVATIONS.values()
        ]
        if not any(hit(out, e) for e in trials):
            stack = torch.cat(trials)
            near = stack[(stack - out).abs().nan_to_num(1e9).flatten(1).mean(1).argmin()]
            raise Failure(f"With T = {T} the values are wrong. {difference(out, near)}")


@block.prop("identity", 1, "With all matrices and biases at zero the block is the identity")
def _identity(t: Trial) -> None:
    args = sizes(t)
    target, _ = make(t, args, only="none")
    x = t.normal(2, 5, args[0]) * 3 + 1
    t.close(
        target(x),
        x,
        "With every matrix and bias at zero both branches are zero, and the block should return x.",
        1e-5,
    )


@block.prop(
    "pre-norm",
    2,
    "Each branch reads a normalised copy of the stream and is added to the stream itself",
)
def _pre_norm(t: Trial) -> None:
    args = sizes(t)
    for only, said in (("attention", "attention"), ("mlp", "MLP")):
        target, _ = make(t, args, only=only)
        x = t.normal(2, 5, args[0])
        a, b = target.many([x, 50 * x])
        t.tensor(a, x.shape)
        t.expect(
            agree((b - 50 * x), (a - x), 5e-3),
            f"With x fifty times as large, what the {said} "
            "branch adds should stay the same, because it reads a normalised copy.",
        )


@block.prop("norms", 1, "Two distinct LayerNorms, each with its own gain")
def _norms(t: Trial) -> None:
    args = sizes(t)
    target, parts = make(t, args)
    t.expect(
        len(parts.gains) >= 2,
        f"Your block has {len(parts.gains)} norm(s) with a gain; each branch has its own.",
    )
    x = t.normal(2, 4, args[0])
    before = target(x)
    changed = []
    for n in parts.gains:
        old = dict(target.parameters)[n]
        t.subject.ask([{"op": "set", "on": target.on, "values": {n: old * 2}}])
        changed.append(not agree(target(x), before, 1e-6))
        t.subject.ask([{"op": "set", "on": target.on, "values": {n: old}}])
    t.expect(sum(changed) >= 2, "Only one norm's gain changes the result.")


@block.prop("mlp", 2, "The MLP is 4 · d_model wide, non-linear, and works on each position alone")
def _mlp(t: Trial) -> None:
    args = sizes(t)
    C = args[0]
    target, parts = make(t, args, only="mlp")
    t.expect(
        parts.width == 4 * C,
        f"With d_model = {C} the MLP's hidden layer should be {4 * C} wide; "
        f"yours is {parts.width or 'not found'}.",
    )
    x = t.normal(2, 5, C)
    y = x.clone()
    y[:, 2] += 1.0
    a, b = target.many([x, y])
    t.expect(
        agree(b[:, [0, 1, 3, 4]], a[:, [0, 1, 3, 4]]),
        "With the attention switched off, "
        "changing one token changed the result of another: the MLP mixes tokens.",
    )
    # An odd function has f(−h) = −f(h); a linear one is odd, GELU and ReLU are not.
    c = target(-x)
    t.expect(
        not agree(-(c + x), a - x, 1e-4),
        "With the attention switched off, turning the sign of "
        "x turns the sign of what the MLP adds: it has no activation that bends.",
    )


@block.prop(
    "causal", 1, "No output depends on a later token; each depends on all before and itself"
)
def _causal(t: Trial) -> None:
    args = sizes(t)
    target = build(t, CLS, args)
    expect_causal(target, t.normal(2, 5, args[0]))
    expect_lengths(target, t.normal(3, CONTEXT, args[0]), 4)


@block.prop(
    "pure", 1, "The input is not edited, and two calls in evaluation agree (dropout set too)"
)
def _pure(t: Trial) -> None:
    args = sizes(t)
    expect_pure(build(t, CLS, args), t.normal(2, 5, args[0]))
    expect_pure(build(t, CLS, [*args, 0.5]), t.normal(2, 5, args[0]))


@block.prop("dropout", 1, "Dropout acts in training, on the branches and not on the stream")
def _dropout(t: Trial) -> None:
    args = sizes(t)
    x = t.normal(2, 5, args[0])
    target, _ = make(t, [*args, 0.5])
    target.mode(True)
    a, b = (target(x, seed=s) for s in (1, 2))
    t.expect(not agree(a, b, 1e-6), "In training dropout = 0.5 has no effect.")
    still, _ = make(t, [*args, 0.5], only="none")
    still.mode(True)
    t.close(
        still(x, seed=3),
        x,
        "With both branches at zero, dropout in training should leave the stream alone.",
    )


@block.prop("gradients", 1, "Every parameter's gradient exists and equals finite differences")
def _gradients(t: Trial) -> None:
    args = sizes(t)
    target = build(t, CLS, args, dtype="float64")
    expect_gradients(target, t.normal(2, 4, args[0], dtype=torch.float64))


@block.prop("registered", 1, "Parameters are registered; float64 and half precision work")
def _registered(t: Trial) -> None:
    args = sizes(t)
    C = args[0]
    expect_registered(
        build(t, CLS, args), lambda: build(t, CLS, args), t.normal(2, 4, C), 12 * C * C
    )

    def typed(dtype: str) -> tuple[Target, Tensor]:
        return build(t, CLS, args, dtype=dtype), t.normal(2, 5, C).to(getattr(torch, dtype))

    expect_dtypes(typed, t)


@block.diagnosis()
def _shape_faults(t: Trial, failed: set[str]) -> list[Finding]:
    args = sizes(t)
    target, parts = make(t, args)
    out = target(t.normal(2, 4, args[0]))
    if isinstance(out, tuple | list):
        return [block.finding("returns-tuple")]
    if not target.parameters:
        return [block.finding("not-registered")]
    if not parts.mlp:
        count = sum(p.numel() for _, p in target.parameters)
        return [block.finding("mlp-missing" if count > 3 * args[0] ** 2 else "not-registered")]
    if parts.width != 4 * args[0]:
        return [block.finding("mlp-width")]
    if not parts.attention:
        # A list of heads is not registered: then the stream still mixes tokens.
        x = t.normal(1, 4, args[0])
        y = x.clone()
        y[:, 0] += 1.0
        a, b = target.many([x, y])
        return [
            block.finding("attention-missing" if agree(a[:, 1:], b[:, 1:]) else "not-registered")
        ]
    return []


@block.diagnosis()
def _branches(t: Trial, failed: set[str]) -> list[Finding]:
    if not failed & {"values", "identity", "pre-norm", "norms"}:
        return []
    found = [*_attention_branch(t), *_mlp_branch(t)]
    names = list(dict.fromkeys(found))
    merged = [
        ("no-residual-attention", "no-residual-mlp", "no-residuals"),
        ("no-norm-attention", "no-norm-mlp", "no-norms"),
    ]
    for a, b, both in merged:
        if a in names and b in names:
            names = [n for n in names if n not in (a, b)] + [both]
    if not names:
        names = _together(t)
    return [block.finding(n) for n in names]


def _sums(x: Tensor, branch: Callable[[Tensor], Tensor], norm: Norm) -> Mapping[str, Tensor]:
    """The ways to put one branch on the stream. ``branch`` gives (K, B, T, C)."""
    plain = branch(norm(x))
    return {
        "right": x + plain,
        "no-residual": plain,
        "residual-from-norm": norm(x) + plain,
        "post-norm": norm(x + branch(x)),
        "post-norm#1": x + norm(branch(x)),
        "double-residual": 2 * x + plain,
        "final-norm": norm(x + plain),
    }


def _attention_branch(t: Trial) -> list[str]:
    args = sizes(t)
    target, parts = make(t, args, only="attention")
    if parts.roles is None:
        rest = multi_head_roles(parts.attention, args[0], args[1], output=False)
        return [] if rest is None else ["no-output-projection"]
    x = t.normal(3, 5, args[0]) + 0.5
    out = target(x)
    roles = parts.roles
    # The other branch's norm may stand round it (post-norm): try it as well.
    for norm_name, norm in NORMS.items():
        for name, expected in _sums(x, lambda h: whole_attention(h, roles), norm).items():
            for after in ("", "norm"):
                e = norm(expected) if after else expected
                if norm_name == "none" and (after or (name != "right" and name != "no-residual")):
                    continue
                if hit(out, e):
                    return _named(name, norm_name, after, "attention")
    for fault in ATTENTION_FAULTS:
        if hit(out, x + whole_attention(layer_norm(x), roles, FAULTS[fault])):
            return [fault]
    return []


def _named(name: str, norm_name: str, after: str, branch: str) -> list[str]:
    found = []
    if name.startswith("post-norm"):
        found.append("post-norm")
    elif after and name == "right":
        found.append("final-norm")
    elif name == "no-residual":
        found.append(f"no-residual-{branch}")
    elif name != "right":
        found.append(name)
    if norm_name == "none":
        found.append(f"no-norm-{branch}")
    elif norm_name != "right":
        found.append(norm_name.split("#")[0])
    return found


def _mlp_branch(t: Trial) -> list[str]:
    args = sizes(t)
    target, parts = make(t, args, only="mlp")
    if not parts.mlp:
        return []
    x = t.normal(3, 5, args[0]) + 0.5
    out = target(x)
    for f in ACTIVATIONS.values():
        for norm_name, norm in NORMS.items():
            for pair in parts.mlp:
                sums = _sums(x, lambda h, p=pair, f=f: mlp(h, p, f), norm)  # type: ignore[misc]
                for name, expected in sums.items():
                    for after in ("", "norm"):
                        e = norm(expected) if after else expected
                        if norm_name == "none" and (after or name not in ("right", "no-residual")):
                            continue
                        if agree(out, e, TOL):
                            return _named(name, norm_name, after, "mlp")
    h = layer_norm(x)
    for up, down in parts.mlp:
        if agree(out, x + h @ up @ down, TOL):
            return ["linear-mlp"]
        for f in ACTIVATIONS.values():
            if agree(out, x + f(h @ up @ down), TOL):
                return ["activation-last"]
            if agree(out, x + f(f(h @ up) @ down), TOL):
                return ["activation-twice"]
        for f in OTHER_ACTIVATIONS.values():
            if agree(out, x + f(h @ up) @ down, TOL):
                return ["other-activation"]
    return []


def _together(t: Trial) -> list[str]:
    """Each branch alone is right: what is wrong with the two together?"""
    args = sizes(t)
    target, parts = make(t, args)
    if parts.roles is None or not parts.mlp:
        return []
    x = t.normal(2, 5, args[0]) + 0.5
    out = target(x)
    if all(agree(make(t, args, only=o)[0](x), 0 * x) for o in ("attention", "mlp")):
        return ["no-residuals"]
    a = whole_attention(layer_norm(x), parts.roles)
    for pair in parts.mlp:
        for f in ACTIVATIONS.values():
            m = mlp(layer_norm(x), pair, f)
            if hit(out, x + a + m):
                return ["parallel"]
            h = x + m
            if hit(out, h + whole_attention(layer_norm(h), parts.roles)):
                return ["mlp-first"]
    return []


@block.diagnosis()
def _others(t: Trial, failed: set[str]) -> list[Finding]:
    found = []
    args = sizes(t)
    x = t.normal(3, 5, args[0])
    plain, dropped = build(t, CLS, args), build(t, CLS, [*args, 0.5])
    edits = t.subject.ask([plain.op(x, pure=True)])[0]["changed"]
    if edits:
        found.append("edits-input")
    elif failed & {"pure"} and not twice(dropped, x):
        found.append("dropout-in-evaluation")
    elif "dropout" in failed and not failed & {"identity"}:
        target, _ = make(t, [*args, 0.5])
        target.mode(True)
        a, b = (target(x, seed=s) for s in (1, 2))
        found.append("dropout-ignored" if agree(a, b, 1e-6) else "dropout-on-stream")
    if "norms" in failed and not failed & {"values"}:
        found.append("one-norm")
    if "mlp" in failed and "values" not in failed:
        found.append("mlp-mixes-tokens")
    if "gradients" in failed and not failed & {"values", "registered"}:
        found.append("detached")
    if "registered" in failed and not failed & {"values"}:
        count = sum(p.numel() for _, p in plain.parameters)
        found.append("not-registered" if count < 12 * args[0] ** 2 else "fixed-dtype")
    return [block.finding(f) for f in found]
