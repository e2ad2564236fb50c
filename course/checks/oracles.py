"""The right answers, and the wrong ones people write: one attention with a fault turned on.

Everything is stacked over K candidate readings of the learner's parameters (`roles`), so that a
fault is tried on all of them in one go. Independent of ``course.attention`` on purpose; a test
holds the two equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from course.checks.roles import Roles


@dataclass(frozen=True)
class Fault:
    """What differs from the right attention. The default is the right one.

    Attributes:
        mask: which keys a query may see.
        hide: what is done with the scores of the others.
        empty: what a query gets that may see none: ``"nan"``, what a softmax of −∞ gives, or zeros.
    """

    scale: str = "sqrt_head"
    mask: str = "causal"
    hide: str = "minus_infinity"
    empty: str = "nan"
    axis: str = "keys"
    values: str = "v"
    weights: str = "softmax"
    split: str = "right"
    merge: str = "right"
    roles: str = "right"
    residual: bool = False


def factor(kind: str, C: int, D: int, H: int, T: int) -> float:
    """What the scores are multiplied by."""
    return {
        "sqrt_head": 1 / math.sqrt(D),
        "none": 1.0,
        "sqrt_model": 1 / math.sqrt(C),
        "head": 1 / D,
        "model": 1 / C,
        "times": math.sqrt(D),
        "times_model": math.sqrt(C),
        "sqrt_length": 1 / math.sqrt(T),
        "sqrt_heads": 1 / math.sqrt(H),
        "fourth_root": D**-0.25,
        "squared": 1 / D**2,
    }[kind]


def weigh(scores: Tensor, fault: Fault, batch_axis: int = -4) -> Tensor:
    """Scores (…, H, T, S) → weights, by the right or a wrong mask and softmax."""
    T, S = scores.shape[-2:]
    i, j = torch.arange(T)[:, None], torch.arange(S)[None, :]
    may = {
        "causal": j <= i,
        "none": j >= 0,
        "future": j >= i,
        "strict": j < i,
        "ahead": j <= i + 1,
        "inverted": j > i,
    }[fault.mask]
    may = may.expand(T, S)
    axis = {"keys": -1, "queries": -2, "heads": -3, "batch": batch_axis}[fault.axis]
    fills = {
        "zero": 0.0,
        "minus1": -1.0,
        "minus10": -10.0,
        "minus100": -100.0,
        "1e-9": 1e-9,
        "-1e-9": -1e-9,
        "minus1e9": -1e9,
        "minus_infinity": float("-inf"),
        "positive_infinity": float("inf"),
    }
    if fault.hide == "after":
        w = _softmax(scores, axis, fault) * may
    elif fault.hide == "added_mask":  # scores + tril: ones are added where it may look
        w = _softmax(scores + may.to(scores.dtype), axis, fault)
    else:
        w = _softmax(torch.where(may, scores, fills[fault.hide]), axis, fault)
    return w.nan_to_num(0.0) if fault.empty == "zeros" else w


def _softmax(scores: Tensor, axis: int, fault: Fault) -> Tensor:
    if fault.weights == "softmax":
        return scores.softmax(axis)
    if fault.weights == "log_softmax":
        return scores.log_softmax(axis)
    if fault.weights == "linear":
        s = torch.where(torch.isinf(scores), 0.0, scores)
        return s / s.sum(axis, keepdim=True)
    if fault.weights == "sigmoid":
        return scores.sigmoid()
    if fault.weights == "exp":
        return scores.exp()
    if fault.weights == "raw":
        return torch.where(torch.isinf(scores), 0.0, scores)
    raise ValueError(fault.weights)


def attend(x: Tensor, r: Roles, fault: Fault = Fault()) -> Tensor:
    """Causal self-attention (or a faulty one). x (B, T, C) → (K, B, T, H·D or C)."""
    B, T, C = x.shape
    _, H, _, D = r.wq.shape
    wq, wk, wv, bq, bk, bv = r.wq, r.wk, r.wv, r.bq, r.bk, r.bv
    if fault.roles == "shared_qk":
        wk, bk = wq, bq
    elif fault.roles == "shared_kv":
        wv, bv = wk, bk
    elif fault.roles == "shared_qv":
        wv, bv = wq, bq
    q, k, v = (
        _project(x, w, b, fault.split) for w, b in ((wq, bq), (wk, bk), (wv, bv))
    )  # (K, B, H, T, D)
    scores = q @ k.transpose(-2, -1) * factor(fault.scale, C, D, H, T)
    weights = weigh(scores, fault)
    if fault.weights == "divided_after":
        weights = weights / math.sqrt(D)
    if fault.values == "transposed":
        weights = weights.transpose(-2, -1)
    if fault.values == "x" and C == D:
        v = x[None, :, None].expand(v.shape)
    out = weights @ v  # (K, B, H, T, D)
    if fault.values == "average":
        out = out / torch.arange(1, T + 1, dtype=x.dtype)[:, None]
    if fault.merge == "no_transpose":
        joined = out.reshape(out.shape[0], B, T, H * D)
    elif fault.merge == "interleaved":
        joined = out.permute(0, 1, 3, 4, 2).reshape(out.shape[0], B, T, H * D)
    elif fault.merge == "mean":
        joined = out.mean(2, keepdim=True).expand_as(out).transpose(2, 3)
        joined = joined.reshape(out.shape[0], B, T, H * D)
    elif fault.merge == "reversed":
        joined = out.flip(2).transpose(2, 3).reshape(out.shape[0], B, T, H * D)
    else:
        joined = out.transpose(2, 3).reshape(out.shape[0], B, T, H * D)
    if r.wo is not None and fault.merge != "no_output":
        joined = joined @ r.wo.reshape(-1, H * D, C)[:, None]
        if r.bo is not None:
            joined = joined + r.bo[:, None, None]
    if fault.residual and joined.shape[-1] == C:
        joined = joined + x
    return joined


def _project(x: Tensor, w: Tensor, b: Tensor, split: str) -> Tensor:
    """(B, T, C) with (K, H, C, D) → (K, B, H, T, D), or scrambled as a wrong ``view`` does."""
    q = torch.einsum("btc,khcd->kbhtd", x, w) + b[:, None, :, None]
    if split == "view":  # (B, T, H·D) viewed as (B, H, T, D) without a transpose
        K, B, H, T, D = q.shape
        q = q.transpose(2, 3).reshape(K, B, H, T, D)
    return q


# Several faults of one name (`name#how`) are one mistake, with one sentence.
FAULTS: dict[str, Fault] = {
    "not-divided": Fault(scale="none"),
    "divided-by-d-model": Fault(scale="sqrt_model"),
    "divided-by-d-head-itself": Fault(scale="head"),
    "multiplied-by-root": Fault(scale="times"),
    "divided-by-length": Fault(scale="sqrt_length"),
    "divided-by-heads": Fault(scale="sqrt_heads"),
    "divided-by-fourth-root": Fault(scale="fourth_root"),
    "divided-by-d-model-itself": Fault(scale="model"),
    "no-mask": Fault(mask="none"),
    "mask-upside-down": Fault(mask="future"),
    "mask-inverted": Fault(mask="inverted"),
    "mask-inverted#zeros": Fault(mask="inverted", empty="zeros"),
    "mask-inverted#finite": Fault(mask="inverted", hide="minus1e9"),
    "mask-hides-self": Fault(mask="strict"),
    "mask-hides-self-zeros": Fault(mask="strict", empty="zeros"),
    "mask-hides-self-finite": Fault(mask="strict", hide="minus1e9"),
    "mask-one-too-far": Fault(mask="ahead"),
    "mask-after-softmax": Fault(hide="after"),
    "mask-with-zero": Fault(hide="zero"),
    "mask-with-tiny": Fault(hide="-1e-9"),
    "mask-with-small-number-1": Fault(hide="minus1"),
    "mask-with-small-number-10": Fault(hide="minus10"),
    "mask-with-plus-infinity": Fault(hide="positive_infinity"),
    "mask-added": Fault(hide="added_mask"),
    "softmax-over-queries": Fault(axis="queries"),
    "softmax-over-batch": Fault(axis="batch"),
    "softmax-over-heads": Fault(axis="heads"),
    "no-softmax": Fault(weights="raw"),
    "linear-weights": Fault(weights="linear"),
    "sigmoid-weights": Fault(weights="sigmoid"),
    "log-softmax": Fault(weights="log_softmax"),
    "exp-not-normalised": Fault(weights="exp"),
    "weights-transposed": Fault(values="transposed"),
    "averaged-twice": Fault(values="average"),
    "shared-qk": Fault(roles="shared_qk"),
    "shared-kv": Fault(roles="shared_kv"),
    "split-without-transpose": Fault(split="view"),
    "merge-without-transpose": Fault(merge="no_transpose"),
    "split-and-merge-without-transpose": Fault(split="view", merge="no_transpose"),
    "merge-interleaved": Fault(merge="interleaved"),
    "heads-averaged": Fault(merge="mean"),
    "no-output-projection": Fault(merge="no_output"),
    "residual-added": Fault(residual=True),
}


def spelled_out(names: Sequence[str]) -> list[str]:
    """The faults of these mistakes, in their order: ``a`` becomes ``a``, ``a#b``, …"""
    return [n for name in names for n in FAULTS if n.split("#")[0] == name]


def pairs(names: Sequence[str]) -> Iterator[tuple[str, str, Fault]]:
    """Two faults at once, where they concern different parts."""
    right = Fault()
    for a in names:
        for b in names:
            if a >= b:
                continue
            fa, fb = FAULTS[a], FAULTS[b]
            set_a = {k for k, v in vars(fa).items() if v != getattr(right, k)}
            set_b = {k for k, v in vars(fb).items() if v != getattr(right, k)}
            if not set_a & set_b:
                yield a, b, replace(fa, **{k: getattr(fb, k) for k in set_b})
