"""The smallest input on which a learner's answer differs, shown as a small table."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from course.checks.subject import SubjectError

MAX_TRIES = 160  # calls of the learner's code one search may spend
MOST_SHOWN = 16  # rows and columns of a matrix: the learner's result may have any size


@dataclass
class CounterExample:
    """Small matrices side by side: what went in, what came out, what should have.

    Attributes:
        caption: one line, with the call.
        parts: (label, matrix) pairs; vectors and scalars are shown as one row.
    """

    caption: str
    parts: list[tuple[str, Tensor]] = field(default_factory=list)

    def as_text(self) -> str:
        """Fixed-width text, the matrices side by side."""
        blocks = []
        for label, value in self.parts:
            rows = [[number(v) for v in row] for row in as_rows(value)]
            width = max((len(c) for row in rows for c in row), default=1)
            lines = ["  ".join(c.rjust(width) for c in row) for row in rows]
            block = [label, *lines]
            pad = max(len(line) for line in block)
            blocks.append([line.ljust(pad) for line in block])
        height = max((len(b) for b in blocks), default=0)
        for b in blocks:
            b += [" " * len(b[0])] * (height - len(b))
        table = "\n".join(" | ".join(row).rstrip() for row in zip(*blocks, strict=True))
        return f"{self.caption}\n{table}"

    def as_html(self) -> str:
        """Tables with captions; wrong entries are marked by a cross as well as a colour."""
        named = dict(self.parts)
        yours, expected = named.get("yours"), named.get("expected")
        cells = []
        for label, value in self.parts:
            rows = as_rows(value)
            body = ""
            for i, row in enumerate(rows):
                tds = ""
                for j, v in enumerate(row):
                    wrong = label == "yours" and _wrong(yours, expected, i, j)
                    mark = ' class="course-wrong"' if wrong else ""
                    tds += f"<td{mark}>{'✗ ' if wrong else ''}{number(v)}</td>"
                body += f"<tr>{tds}</tr>"
            cells.append(f"<table><caption>{html.escape(label)}</caption>{body}</table>")
        inner = "".join(cells)
        return (
            f'<figure class="course-example"><figcaption>{html.escape(self.caption)}'
            f"</figcaption><div>{inner}</div></figure>"
        )


def _wrong(yours: Tensor | None, expected: Tensor | None, i: int, j: int) -> bool:
    if yours is None or expected is None or yours.shape != expected.shape:
        return False
    a, e = as_rows(yours)[i][j], as_rows(expected)[i][j]
    return not (a == e or abs(a - e) <= 1e-4 * max(1.0, abs(e)))


def as_rows(value: Tensor) -> list[list[float]]:
    """The beginning of a tensor as rows: leading dimensions of size 1 dropped, further stacked."""
    if not value.numel():
        return [[]]
    t = value if value.dim() > 1 else value.reshape(1, -1)
    t = t.reshape(-1, t.shape[-1])[:MOST_SHOWN, :MOST_SHOWN]
    return t.to(torch.float64).tolist()


def number(v: float) -> str:
    """A number as short as it can be read: integers without a point, three decimals else."""
    if v != v:
        return "nan"
    if v in (float("inf"), float("-inf")):
        return "∞" if v > 0 else "−∞"
    text = f"{v:.3f}".rstrip("0").rstrip(".") if abs(v) < 1e5 else f"{v:.3g}"
    return "0" if text in ("-0", "") else text.replace("-", "−")


def small_matrices(rows: int, columns: int) -> Iterator[Tensor]:
    """A few matrices of small whole numbers, plain ones first. (rows, columns)"""
    n = rows * columns
    yield torch.arange(1.0, n + 1).reshape(rows, columns)
    yield torch.eye(rows, columns)
    for seed in range(3):
        g = torch.Generator().manual_seed(seed)
        yield torch.randint(-2, 4, (rows, columns), generator=g).float()


def shrink(
    cases: Iterator[Sequence[Tensor]] | Sequence[Sequence[Tensor]],
    wrong: Callable[[Sequence[Tensor]], bool],
    loosen: Sequence[int] = (0,),
) -> Sequence[Tensor] | None:
    """The first case, smallest first, that ``wrong`` says is one; then with fewer numbers in it.

    Args:
        cases: argument lists, the smallest first.
        wrong: whether the learner's result differs there; an error of the learner's code counts
            as no.
        loosen: the numbers of the arguments whose entries may be set to zero.
    """
    tries = 0

    def test(case: Sequence[Tensor]) -> bool:
        nonlocal tries
        tries += 1
        try:
            return wrong(case)
        except SubjectError:
            return False

    for case in cases:
        if tries >= MAX_TRIES:
            return None
        if not test(case):
            continue
        best = [c.clone() if isinstance(c, Tensor) else c for c in case]
        for k in loosen:
            flat = best[k].reshape(-1)
            for i in range(flat.numel()):
                if tries >= MAX_TRIES or flat[i] == 0:
                    continue
                kept = flat[i].item()
                flat[i] = 0.0
                if not test(best):
                    flat[i] = kept
        return best
    return None
