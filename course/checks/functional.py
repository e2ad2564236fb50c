"""What the exercises on plain functions share: values, wrong oracles, small counter-examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from torch import Tensor

from course.checks.counterexample import CounterExample, shrink
from course.checks.engine import Exercise, Failure, Finding, Trial, agree, difference

Oracle = Callable[..., Any]
Case = Sequence[Any]


def results(t: Trial, on: str, cases: Sequence[Case], **options: Any) -> list[Any]:
    """The learner's results for several argument lists, in one batch."""
    ops = [{"op": "call", "on": on, "args": list(c), **options} for c in cases]
    return [r["value"] for r in t.subject.ask(ops)]


def check_values(
    t: Trial,
    on: str,
    cases: Sequence[Case],
    right: Oracle,
    *,
    said: Callable[[Case], str],
    small: Iterable[Case] = (),
    labels: Sequence[str] = (),
    tol: float = 1e-5,
    loosen: Sequence[int] = (0,),
) -> None:
    """Raise `Failure`, with a small counter-example, where a result differs from the oracle's.

    Args:
        said: names a case in words.
        small: argument lists for the counter-example, the smallest first.
        labels: the arguments' names there.
        loosen: the arguments whose entries may be set to zero while it shrinks.
    """
    for case, out in zip(cases, results(t, on, cases), strict=True):
        expected = right(*case)
        try:
            t.tensor(out, expected.shape, f"the result for {said(case)}")
            if agree(out, expected, tol):
                continue
            message = f"With {said(case)} the values are wrong. {difference(out, expected)}"
        except Failure as failure:
            message = failure.message
        raise Failure(message, example(t, on, small, right, labels, tol, loosen))


def example(
    t: Trial,
    on: str,
    small: Iterable[Case],
    right: Oracle,
    labels: Sequence[str],
    tol: float = 1e-5,
    loosen: Sequence[int] = (0,),
) -> CounterExample | None:
    """The smallest case on which the learner's result differs."""

    def wrong(case: Case) -> bool:
        out = t.subject.call(on, *case)
        expected = right(*case)
        return not (isinstance(out, Tensor) and agree(out, expected, tol))

    found = shrink(iter(small), wrong, loosen)
    if found is None:
        return None
    out, expected = t.subject.call(on, *found), right(*found)
    shown = [a for a in found if isinstance(a, Tensor)]
    parts = list(zip(labels, shown, strict=False))
    if isinstance(out, Tensor) and out.dim() <= 4:
        parts.append(("yours", out))
    parts.append(("expected", expected))
    others = [f"{a}" for a in found if not isinstance(a, Tensor)]
    return CounterExample(f"{on}({', '.join([*labels[: len(shown)], *others])})", parts)


def find_variants(
    t: Trial,
    exercise: Exercise,
    on: str,
    cases: Sequence[Case],
    right: Oracle,
    variants: Mapping[str, Oracle],
    *,
    tol: float = 1e-5,
    **values: Any,
) -> list[Finding]:
    """The first named wrong oracle that gives the learner's result for every case.

    A case for which the learner's code raises is left out; one for which a wrong oracle cannot be
    computed rules that oracle out.
    """
    replies = t.subject.run([{"op": "call", "on": on, "args": list(c)} for c in cases])
    seen = [
        (c, r["value"])
        for c, r in zip(cases, replies, strict=True)
        if isinstance(r.get("value"), Tensor)
    ]
    if not seen or all(agree(out, right(*c), tol) for c, out in seen):
        return []
    for name, oracle in variants.items():
        try:
            if all(agree(out, oracle(*c), tol) for c, out in seen):
                # Numbered variants of one mistake share its sentence.
                return [exercise.finding(name.split("#")[0], **values)]
        except (RuntimeError, IndexError, ValueError, ZeroDivisionError):
            continue
    return []


def edits(t: Trial, on: str, case: Case) -> bool:
    """Whether the learner's function edits an argument."""
    reply = t.subject.run([{"op": "call", "on": on, "args": list(case), "pure": True}])[0]
    return bool(reply.get("changed"))


def first_line(text: str) -> str:
    """A message's first line, for a sentence about it."""
    return text.splitlines()[0] if text else ""
