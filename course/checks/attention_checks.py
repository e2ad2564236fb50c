"""What the exercises on attention modules share: values against the oracle, faults, dropout."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from course.checks import oracles
from course.checks.counterexample import CounterExample, small_matrices
from course.checks.engine import Exercise, Failure, Finding, Trial, agree, difference, fitting
from course.checks.oracles import FAULTS, Fault
from course.checks.roles import Named, Roles
from course.checks.subject import SubjectError
from course.checks.toolkit import Target, build

RIGHT = Fault()
# Of two mistakes at once, one is nearly always among these.
COMMON = {
    "not-divided",
    "divided-by-d-model",
    "no-mask",
    "mask-inverted",
    "mask-upside-down",
    "mask-hides-self",
}


@dataclass
class Design:
    """How an exercise's attention is built and read.

    Attributes:
        cls: the class's name.
        sizes: draws ``(constructor arguments, d_model, d_head)``.
        roles: parameters, constructor arguments → candidates.
        small: constructor arguments for counter-examples, smallest first.
        faults: the mistakes in `FAULTS` that can be made here.
    """

    cls: str
    sizes: Callable[[Trial], tuple[list[int], int]]
    roles: Callable[[Sequence[Named], Sequence[int]], Roles | None]
    small: Sequence[list[int]]
    faults: Sequence[str]


def matching(
    outs: Sequence[Tensor], xs: Sequence[Tensor], roles: Roles, fault: Fault, tol: float = 2e-5
) -> list[int]:
    """Numbers of the candidates for which the (faulty) oracle gives all these results."""
    alive = torch.ones(len(roles), dtype=torch.bool)
    for out, x in zip(outs, xs, strict=True):
        alive &= fitting(out, oracles.attend(x, roles, fault), tol)
        if not alive.any():
            return []
    return alive.nonzero().flatten().tolist()


def nearest(out: Tensor, x: Tensor, roles: Roles) -> Tensor:
    """The right result for the candidate whose result is nearest. (B, T, E)"""
    e = oracles.attend(x, roles, RIGHT)
    gap = (e - out).abs().nan_to_num(1e9).flatten(1).mean(1)
    return e[int(gap.argmin())]


def check_values(t: Trial, design: Design, lengths: Sequence[int], trials: int = 2) -> None:
    """Exact values at several lengths, with the learner's own parameters set at random."""
    for _ in range(trials):
        args, C = design.sizes(t)
        target = build(t, design.cls, args)
        B = t.pick([b for b in (2, 3, 4) if b not in args])
        xs = [t.normal(B, T, C) for T in lengths]
        outs = target.many(xs)
        for out in outs:
            t.expect(isinstance(out, Tensor), "the result is not a tensor")
        roles = design.roles(target.parameters, args)
        if roles is None:
            raise Failure(unreadable(target))
        if not matching(outs, xs, roles, RIGHT):
            example = smallest_module_example(t, design)
            for out, x, T in zip(outs, xs, lengths, strict=True):
                right = nearest(out, x, roles)
                t.tensor(out, right.shape)
                if not agree(out, right, 2e-5):
                    raise Failure(
                        f"With T = {T} and {_call(design.cls, args)} the values are wrong. "
                        f"{difference(out, right)}",
                        example,
                    )
            raise Failure(
                "The values are wrong: no one reading of your parameters gives all the results.",
                example,
            )


def unreadable(target: Target) -> str:
    """The sentence for a module whose parameters fit no reading."""
    shapes = ", ".join(f"{n} {tuple(p.shape)}" for n, p in target.parameters) or "none"
    return (
        "Your module's parameters do not fit: exactly one matrix each for queries, keys and "
        f"values (and the output projection, where there is one). Found: {shapes}."
    )


def _call(cls: str, args: Sequence[int]) -> str:
    return f"{cls}({', '.join(map(str, args))})"


def smallest_module_example(t: Trial, design: Design) -> CounterExample | None:
    """Search the smallest sizes, then the plainest numbers, where the values differ."""
    tries = 0
    for args, T in itertools.product(design.small, (1, 2, 3)):
        C = args[0]
        for x in small_matrices(T, C):
            if tries > 30:
                return None
            tries += 1
            try:
                target = build(t, design.cls, args, values=_plain_values(t))
                roles = design.roles(target.parameters, args)
                if roles is None:
                    return None
                out = target(x[None])
                if not isinstance(out, Tensor):
                    return None
                if matching([out], [x[None]], roles, RIGHT):
                    continue
                right = nearest(out, x[None], roles)
            except SubjectError:
                return None
            parts = [
                ("x", x),
                *[(n, p) for n, p in target.parameters][:4],
                ("yours", out[0]),
                ("expected", right[0]),
            ]
            return CounterExample(f"{_call(design.cls, args)} on x with T = {T}", parts)
    return None


def _plain_values(t: Trial) -> Callable[[str, Tensor], Tensor]:
    def draw(name: str, old: Tensor) -> Tensor:
        n = torch.randint(-1, 3, tuple(old.shape), generator=t.rng)
        return n.to(old.dtype)

    return draw


def find_faults(
    t: Trial,
    design: Design,
    exercise: Exercise,
    lengths: Sequence[int] = (2, 5, 4),
    also: Mapping[str, Fault] | None = None,
) -> list[Finding]:
    """Which named faults, one or two at a time, give exactly the learner's results."""
    args, C = design.sizes(t)
    target = build(t, design.cls, args)
    B = t.pick([b for b in (2, 3) if b not in args])
    xs = [t.normal(B, T, C) for T in lengths]
    outs = target.many(xs)
    roles = design.roles(target.parameters, args)
    if roles is None or not all(isinstance(o, Tensor) for o in outs):
        return []
    if matching(outs, xs, roles, RIGHT):
        return []
    values = dict(d_model=C, d_head=roles.wq.shape[-1], n_heads=roles.wq.shape[1])
    values["ratio"] = round((C / values["d_head"]) ** 0.5, 2)
    names = oracles.spelled_out(design.faults)
    known = {n: FAULTS[n] for n in names} | dict(also or {})
    for name, fault in known.items():
        if matching(outs, xs, roles, fault):
            return [exercise.finding(name.split("#")[0], **values)]
    for a, b, fault in oracles.pairs(names):
        if not {a, b} & COMMON:
            continue
        if matching(outs[:1], xs[:1], roles, fault) and matching(outs, xs, roles, fault):
            return [exercise.finding(n.split("#")[0], **values) for n in (a, b)]
    return []


def several_heads_dropout_seen(dropped: Tensor, kept: Tensor) -> str:
    """What several heads in training did to one and the same single token, N times.

    A dropped weight takes a whole head's part out, so that with two heads a feature has four
    values over the N draws, and a zero besides if the output is dropped too.

    Args:
        dropped: (N, C), in training.
        kept: (C,), in evaluation.
    """
    if agree(dropped, kept.expand_as(dropped)):
        return "none"
    scale = 1e-4 * (1 + float(dropped.abs().max()))
    counts = []
    for column in dropped.T:
        ordered = column.sort().values
        counts.append(1 + int(((ordered[1:] - ordered[:-1]) > scale).sum()))
    typical = sorted(counts)[len(counts) // 2]
    if typical <= 2:
        return "output"
    return "weights" if typical <= 5 else "elements"


def weight_dropout_seen(outs: Tensor, kept: Tensor, p: float) -> str:
    """What a head in training did to T = 1 results: ``outs`` (N, D), undropped ``kept`` (N, D).

    Returns:
        ``"weights"`` (each row all 0 or all kept / (1 − p)), ``"none"``, ``"unscaled"``,
        ``"elements"`` (single features were dropped) or ``"other"``.
    """
    if agree(outs, kept):
        return "none"
    grown = kept / (1 - p)
    tol = 1e-4 * float(kept.abs().max() + 1)
    zero = outs.abs() < tol
    if ((outs - grown).abs() < tol).logical_or(zero).all():
        rows = zero.all(1) | ((outs - grown).abs() < tol).all(1)
        return "weights" if rows.all() else "elements"
    if ((outs - kept).abs() < tol).logical_or(zero).all():
        return "unscaled"
    return "other"
