"""Which named mistake a block shows: each branch alone, then both together."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import Tensor

from course.checks.assignments.block.exercise import CLS, TOL, block
from course.checks.assignments.block.oracle import (
    ACTIVATIONS,
    ATTENTION_FAULTS,
    NORMS,
    OTHER_ACTIVATIONS,
    Norm,
    hit,
    layer_norm,
    make,
    mlp,
    sizes,
    whole_attention,
)
from course.checks.engine import Finding, Trial, agree
from course.checks.oracles import FAULTS, spelled_out
from course.checks.roles import multi_head_roles
from course.checks.toolkit import (
    build,
    twice,
)


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
    for fault in spelled_out(ATTENTION_FAULTS):
        if hit(out, x + whole_attention(layer_norm(x), roles, FAULTS[fault])):
            return [fault.split("#")[0]]
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
