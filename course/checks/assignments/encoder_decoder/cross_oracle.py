"""Cross-attention, right or with a fault turned on."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from course.checks.oracles import Fault, factor
from course.checks.roles import Roles


@dataclass(frozen=True)
class Cross:
    """What differs from the right cross-attention."""

    fault: Fault = field(default_factory=lambda: Fault(mask="none"))
    query: str = "x"
    key: str = "memory"
    value: str = "memory"
    mask: str = "right"


def cross(x: Tensor, memory: Tensor, mask: Tensor | None, r: Roles, c: Cross = Cross()) -> Tensor:
    """(Faulty) cross-attention for every candidate. → (K, B, T, C)"""
    C = x.shape[-1]
    _, H, _, D = r.wq.shape
    source = {"x": x, "memory": memory}

    def project(name: str, w: Tensor, b: Tensor) -> Tensor:
        y = torch.einsum("btc,khcd->kbhtd", source[name], w) + b[:, None, :, None]
        if c.fault.split == "view":
            y = y.transpose(2, 3).reshape(y.shape)
        return y

    q, k, v = project(c.query, r.wq, r.bq), project(c.key, r.wk, r.bk), project(c.value, r.wv, r.bv)
    scores = q @ k.transpose(-2, -1) * factor(c.fault.scale, C, D, H, q.shape[-2])
    may = torch.ones(scores.shape[-2:], dtype=torch.bool)
    if mask is not None and c.mask != "ignored":
        may = (~mask if c.mask == "inverted" else mask)[:, None, None, :]
    if c.mask == "causal":
        may = may & torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    axis = {"keys": -1, "queries": -2, "heads": -3, "batch": -4}[c.fault.axis]
    if c.mask == "after":
        weights = scores.softmax(axis) * may
    else:
        fill = {"zero": 0.0, "minus1e9": -1e9}.get(c.fault.hide, float("-inf"))
        weights = scores.masked_fill(~may, fill).softmax(axis)
        if c.fault.empty == "zeros":
            weights = weights.nan_to_num(0.0)
    out = weights @ v
    if c.fault.merge == "no_transpose":
        out = out.reshape(out.shape[0], out.shape[1], out.shape[3], H * D)
    else:
        out = out.transpose(2, 3).flatten(-2)
    if r.wo is not None:
        out = out @ r.wo.reshape(-1, H * D, C)[:, None]
        if r.bo is not None:
            out = out + r.bo[:, None, None]
    return out + x if c.fault.residual else out


CROSS_FAULTS: dict[str, Cross] = {
    "not-divided": Cross(Fault(mask="none", scale="none")),
    "divided-by-d-model": Cross(Fault(mask="none", scale="sqrt_model")),
    "softmax-over-queries": Cross(Fault(mask="none", axis="queries")),
    "self-attention": Cross(key="x", value="x"),
    "self-attention#1": Cross(key="x", value="x", mask="ignored"),
    "keys-from-x": Cross(key="x"),
    "values-from-x": Cross(value="x"),
    "roles-exchanged": Cross(query="memory", key="x", value="x"),
    "roles-exchanged#1": Cross(query="memory", key="x"),
    "causal": Cross(mask="causal"),
    "mask-ignored": Cross(mask="ignored"),
    "mask-inverted": Cross(mask="inverted"),
    "mask-inverted#zeros": Cross(Fault(mask="none", empty="zeros"), mask="inverted"),
    "mask-inverted#finite": Cross(Fault(mask="none", hide="minus1e9"), mask="inverted"),
    "mask-inverted#filled": Cross(Fault(mask="none", hide="zero"), mask="inverted"),
    "mask-with-zero": Cross(Fault(mask="none", hide="zero")),
    "mask-after-softmax": Cross(mask="after"),
    "split-without-transpose": Cross(Fault(mask="none", split="view")),
    "split-without-transpose#1": Cross(Fault(mask="none", split="view", merge="no_transpose")),
    "merge-without-transpose": Cross(Fault(mask="none", merge="no_transpose")),
    "residual-added": Cross(Fault(mask="none", residual=True)),
}
