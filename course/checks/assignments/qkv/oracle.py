"""Undivided attention from given matrices, the wrong ones, and random cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from course.checks.assignments.qkv.exercise import MISTAKES
from course.checks.engine import Trial
from course.checks.oracles import FAULTS, Fault, attend, spelled_out
from course.checks.roles import Roles


def attention(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, *, fault: Fault) -> Tensor:
    """The (faulty) attention of three matrices. x (B, T, C) → (B, T, D)"""
    zero = torch.zeros(1, 1, w_q.shape[1], dtype=x.dtype)
    roles = Roles(w_q[None, None], w_k[None, None], w_v[None, None], zero, zero, zero)
    return attend(x, roles, fault)[0]


UNDIVIDED = Fault(scale="none")


def right(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    """Undivided causal attention."""
    return attention(x, w_q, w_k, w_v, fault=UNDIVIDED)


def _faulty(fault: Fault) -> Callable[..., Tensor]:
    return lambda x, q, k, v: attention(x, q, k, v, fault=fault)


def _symmetric(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    T = x.shape[1]
    scores = (x @ x.mT).masked_fill(torch.ones(T, T).triu(1).bool(), float("-inf"))
    return scores.softmax(-1) @ (x @ w_v)


NAMES = [n for n in spelled_out(list(MISTAKES)) if FAULTS[n].scale == "sqrt_head"]


VARIANTS: dict[str, Callable[..., Tensor]] = {
    "divided": _faulty(Fault()),
    "divided-by-d-model": _faulty(FAULTS["divided-by-d-model"]),
    "divided-by-d-head-itself": _faulty(FAULTS["divided-by-d-head-itself"]),
    **{n: _faulty(replace(FAULTS[n], scale="none")) for n in NAMES},
    "shared-qk#1": lambda x, q, k, v: attention(x, k, k, v, fault=UNDIVIDED),
    "keys-are-values": lambda x, q, k, v: attention(x, q, k, k, fault=UNDIVIDED),
    "keys-are-values#1": lambda x, q, k, v: attention(x, q, v, v, fault=UNDIVIDED),
    "keys-are-values#2": lambda x, q, k, v: attention(x, q, v, k, fault=UNDIVIDED),
    "keys-are-values#3": lambda x, q, k, v: attention(x, q, k, q, fault=UNDIVIDED),
    "queries-and-keys-swapped": lambda x, q, k, v: attention(x, k, q, v, fault=UNDIVIDED),
    "no-projection": _symmetric,
    "first-only": lambda x, q, k, v: right(x[:1], q, k, v).expand(x.shape[0], -1, -1),
    "batch-mixed": lambda x, q, k, v: (
        right(x, q, k, v).mean(0, keepdim=True).expand(x.shape[0], -1, -1)
    ),
}


def draw_case(
    t: Trial, B: int, T: int, C: int, D: int, dtype: torch.dtype = torch.float32
) -> list[Tensor]:
    """Random x (B, T, C) and three matrices (C, D)."""
    x = t.normal(B, T, C, dtype=dtype)
    return [x, *(t.normal(C, D, dtype=dtype, sd=1.1 / C**0.5) for _ in range(3))]
