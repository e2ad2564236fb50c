"""Which of a learner's parameters are the queries', keys', values' and output's matrices.

Nothing is asked about names. Every way to read the parameters (fused or apart, ``nn.Linear`` or
raw orientation, one matrix a head or all in one, heads contiguous or interleaved) that fits the
shapes is a *candidate*; the candidates are stacked, so that an oracle tries all at once. Which of
them is right, the learner's own results decide.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

MAX_CANDIDATES = 1200
Named = tuple[str, Tensor]
Slice = tuple[Tensor, Tensor | None]  # (H, C, D) weight and (H, D) bias


@dataclass
class Roles:
    """Stacked candidates. K of them.

    Attributes:
        wq, wk, wv: (K, H, C, D).
        bq, bk, bv: (K, H, D), zero where there is none.
        wo: (K, H, D, C), or None for a head without output projection.
        bo: (K, C), or None.
    """

    wq: Tensor
    wk: Tensor
    wv: Tensor
    bq: Tensor
    bk: Tensor
    bv: Tensor
    wo: Tensor | None = None
    bo: Tensor | None = None

    def __len__(self) -> int:
        return self.wq.shape[0]

    def only(self, k: int) -> Roles:
        """The candidate number ``k`` alone."""
        pick = [None if v is None else v[k : k + 1] for v in vars(self).values()]
        return Roles(*pick)  # type: ignore[arg-type]


def pair_biases(parameters: Sequence[Named]) -> list[tuple[str, Tensor, Tensor | None]]:
    """Give each matrix the vector that seems to be its bias, by length and likeness of name."""
    matrices = [(n, p) for n, p in parameters if p.dim() >= 2]
    vectors = [(n, p) for n, p in parameters if p.dim() == 1]
    taken: dict[str, Tensor] = {}
    pairs = sorted(
        (
            (difflib.SequenceMatcher(None, _stem(mn), _stem(vn)).ratio(), -i - j, mn, vn, v)
            for i, (mn, m) in enumerate(matrices)
            for j, (vn, v) in enumerate(vectors)
            if v.shape[0] in (m.shape[0], m.shape[-1])
        ),
        key=lambda p: (-p[0], -p[1]),
    )
    used: set[str] = set()
    for _, _, mn, vn, v in pairs:
        if mn not in taken and vn not in used:
            taken[mn] = v
            used.add(vn)
    return [(n, m, taken.get(n)) for n, m in matrices]


def _stem(name: str) -> str:
    return name.lower().replace("weight", "").replace("bias", "").replace(".", "")


def head_roles(parameters: Sequence[Named], d_model: int, d_head: int) -> Roles | None:
    """Candidates for one head: (K, 1, C, D). None where no reading fits."""
    return _gather(parameters, d_model, 1, d_head, output=False)


def multi_head_roles(
    parameters: Sequence[Named], d_model: int, n_heads: int, output: bool = True
) -> Roles | None:
    """Candidates for several heads, with an output projection unless told otherwise."""
    return _gather(parameters, d_model, n_heads, d_model // n_heads, output)


def _gather(parameters: Sequence[Named], C: int, H: int, D: int, output: bool) -> Roles | None:
    tensors = pair_biases(parameters)
    found: list[tuple[list[Slice], Slice | None]] = []
    seen: set[tuple[float, ...]] = set()
    marks: dict[int, float] = {}
    kept: list[Tensor] = []  # while a tensor is kept, its id is its own

    def mark(w: Tensor) -> float:
        """A number that tells one arrangement of the same entries from another."""
        if id(w) not in marks:
            flat = w.reshape(-1).double()
            marks[id(w)] = float(flat @ torch.arange(1.0, len(flat) + 1).double().sqrt().cos())
            kept.append(w)
        return marks[id(w)]

    for out_tensor, rest in _without_output(tensors, C, output):
        outs: list[Slice | None] = list(_outputs(out_tensor, C, H, D)) if output else [None]
        last = [(mark(out[0]) if out else 0.0, out) for out in outs]
        for slices in _three(rest, C, H, D):
            first = tuple(mark(w) for w, _ in slices)
            for of_out, out in last:
                key = (*first, of_out)
                if key not in seen and len(found) < MAX_CANDIDATES:
                    seen.add(key)
                    found.append((slices, out))
    if not found:
        return None
    zero, zero_o = torch.zeros(H, D), torch.zeros(C)

    def stack(i: int, part: int) -> Tensor:
        items = [f[0][i][part] for f in found]
        return torch.stack(
            [zero.to(f[0][0][0]) if v is None else v for v, f in zip(items, found, strict=True)]
        )

    wo = bo = None
    if output:
        wo = torch.stack([o[0] for _, o in found if o is not None])
        bo = torch.stack(
            [zero_o.to(o[0]) if o[1] is None else o[1] for _, o in found if o is not None]
        )
    return Roles(
        stack(0, 0), stack(1, 0), stack(2, 0), stack(0, 1), stack(1, 1), stack(2, 1), wo, bo
    )


Triple = tuple[str, Tensor, Tensor | None]


def _without_output(
    tensors: list[Triple], C: int, output: bool
) -> Iterator[tuple[Triple, list[Triple]]]:
    if not output:
        yield ("", torch.empty(0), None), tensors
        return
    # The output projection is usually registered last: try it first.
    for i in reversed(range(len(tensors))):
        if tensors[i][1].numel() == C * C:
            yield tensors[i], tensors[:i] + tensors[i + 1 :]


def _outputs(tensor: Triple, C: int, H: int, D: int) -> Iterator[Slice]:
    """Readings of an output projection: (H, D, C) with a bias (C,)."""
    _, w, b = tensor
    b = b if b is not None and b.shape == (C,) else None
    if w.dim() == 2 and w.shape == (C, C):
        for m in (w.T, w):  # nn.Linear keeps (out, in)
            yield m.reshape(H, D, C), b
            if H > 1:
                yield m.reshape(D, H, C).transpose(0, 1), b
    elif w.dim() == 3:
        for axes in itertools.permutations(range(3)):
            if w.permute(axes).shape == (H, D, C):
                yield w.permute(axes), b


def _three(tensors: list[Triple], C: int, H: int, D: int) -> Iterator[list[Slice]]:
    """All ways to read exactly three (H, C, D) slices, in every order of the roles."""
    for raw in (False, True):
        for order in range(6):
            whole: list[Slice] = []
            for _, w, b in tensors:
                part = _read(w, b, C, H, D, raw, order)
                if part is None:
                    break
                whole += part
            else:
                if len(whole) == 3:
                    yield from (list(p) for p in itertools.permutations(whole))
            if order == 1 and all(w.numel() == H * C * D for _, w, _ in tensors):
                break  # the further orders only concern fused matrices
    if H > 1:
        yield from _per_head(tensors, C, H, D)


def _read(
    w: Tensor, b: Tensor | None, C: int, H: int, D: int, raw: bool, order: int
) -> list[Slice] | None:
    """One tensor as n slices (n = 1, 2, 3), or None. ``order`` picks how a fused axis is split."""
    n, left = divmod(w.numel(), H * C * D)
    if left or n not in (1, 2, 3):
        return None
    if w.dim() == 2:
        m = w if raw else w.T  # (C, n·H·D)
        if m.shape[0] != C:
            return None
        axes = list(itertools.permutations(range(3)))[order]
        sizes = [(n, H, D)[a] for a in axes]  # how the fused axis is laid out
        back = [axes.index(a) for a in range(3)]
        parts = m.reshape(C, *sizes).permute(0, *(1 + i for i in back))  # (C, n, H, D)
        bias = None
        if b is not None and b.numel() == n * H * D:
            bias = b.reshape(sizes).permute(back)
        return [(parts[:, i].transpose(0, 1), None if bias is None else bias[i]) for i in range(n)]
    full = ("n", "h", "c", "d")
    size = {"n": n, "h": H, "c": C, "d": D}
    kept = [a for a in full if size[a] > 1 or w.dim() == 4]
    if w.dim() == 3 and len(kept) != 3:
        kept = [a for a in full if a != "h"] if n > 1 else [a for a in full if a != "n"]
    if len(kept) != w.dim():
        return None
    fits = [p for p in itertools.permutations(kept) if tuple(size[a] for a in p) == tuple(w.shape)]
    fits.sort(key=lambda p: p.index("c") > p.index("d") if "c" in p else False)
    if not fits:
        return None
    p = fits[(order + int(raw)) % len(fits)]
    ordered = w.permute([p.index(a) for a in kept]).reshape(n, H, C, D)
    bias = b.reshape(n, H, D) if b is not None and b.numel() == n * H * D else None
    return [(ordered[i], None if bias is None else bias[i]) for i in range(n)]


def _per_head(tensors: list[Triple], C: int, H: int, D: int) -> Iterator[list[Slice]]:
    """One matrix a head and role, or one fused matrix a head (a ModuleList of heads)."""
    for raw in (False, True):
        for order in (0, 1):
            parts: list[Slice] = []
            for _, w, b in tensors:
                # As for a single head, whose fused axis is (n, D) or (D, n).
                one = _read(w, b, C, 1, D, raw, (0, 5)[order]) if w.dim() == 2 else None
                if one is None or len(one) == 2:
                    return
                parts += one
            if len(parts) != 3 * H:
                continue
            for by_head in (True, False):
                table = (
                    [[parts[h * 3 + r] for h in range(H)] for r in range(3)]
                    if by_head
                    else [[parts[r * H + h] for h in range(H)] for r in range(3)]
                )
                joined = [_join(row, D) for row in table]
                yield from (list(p) for p in itertools.permutations(joined))


def _join(row: Sequence[Slice], D: int) -> Slice:
    weight = torch.cat([w for w, _ in row])
    if all(b is None for _, b in row):
        return weight, None
    return weight, torch.cat([torch.zeros(1, D).to(w) if b is None else b for w, b in row])
