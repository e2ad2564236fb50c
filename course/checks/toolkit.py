"""Properties many exercises share, for anything that maps x (B, T, C) to (B, T, E)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from course.checks.engine import Failure, Trial, agree, difference
from course.checks.roles import Named
from course.checks.subject import SubjectError


@dataclass
class Target:
    """A function of the learner's, or an object built from a class, with its further arguments."""

    t: Trial
    on: str
    rest: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    parameters: list[Named] = field(default_factory=list)

    def op(self, x: Any, **options: Any) -> dict[str, Any]:
        return {
            "op": "call",
            "on": self.on,
            "args": [x, *self.rest],
            "kwargs": self.kwargs,
            **options,
        }

    def __call__(self, x: Any, **options: Any) -> Any:
        """The result for one input."""
        return self.many([x], **options)[0]

    def many(self, xs: Sequence[Any], **options: Any) -> list[Any]:
        """The results for several inputs, in one batch."""
        return [r["value"] for r in self.t.subject.ask([self.op(x, **options) for x in xs])]

    def mode(self, train: bool) -> None:
        """Put a module in training or evaluation mode."""
        self.t.subject.ask([{"op": "mode", "on": self.on, "train": train}])

    def vjp(self, x: Tensor, cotangent: Tensor, inputs: Sequence[int] = (0,)) -> dict[str, Any]:
        """Gradients: ``inputs`` (list) and ``parameters`` (dict)."""
        return self.t.subject.ask(
            [
                {
                    "op": "vjp",
                    "on": self.on,
                    "args": [x, *self.rest],
                    "kwargs": self.kwargs,
                    "cotangent": cotangent,
                    "inputs": list(inputs),
                }
            ]
        )[0]


def build(
    t: Trial,
    cls: str,
    args: Sequence[Any],
    *,
    dtype: str | None = None,
    train: bool = False,
    sd: float = 1.2,
    values: Callable[[str, Tensor], Tensor] | None = None,
) -> Target:
    """Construct a module and give every parameter random values (large enough to tell faults).

    Args:
        sd: a matrix's entries get ``sd / √(its larger side)``; vectors get 0.5.
        values: instead, called with each parameter's name and old value.
    """
    name = t.new_name()
    program: list[dict[str, Any]] = [
        {"op": "new", "as": name, "name": cls, "args": list(args), "seed": t.integer(0, 10**6)},
        {"op": "mode", "on": name, "train": train},
        {"op": "parameters", "on": name},
    ]
    if dtype:
        program.insert(1, {"op": "to", "on": name, "dtype": dtype})
    described = t.subject.ask(program)[-1]["value"]
    drawn: dict[str, Tensor] = {}
    for n, p, _ in described:
        if values is not None:
            drawn[n] = values(n, p)
        elif p.dim() >= 2:
            width = max(p.shape[-1], p.shape[-2])
            drawn[n] = t.normal(*p.shape, dtype=p.dtype, sd=sd / width**0.5)
        else:
            drawn[n] = t.normal(*p.shape, dtype=p.dtype, sd=0.5)
    if drawn:
        t.subject.ask([{"op": "set", "on": name, "values": drawn}])
    return Target(t, name, parameters=list(drawn.items()))


def twice(target: Target, x: Tensor) -> bool:
    """Whether two calls agree."""
    a, b = target.many([x, x])
    return agree(a, b, 1e-6)


def expect_causal(target: Target, x: Tensor, through_gradient: bool = True) -> None:
    """Token j must reach no output before j, and its own. x (B, T, C)."""
    t, T = target.t, x.shape[1]
    changed = []
    for j in range(T):
        y = x.clone()
        y[:, j] += t.normal(x.shape[0], x.shape[2], dtype=x.dtype) + 0.5
        changed.append(y)
    base, *others = target.many([x, *changed])
    _finite(t, base)
    for j, other in enumerate(others):
        if not agree(other[:, :j], base[:, :j]):
            rows = (other - base).abs().amax((0, 2))[:j]
            raise Failure(
                f"Changing token {j} changed output {int(rows.argmax())}, which comes "
                f"before it (T = {T}): a position may not see what follows it."
            )
        if torch.equal(other[:, j], base[:, j]):
            raise Failure(
                f"Changing token {j} did not change output {j} (T = {T}): a position "
                "must see itself."
            )
        missed = [i for i in range(j + 1, T) if torch.equal(other[:, i], base[:, i])]
        if missed:
            raise Failure(
                f"Changing token {j} did not change output {missed[0]}, which comes "
                "after it: a position must see all that precedes it."
            )
    if through_gradient:
        i = t.integer(0, T - 2)
        g = torch.zeros_like(base)
        g[:, i] = 1.0
        (grad,) = target.vjp(x, g)["inputs"]
        t.expect(grad is not None, "No gradient reaches the input: is something detached?")
        leak = grad[:, i + 1 :].abs().amax()
        t.expect(
            bool(leak <= 1e-6),
            f"The gradient of output {i} with respect to later tokens is "
            f"{float(leak):.2g}, not zero.",
        )


def _finite(t: Trial, out: Tensor) -> None:
    """NaN is equal to NaN where results are compared: nothing may be concluded from it."""
    t.expect(
        not isinstance(out, Tensor) or bool(torch.isfinite(out).all()),
        "The result has entries that are NaN or infinite.",
    )


def expect_lengths(target: Target, x: Tensor, T_short: int) -> None:
    """A prefix gives the prefix; long, then short, then long again; one row; one token."""
    t = target.t
    full, short, again, one, single = target.many([x, x[:, :T_short], x, x[:1], x[:, :1]])
    _finite(t, full)
    t.expect(
        agree(t.tensor(short, (x.shape[0], T_short, *full.shape[2:])), full[:, :T_short]),
        f"The first {T_short} tokens alone should give the first {T_short} rows of the result for "
        f"all {x.shape[1]}. {_first_difference(short, full[:, :T_short])}",
    )
    t.expect(
        torch.equal(again, full) or agree(again, full, 1e-6),
        "After a shorter input, the same longer input gave another result.",
    )
    t.close(one, full[:1], "A batch of one row should give that row's result.")
    t.close(single, full[:, :1], "One token alone should give the first row of the result.")


def _first_difference(a: Tensor, b: Tensor) -> str:
    return difference(a, b) if a.shape == b.shape else ""


def expect_rows_apart(target: Target, x: Tensor) -> None:
    """Batch rows must not influence each other."""
    y = x.clone()
    y[0] += 1.0
    a, b = target.many([x, y])
    target.t.expect(
        agree(a[1:], b[1:]),
        "Changing one row of the batch changed the result of "
        "another row: the batch dimension is mixed in.",
    )


def expect_pure(target: Target, x: Tensor) -> None:
    """Two calls agree, and the arguments are as they were."""
    first = target.t.subject.ask([target.op(x, pure=True), target.op(x, pure=True)])
    for reply in first:
        if reply["changed"]:
            raise Failure(
                "Your code edits its argument in place (argument "
                f"{reply['changed'][0] + 1}): make a new tensor instead."
            )
    a, b = (r["value"] for r in first)
    same = isinstance(a, Tensor) and isinstance(b, Tensor) and a.shape == b.shape and agree(a, b, 0)
    target.t.expect(same, "Two calls with the same input gave two results.")


def expect_dtypes(
    make: Callable[[str], tuple[Target, Tensor]],
    t: Trial,
    dtypes: Sequence[tuple[str, float]] = (
        ("float64", 1e-5),
        ("bfloat16", 0.15),
        ("float16", 0.03),
    ),
    expected: Callable[[Target, Tensor], Tensor] | None = None,
) -> None:
    """The result has the input's floating type, and its values are right for that type."""
    for dtype, tol in dtypes:
        try:
            target, x = make(dtype)
            out = target(x)
        except SubjectError as error:
            raise Failure(f"With {dtype} inputs your code raised {error}") from error
        t.expect(isinstance(out, Tensor), "the result is not a tensor")
        got = str(out.dtype).removeprefix("torch.")
        t.expect(got == dtype, f"With {dtype} inputs the result is {got}; it should stay {dtype}.")
        t.expect(
            bool(torch.isfinite(out.to(torch.float64)).all()),
            f"With {dtype} inputs the result has entries that are NaN or infinite.",
        )
        if expected is not None:
            right = expected(target, x)
            t.expect(
                agree(out, right, tol),
                f"With {dtype} inputs the values are wrong. {difference(out, right)}",
            )


def expect_registered(
    target: Target, rebuild: Callable[[], Target], x: Tensor, at_least: int
) -> None:
    """Parameters are registered: counted, saved, loaded, moved."""
    t = target.t
    count = sum(p.numel() for _, p in target.parameters)
    t.expect(
        count > 0,
        "Your module has no registered parameters: use nn.Linear or nn.Parameter "
        "(and nn.ModuleList instead of a Python list).",
    )
    t.expect(
        count >= at_least,
        f"Your module has {count} registered parameters where at least "
        f"{at_least} are needed: are some in a Python list, or missing?",
    )
    (state,) = (r["value"] for r in t.subject.ask([{"op": "state", "on": target.on}]))
    other = rebuild()
    t.subject.ask([{"op": "load", "on": other.on, "values": state}])
    t.expect(
        agree(other(x), target(x), 1e-6),
        "A fresh module that loads the first one's state dict gives another result: "
        "something that matters is not in it.",
    )
    moved = t.subject.ask([{"op": "to", "on": other.on, "device": "meta"}])[0]["value"]
    stuck = [n for n, _, device in moved if device != "meta"]
    t.expect(not stuck, f"`{stuck[0] if stuck else ''}` did not move with .to(device).")
