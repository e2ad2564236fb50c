"""An exercise: its properties, its named mistakes, and the trial that a property works in."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from course.checks.counterexample import CounterExample
from course.checks.subject import Subject


class Failure(Exception):
    """A property does not hold. Carries the sentence, and perhaps a counter-example."""

    def __init__(self, message: str, example: CounterExample | None = None) -> None:
        super().__init__(message)
        self.message, self.example = message, example


class OutOfTime(BaseException):
    """The learner's code took too long. No ``Exception``: its own handlers must not catch it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True)
class Property:
    """One thing that must hold. ``run`` raises `Failure` where it does not."""

    name: str
    title: str
    points: int
    function: str
    run: Callable[[Trial], None]


@dataclass(frozen=True)
class Finding:
    """A named mistake and its sentence, as said to this learner."""

    mistake: str
    sentence: str


Diagnoser = Callable[["Trial", set[str]], Sequence[Finding]]


@dataclass
class Exercise:
    """One assignment: its names, its properties with points, its named mistakes.

    Args:
        slug: stable name.
        title: what the learner builds.
        names: the functions or classes a submission defines, in order.
        mistakes: name → sentence; may hold ``{fields}`` that a diagnoser fills.
        refused: names in torch that would be the answer (course's own always are).
        allowed: dotted names of ``course`` that may be used.
    """

    slug: str
    title: str
    names: tuple[str, ...]
    mistakes: Mapping[str, str]
    refused: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    properties: list[Property] = field(default_factory=list)
    diagnosers: list[tuple[str, Diagnoser]] = field(default_factory=list)

    def prop(
        self, name: str, points: int, title: str, function: str | None = None
    ) -> Callable[[Callable[[Trial], None]], Callable[[Trial], None]]:
        """Decorator: add a property worth ``points``."""

        def add(run: Callable[[Trial], None]) -> Callable[[Trial], None]:
            if any(p.name == name for p in self.properties):
                raise ValueError(f"{self.slug} has two properties called {name!r}")
            self.properties.append(Property(name, title, points, function or self.names[0], run))
            return run

        return add

    def diagnosis(self, function: str | None = None) -> Callable[[Diagnoser], Diagnoser]:
        """Decorator: add a diagnoser, called as ``(trial, names of the failed properties)``."""

        def add(run: Diagnoser) -> Diagnoser:
            self.diagnosers.append((function or self.names[0], run))
            return run

        return add

    def finding(self, mistake: str, **values: Any) -> Finding:
        """The named mistake with its sentence filled in."""
        return Finding(mistake, self.mistakes[mistake].format(**values))

    @property
    def max_score(self) -> int:
        return sum(p.points for p in self.properties)


class Trial:
    """What a property works with: the subject, and random inputs drawn from the recorded seed."""

    def __init__(self, exercise: Exercise, subject: Subject, seed: int, salt: str) -> None:
        self.exercise, self.subject, self.seed = exercise, subject, seed
        self.rng = torch.Generator().manual_seed(
            (seed * 1_000_003 + zlib.crc32(salt.encode())) % 2**63
        )
        self._made = 0

    # -- random inputs
    def integer(self, low: int, high: int) -> int:
        """A whole number, low ≤ n ≤ high."""
        return int(torch.randint(low, high + 1, (), generator=self.rng))

    def distinct(self, n: int, low: int, high: int, avoid: Sequence[int] = ()) -> list[int]:
        """``n`` different whole numbers, low ≤ each ≤ high: no two sizes of a shape agree."""
        pool = [i for i in range(low, high + 1) if i not in avoid]
        order = torch.randperm(len(pool), generator=self.rng)[:n]
        return [pool[i] for i in order.tolist()]

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32, sd: float = 1.0) -> Tensor:
        """Independent normal entries."""
        return (torch.randn(*shape, generator=self.rng, dtype=torch.float64) * sd).to(dtype)

    def pick(self, options: Sequence[Any]) -> Any:
        """One of the options."""
        return options[self.integer(0, len(options) - 1)]

    def new_name(self) -> str:
        """A name for an object on the subject's side."""
        self._made += 1
        return f"object{self._made}"

    # -- what must hold
    def expect(self, condition: bool, message: str, example: CounterExample | None = None) -> None:
        """Raise `Failure` with the sentence unless the condition holds."""
        if not condition:
            raise Failure(message, example)

    def tensor(self, value: Any, shape: Sequence[int], what: str = "the result") -> Tensor:
        """The value, once it is known to be a tensor of this shape."""
        if not isinstance(value, Tensor):
            kind = value.get("$opaque") if isinstance(value, dict) else type(value).__name__
            raise Failure(
                f"{what} should be a tensor of shape {tuple(shape)}; yours is a {kind}"
                + (": is a return missing?" if value is None else ".")
            )
        if tuple(value.shape) != tuple(shape):
            raise Failure(
                f"{what} should have shape {tuple(shape)}; yours has {tuple(value.shape)}."
            )
        return value

    def close(self, actual: Any, expected: Tensor, message: str, tol: float = 1e-5) -> None:
        """Raise `Failure` unless the two agree (see `agree`)."""
        actual = self.tensor(actual, expected.shape)
        if not agree(actual, expected, tol):
            raise Failure(f"{message} {difference(actual, expected)}")


def agree(actual: Tensor, expected: Tensor, tol: float = 1e-5) -> bool:
    """Whether two tensors agree to ``tol`` relative to the largest expected entry (at least 1)."""
    if actual.shape != expected.shape:
        return False
    return bool(fitting(actual, expected[None], tol))


def fitting(actual: Tensor, candidates: Tensor, tol: float = 1e-5) -> Tensor:
    """Which candidates (K, …) a result (…) agrees with, each as in `agree`. → (K,) bool

    Where a candidate is infinite or NaN, the result has to be so too.
    """
    if candidates.shape[1:] != actual.shape:
        return torch.zeros(len(candidates), dtype=torch.bool)
    if not actual.numel():
        return torch.ones(len(candidates), dtype=torch.bool)
    a = actual.to(torch.float64).reshape(1, -1)
    e = candidates.to(torch.float64).reshape(len(candidates), -1)
    gap = (a - e).abs()
    size = e.abs()
    if not torch.isfinite(gap.sum()):
        same = (a == e) | (torch.isnan(a) & torch.isnan(e))
        gap = torch.where(same, 0.0, gap).nan_to_num(torch.inf)
        size = size.nan_to_num(0.0, posinf=0.0)
    return gap.amax(1) <= tol * size.amax(1).clamp(min=1.0)


def difference(actual: Tensor, expected: Tensor) -> str:
    """Where two tensors differ most, in words."""
    a, e = actual.to(torch.float64), expected.to(torch.float64)
    if not torch.isfinite(a).all() and torch.isfinite(e).all():
        return f"Yours has {int((~torch.isfinite(a)).sum())} entries that are NaN or infinite."
    gap = (a - e).abs().nan_to_num(0.0)
    # Not torch.unravel_index: its first call loads sympy, for a second or two.
    place, where = int(gap.argmax()), []
    for length in reversed(gap.shape):
        where.append(place % length)
        place //= length
    at = tuple(reversed(where))
    return (
        f"The largest difference is {float(gap.max()):.3g}, at [{', '.join(map(str, at))}]: "
        f"yours {float(a[at]):.4g}, expected {float(e[at]):.4g}."
    )
