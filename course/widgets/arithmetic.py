"""The arithmetic and the wording that Python and JavaScript share, Python's side.

``frame.js`` has a twin of each function here; ``tests/widgets`` holds them equal.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_FIELD = re.compile(r"\{([\w.]+)(?::(,?)(?:\.(\d+))?([fd%]))?\}")
_DTYPES = ("float64", "float32", "float16", "int32", "int16", "uint8")


def fixed(x: float, digits: int, group: bool = False) -> str:
    """``x`` with fixed decimals as the page writes it: ties away from zero, a real minus sign.

    >>> fixed(0.125, 2), fixed(-0.001, 2), fixed(12345.6, 0, group=True)
    ('0.13', '0.00', '12,346')
    """
    if math.isnan(x):
        return "–"
    if math.isinf(x):
        return "∞" if x > 0 else "−∞"
    rounded = Decimal(abs(float(x))).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    text = f"{rounded:,f}" if group else f"{rounded:f}"
    return ("−" if x < 0 and re.search("[1-9]", text) else "") + text


def fill(template: str, numbers: Mapping[str, Any]) -> str:
    """Fill ``{name}``, ``{name.part:.2f}``, ``{n:,d}``, ``{share:.0%}`` from ``numbers``.

    A name without a kind is put in as text; one that is missing or None becomes a dash.

    >>> fill("{a.b:.1f} of {n:,d}: {p:.0%}", {"a": {"b": 2.25}, "n": 1024, "p": 0.125})
    '2.3 of 1,024: 13\\xa0%'
    """

    def one(match: re.Match[str]) -> str:
        path, group, digits, kind = match.groups()
        value: Any = numbers
        for key in path.split("."):
            if isinstance(value, Mapping):
                value = value.get(key)
            elif isinstance(value, (list, tuple, np.ndarray)) and key.isdigit():
                value = value[int(key)] if int(key) < len(value) else None
            else:
                value = None
        if value is None:
            return "–"
        if not kind:
            return str(value)
        if kind == "%":
            return fixed(100 * value, int(digits or 0), bool(group)) + "\u00a0%"
        return fixed(value, 0 if kind == "d" else int(digits or 6), bool(group))

    return _FIELD.sub(one, template)


def softmax(scores: npt.ArrayLike) -> Floats:
    """Softmax over the last axis; −∞ is masked, a row with nothing left is all zeros.

    ``scores``: (…, S); returns (…, S) in float64.
    """
    s = np.asarray(scores, dtype=np.float64)
    top = s.max(axis=-1, keepdims=True)
    e = np.exp(s - np.where(np.isneginf(top), 0.0, top))
    total = e.sum(axis=-1, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


def entropy(weights: npt.ArrayLike) -> Floats:
    """Entropy in nats over the last axis, with 0 · ln 0 = 0. ``weights``: (…, S) → (…)."""
    w = np.asarray(weights, dtype=np.float64)
    logs = np.log(w, out=np.zeros_like(w), where=w > 0)
    return np.asarray(-(w * logs).sum(axis=-1))


def pack(array: npt.NDArray[Any] | None) -> dict[str, Any] | None:
    """An array as JSON: ``{"dtype", "shape", "data"}`` with the bytes (little-endian) in base64.

    Raises ``TypeError`` for a dtype the page cannot read.
    """
    if array is None:
        return None
    if array.dtype.name not in _DTYPES:
        raise TypeError(f"a widget sends arrays of {', '.join(_DTYPES)}, not {array.dtype.name}")
    little = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False))
    data = base64.b64encode(little.tobytes()).decode("ascii")
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def unpack(packed: Mapping[str, Any] | None) -> npt.NDArray[Any] | None:
    """The array that :func:`pack` made into JSON."""
    if packed is None:
        return None
    dtype = np.dtype(packed["dtype"]).newbyteorder("<")
    flat = np.frombuffer(base64.b64decode(packed["data"]), dtype=dtype)
    return flat.reshape(packed["shape"]).astype(np.dtype(packed["dtype"]))


def mixed(seed: int, start: int, count: int) -> npt.NDArray[np.uint32]:
    """``count`` integers from 0 to 2³² − 1 from place ``start`` of the stream ``seed``: (count,).

    A counter put through a 32-bit mix: any place can be reached directly, and JavaScript draws
    the very same numbers, so a page need not carry them.
    """
    offset = np.uint32((seed * 0x9E3779B9 + start) & 0xFFFFFFFF)
    x = np.arange(count, dtype=np.uint32) + offset
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x21F0AAAD)
    x ^= x >> np.uint32(15)
    x *= np.uint32(0x735A2D97)
    x ^= x >> np.uint32(15)
    return x


def normals(seed: int, start: int, count: int) -> Floats:
    """``count`` standard normal numbers (Box–Muller) from an even place of :func:`mixed`: (count,).

    Raises ``ValueError`` for an odd ``start`` or ``count``: they come in pairs.
    """
    if start % 2 or count % 2:
        raise ValueError(f"normal numbers come in pairs: start {start} and count {count} are even")
    uniform = mixed(seed, start, count).astype(np.float64)
    radius = np.sqrt(-2.0 * np.log((uniform[0::2] + 1.0) / 2.0**32))
    angle = 2.0 * np.pi * (uniform[1::2] / 2.0**32)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1).reshape(-1)


def permutation(seed: int, n: int) -> list[int]:
    """A shuffled ``range(n)``; seed 0 leaves it in order.

    >>> permutation(0, 4)
    [0, 1, 2, 3]
    """
    if not seed:
        return list(range(n))
    return [int(i) for i in np.argsort(mixed(seed, 0, n), kind="stable")]
