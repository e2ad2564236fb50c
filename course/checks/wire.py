"""Plain data on a wire: what may cross between a check and a learner's code, and how.

``None``, booleans, numbers, strings, lists, tuples, string-keyed dicts and tensors (dtype, shape
and raw bytes). Nothing is ever unpickled.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

Op = dict[str, Any]
Reply = dict[str, Any]

DTYPES = {
    str(d).removeprefix("torch."): d
    for d in (
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float64,
        torch.int64,
        torch.bool,
        torch.int32,
        torch.int16,
        torch.int8,
        torch.uint8,
    )
}
MAX_ENTRIES = 8_000_000  # a reply's tensor may not be larger: a check never asks for more


@dataclass(frozen=True)
class Ref:
    """Stands for an object on the subject's side, as an argument."""

    name: str


@dataclass(frozen=True)
class Gen:
    """Stands for a fresh ``torch.Generator`` with this seed, as an argument."""

    seed: int


class SubjectError(Exception):
    """The learner's code raised (or returned something that cannot cross).

    Attributes:
        kind: the exception's class name, such as ``"TypeError"``.
        line: the line of the learner's own source it came from, if known.
    """

    def __init__(self, kind: str, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.kind, self.message, self.line = kind, message, line

    def __str__(self) -> str:
        where = f" (line {self.line} of your code)" if self.line else ""
        return f"{self.kind}: {self.message}{where}"


def to_wire(value: Any) -> Any:
    """Turn plain data with tensors into JSON-able data.

    A tensor becomes ``{"$tensor": [dtype, shape, base64 of its bytes]}``, a tuple
    ``{"$tuple": [...]}``, a non-finite float ``{"$float": "nan"}``.

    Raises:
        TypeError: the value is not plain data.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, torch.Tensor):
        if value.device.type == "meta":
            return {"$meta": [str(value.dtype).removeprefix("torch."), list(value.shape)]}
        t = value.detach().cpu().contiguous()
        raw = t.reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b""
        data = base64.b64encode(raw).decode("ascii")
        return {"$tensor": [str(t.dtype).removeprefix("torch."), list(t.shape), data]}
    if isinstance(value, Ref):
        return {"$ref": value.name}
    if isinstance(value, Gen):
        return {"$gen": value.seed}
    if isinstance(value, tuple):
        return {"$tuple": [to_wire(v) for v in value]}
    if isinstance(value, list):
        return [to_wire(v) for v in value]
    if isinstance(value, Mapping):
        return {"$dict": [[str(k), to_wire(v)] for k, v in value.items()]}
    raise TypeError(f"a {type(value).__name__} is not plain data and cannot cross")


def from_wire(value: Any) -> Any:
    """The inverse of `to_wire`. Validates: what arrives may come from hostile code.

    Raises:
        ValueError: the data does not describe plain values.
    """
    if value is None or isinstance(value, bool | int | str | float):
        return value
    if isinstance(value, list):
        return [from_wire(v) for v in value]
    if not isinstance(value, dict) or len(value) != 1:
        raise ValueError(f"not a wire value: {str(value)[:80]!r}")
    ((tag, body),) = value.items()
    if tag == "$float":
        return float(str(body))
    if tag == "$tuple":
        return tuple(from_wire(v) for v in body)
    if tag == "$dict":
        return {str(k): from_wire(v) for k, v in body}
    if tag == "$ref":
        return Ref(str(body))
    if tag == "$gen":
        return Gen(int(body))
    if tag in ("$tensor", "$meta"):
        dtype, shape = DTYPES[str(body[0])], [int(n) for n in body[1]]
        if any(n < 0 for n in shape) or math.prod(shape) > MAX_ENTRIES:
            raise ValueError(f"a tensor of shape {shape} is not accepted")
        if tag == "$meta":
            return torch.empty(shape, dtype=dtype, device="meta")
        raw = bytearray(base64.b64decode(body[2], validate=True))
        if len(raw) != math.prod(shape) * torch.empty(0, dtype=dtype).element_size():
            raise ValueError(f"{len(raw)} bytes do not make a {dtype} of shape {shape}")
        flat = torch.frombuffer(raw, dtype=dtype) if raw else torch.empty(0, dtype=dtype)
        return flat.reshape(shape).clone()
    raise ValueError(f"unknown tag {tag!r}")
