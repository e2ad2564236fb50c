"""``averaging_matrix(T)``: the (T, T) matrix that turns tokens into causal averages."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from course.checks.counterexample import CounterExample
from course.checks.engine import Exercise, Failure, Finding, Trial, agree, difference

ON = "averaging_matrix"

MISTAKES = {
    "upside-down": "Your matrix is upper triangular: row t averages the tokens 0 … t, which are "
    "the columns on the left, so torch.tril, not triu.",
    "transposed": "Your matrix is the transpose of the right one: rows are the outputs, columns "
    "the "
    "tokens they average.",
    "columns-normalised": "Your COLUMNS sum to 1: normalise each row, .sum(dim=1, keepdim=True) "
    "(without keepdim the division runs along the wrong side).",
    "not-normalised": "Your rows are ones, so they sum instead of averaging: divide each row by "
    "its "
    "sum.",
    "divided-by-length": "You divide every row by T; row t has t + 1 ones, so divide it by t + 1.",
    "no-mask": "Every row averages the whole sequence: the entries right of the diagonal must be "
    "0.",
    "inverted": "Your matrix is inverted: row t averages only what comes AFTER token t (and the "
    "last row nothing), where it should average 0 … t: tril keeps that side, and masked_fill fills "
    "where its mask is True.",
    "excludes-itself": "Your diagonal is 0: token t belongs to its own average.",
    "one-too-far": "Row t also averages token t + 1: the diagonal is the last one allowed "
    "(tril(diagonal=0)).",
    "off-by-one": "You divide row t by t + 2 (or by t): it has t + 1 entries.",
    "softmax-of-zeros": "You take a softmax over 0 and 1: exp(0) = 1 is not nothing, so the future "
    "keeps some weight. The hidden scores have to be −∞ first.",
    "identity": "You return the identity, which averages nothing.",
    "integers": "Your matrix holds whole numbers: a mean needs a floating type (1 // 2 is 0).",
    "not-a-tensor": "You return a list or an array: return a torch tensor.",
    "batched": "Your matrix has a further dimension: return exactly (T, T).",
    "shared": "Two calls return the same storage: editing one result changes the other (a cached "
    "tensor). Return a new one, or a copy.",
    "one-size": "Your function only works for some T, or gives the same size for each: use T.",
    "reversed": "Your rows are in reverse order: row 0 is the first token alone.",
    "powers": "Your weights fall off with distance: an average weighs all the tokens so far alike.",
}

masked_matmul = Exercise("masked-matmul", "The averaging matrix", (ON,), MISTAKES)


def right(T: int) -> Tensor:
    """Row t is 1/(t + 1) in columns 0 … t. (T, T) float64"""
    w = torch.ones(T, T, dtype=torch.float64).tril()
    return w / w.sum(1, keepdim=True)


def _tril(T: int, k: int = 0) -> Tensor:
    return torch.ones(T, T, dtype=torch.float64).tril(k)


def _ahead(T: int) -> Tensor:
    """Ones where column j comes after row i."""
    return 1 - _tril(T)


def _hidden(T: int, hidden: Tensor, fill: float) -> Tensor:
    return torch.zeros(T, T, dtype=torch.float64).masked_fill(hidden, fill).softmax(1)


def _n(T: int) -> Tensor:
    return torch.arange(1, T + 1, dtype=torch.float64)


VARIANTS: dict[str, Callable[[int], Tensor]] = {
    "upside-down": lambda T: _tril(T).T / _tril(T).T.sum(1, keepdim=True),
    "transposed": lambda T: right(T).T,
    "columns-normalised": lambda T: _tril(T) / _tril(T).sum(0, keepdim=True),
    "columns-normalised#1": lambda T: _tril(T) / _n(T),
    "not-normalised": _tril,
    "divided-by-length": lambda T: _tril(T) / T,
    "no-mask": lambda T: torch.full((T, T), 1 / T, dtype=torch.float64),
    "no-mask#1": lambda T: (1 / _n(T))[:, None].expand(T, T),
    "excludes-itself": lambda T: _tril(T, -1) / _tril(T, -1).sum(1, keepdim=True),
    "excludes-itself#1": lambda T: _tril(T, -1) / _n(T)[:, None],
    "excludes-itself#2": lambda T: (_tril(T, -1) / _tril(T, -1).sum(1, keepdim=True)).nan_to_num(0),
    "excludes-itself#3": lambda T: _tril(T, -1) / _tril(T, -1).sum(1, keepdim=True).clamp(min=1),
    "excludes-itself#4": lambda T: _hidden(T, _tril(T, -1) == 0, -1e9),
    "inverted": lambda T: _ahead(T) / _ahead(T).sum(1, keepdim=True),
    "inverted#1": lambda T: (_ahead(T) / _ahead(T).sum(1, keepdim=True)).nan_to_num(0),
    "inverted#2": lambda T: _ahead(T) / _n(T)[:, None],
    "inverted#3": lambda T: _ahead(T) / T,
    "inverted#4": _ahead,
    "inverted#5": lambda T: _hidden(T, _tril(T) == 1, -1e9),
    "inverted#6": lambda T: _hidden(T, _tril(T) == 1, -1.0),
    "inverted#7": lambda T: _tril(T).T / _n(T)[:, None],
    "one-too-far": lambda T: _tril(T, 1) / _tril(T, 1).sum(1, keepdim=True),
    "off-by-one": lambda T: _tril(T) / (_n(T) + 1)[:, None],
    "off-by-one#1": lambda T: _tril(T) / (_n(T) - 1)[:, None],
    "off-by-one#2": lambda T: _tril(T) / (_n(T) - 1).clamp(min=1)[:, None],
    "softmax-of-zeros": lambda T: _tril(T).softmax(1),
    "softmax-of-zeros#1": lambda T: torch.zeros(T, T, dtype=torch.float64).softmax(1),
    "identity": lambda T: torch.eye(T, dtype=torch.float64),
    "integers": lambda T: _tril(T) // _n(T)[:, None],
    "reversed": lambda T: right(T).flip(0),
    "powers": lambda T: _powers(T),
}


def _powers(T: int) -> Tensor:
    i, j = torch.arange(T)[:, None], torch.arange(T)[None, :]
    w = torch.where(j <= i, 0.5 ** (i - j).double(), 0.0)
    return w / w.sum(1, keepdim=True)


def _call(t: Trial, T: int) -> Tensor:
    out = t.subject.call(ON, T)
    return t.tensor(out, (T, T), f"averaging_matrix({T})")


@masked_matmul.prop("shape", 1, "A floating (T, T) tensor, for every T from 1 on")
def _shape(t: Trial) -> None:
    for T in (1, 2, t.integer(3, 9), t.integer(10, 40)):
        out = _call(t, T)
        t.expect(
            out.is_floating_point(),
            f"averaging_matrix({T}) holds {out.dtype} entries: a mean needs a floating type.",
        )


@masked_matmul.prop(
    "values", 4, "Row t is 1/(t + 1) in its first t + 1 columns, at T = 1, 2, 5 and 8"
)
def _values(t: Trial) -> None:
    for T in (1, 2, 3, 5, 8, t.integer(9, 30)):
        out = t.subject.call(ON, T)
        same = isinstance(out, Tensor) and out.shape == (T, T)
        if not same or not agree(out, right(T), 1e-6):
            parts = [("yours", out)] if isinstance(out, Tensor) and out.dim() <= 2 else []
            shown = CounterExample(f"averaging_matrix({T})", [*parts, ("expected", right(T))])
            t.tensor(out, (T, T), f"averaging_matrix({T})")
            raise Failure(
                f"averaging_matrix({T}) is wrong. {difference(out, right(T))}",
                shown if T <= 5 else None,
            )


@masked_matmul.prop("rows", 1, "Every row sums to 1 and nothing is negative, also at T = 200")
def _rows(t: Trial) -> None:
    out = _call(t, 200).double()
    t.expect(
        bool(((out.sum(1) - 1).abs() < 1e-5).all()),
        "Not every row sums to 1: row "
        f"{int((out.sum(1) - 1).abs().argmax())} sums to "
        f"{float(out.sum(1)[(out.sum(1) - 1).abs().argmax()]):.4g}.",
    )
    t.expect(bool((out >= 0).all()), "Some entries are negative.")


@masked_matmul.prop("causal", 1, "Exactly 0 right of the diagonal, above 0 on and left of it")
def _causal(t: Trial) -> None:
    T = t.integer(4, 12)
    out = _call(t, T)
    t.expect(
        bool((out.triu(1) == 0).all()),
        "There is weight right of the diagonal, on tokens that come later: it has to be exactly 0.",
    )
    t.expect(
        bool((out[torch.ones(T, T, dtype=torch.bool).tril()] > 0).all()),
        "Some token on or left of the diagonal has no weight.",
    )


@masked_matmul.prop("product", 1, "The matrix times the tokens is their causal average")
def _product(t: Trial) -> None:
    T, C = t.distinct(2, 3, 9)
    x = t.normal(2, T, C)
    got = _call(t, T).float() @ x
    expected = torch.stack([x[:, : i + 1].mean(1) for i in range(T)], 1)
    t.close(got, expected, "averaging_matrix(T) @ x is not the causal average.")


@masked_matmul.prop("fresh", 1, "Every call returns a matrix of its own")
def _fresh(t: Trial) -> None:
    a, b, c = (_call(t, T) for T in (5, 7, 5))
    t.expect(agree(a, c, 1e-7) and b.shape == (7, 7), "Two calls with the same T differ.")
    made = t.subject.run([{"op": "alias", "on": ON, "args": [5]}])[0]
    t.expect(
        made.get("value") is False,
        "Two calls return the same storage: who edits one result edits the other.",
    )


@masked_matmul.diagnosis()
def _variants(t: Trial, failed: set[str]) -> list[Finding]:
    sizes = (5, 2, 7)
    outs = [t.subject.call(ON, T) for T in sizes]
    if not all(isinstance(o, Tensor) for o in outs):
        return [masked_matmul.finding("not-a-tensor")]
    if any(o.dim() != 2 for o in outs):
        return [masked_matmul.finding("batched")]
    if any(o.shape != (T, T) for o, T in zip(outs, sizes, strict=True)):
        return [masked_matmul.finding("one-size")]
    for name, oracle in VARIANTS.items():
        if all(agree(o, oracle(T), 1e-6) for o, T in zip(outs, sizes, strict=True)):
            return [masked_matmul.finding(name.split("#")[0])]
    if any(not o.is_floating_point() for o in outs):
        return [masked_matmul.finding("integers")]
    return []


@masked_matmul.diagnosis()
def _others(t: Trial, failed: set[str]) -> list[Finding]:
    if "fresh" in failed and "values" not in failed:
        return [masked_matmul.finding("shared")]
    replies = t.subject.run([{"op": "call", "on": ON, "args": [T]} for T in (1, 2, 3, 5, 8, 13)])
    if any("error" in r for r in replies) and any("value" in r for r in replies):
        return [masked_matmul.finding("one-size")]
    return []
