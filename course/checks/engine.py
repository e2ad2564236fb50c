"""Exercises, properties, named mistakes: what is tried, what it is worth, and what is said.

An `Exercise` is a list of properties, each with points, and a list of *diagnosers* that look for
named mistakes once something failed. A named mistake has one sentence, the one a learner reads.
Most mistakes are found by running a *wrong oracle* on the learner's own parameters: where the
learner's result equals it on every input tried, and differs from the right one, that mistake was
made.
"""

from __future__ import annotations

import contextlib
import secrets
import signal
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from course.checks.counterexample import CounterExample
from course.checks.source import refusal
from course.checks.subject import Subject, SubjectError

PROPERTY_SECONDS = 20  # one property of a learner's code may take this long, run locally
DIAGNOSIS_SECONDS = 30


class Failure(Exception):
    """A property does not hold. Carries the sentence, and perhaps a counter-example."""

    def __init__(self, message: str, example: CounterExample | None = None) -> None:
        super().__init__(message)
        self.message, self.example = message, example


class OutOfTime(Failure):
    """The learner's code took too long."""


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
    a, e = actual.to(torch.float64), expected.to(torch.float64)
    odd = ~torch.isfinite(e)
    if not torch.equal(a[odd].nan_to_num(7.5), e[odd].nan_to_num(7.5)):
        return False
    a, e = a[~odd], e[~odd]
    if not a.numel():
        return True
    if not torch.isfinite(a).all():
        return False
    return bool((a - e).abs().max() <= tol * max(1.0, float(e.abs().max())))


def difference(actual: Tensor, expected: Tensor) -> str:
    """Where two tensors differ most, in words."""
    a, e = actual.to(torch.float64), expected.to(torch.float64)
    if not torch.isfinite(a).all() and torch.isfinite(e).all():
        return f"Yours has {int((~torch.isfinite(a)).sum())} entries that are NaN or infinite."
    gap = (a - e).abs().nan_to_num(0.0)
    where = torch.unravel_index(gap.argmax(), gap.shape) if gap.dim() else ()
    at = ", ".join(str(int(i)) for i in where)
    return (
        f"The largest difference is {float(gap.max()):.3g}, at [{at}]: yours {float(a[where]):.4g},"
        f" expected {float(e[where]):.4g}."
    )


@dataclass
class Outcome:
    """What became of one property."""

    property: Property
    passed: bool
    message: str
    example: CounterExample | None = None


@dataclass
class Report:
    """A graded submission."""

    exercise: str
    seed: int
    outcomes: list[Outcome]
    findings: list[Finding]

    @property
    def score(self) -> int:
        return sum(o.property.points for o in self.outcomes if o.passed)

    @property
    def max_score(self) -> int:
        return sum(o.property.points for o in self.outcomes)

    @property
    def example(self) -> CounterExample | None:
        """The first counter-example, if any."""
        return next((o.example for o in self.outcomes if o.example is not None), None)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON. ``points`` is what a check is worth, ``earned`` what it got."""
        example = self.example
        return {
            "exercise": self.exercise,
            "score": self.score,
            "max_score": self.max_score,
            "checks": [
                {
                    "name": o.property.name,
                    "passed": o.passed,
                    "points": o.property.points,
                    "earned": o.property.points if o.passed else 0,
                    "message": o.message,
                }
                for o in self.outcomes
            ],
            "diagnosis": [f.sentence for f in self.findings],
            "mistakes": [f.mistake for f in self.findings],
            "counter_example": example.as_text() if example else None,
            "seed": self.seed,
        }


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `OutOfTime` after ``seconds`` of work, or ten times as long by the clock.

    Work is this process's own processor time, so that a busy machine makes nobody fail. Does
    nothing where this thread may not set an alarm, or where somebody else has set one: then theirs
    is the limit.
    """
    usable = hasattr(signal, "setitimer") and (
        threading.current_thread() is threading.main_thread()
    )
    if not usable or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return

    def ring(signum: int, frame: Any) -> None:
        raise OutOfTime(f"Your code took longer than {seconds:g} seconds here: an endless loop?")

    before = {s: signal.signal(s, ring) for s in (signal.SIGALRM, signal.SIGPROF)}
    signal.setitimer(signal.ITIMER_REAL, 10 * seconds)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for s, handler in before.items():
            signal.signal(s, handler)


def grade(
    exercise: Exercise,
    subject: Subject,
    *,
    seed: int | None = None,
    function: str | None = None,
    only: Sequence[str] | None = None,
    extra: Sequence[Property] = (),
    diagnose: bool = True,
) -> Report:
    """Try every property of an exercise on a subject.

    Args:
        seed: where the random inputs come from; a fresh one unless given. It is in the report.
        function: only the properties of this function.
        only: only the properties with these names.
        extra: further properties (a hidden test may add some).
        diagnose: look for named mistakes where something failed.

    Raises:
        ValueError: ``function`` or ``only`` names nothing of this exercise.
    """
    seed = secrets.randbits(31) if seed is None else seed
    chosen = select(exercise, function, only)
    chosen += list(extra)
    outcomes: list[Outcome] = []
    blocked: dict[str, Finding] = {}
    for name in dict.fromkeys(p.function for p in chosen):
        finding = _obstacle(exercise, subject, name)
        if finding is not None:
            blocked[name] = finding
    for p in chosen:
        if p.function in blocked:
            outcomes.append(Outcome(p, False, blocked[p.function].sentence))
        else:
            outcomes.append(_try(exercise, subject, p, seed))
    findings = list(dict.fromkeys(blocked.values()))
    failed = {o.property.name for o in outcomes if not o.passed}
    if diagnose and failed:
        wanted = {o.property.function for o in outcomes if not o.passed} - set(blocked)
        findings += _diagnose(exercise, subject, wanted, failed, seed)
        if not findings:
            first = next(o for o in outcomes if not o.passed)
            findings = [Finding("general", first.message)]
    return Report(exercise.slug, seed, outcomes, findings)


def select(
    exercise: Exercise, function: str | None = None, only: Sequence[str] | None = None
) -> list[Property]:
    """The properties of a function, or those named.

    Raises:
        ValueError: there is no such function or property; the message lists those there are.
    """
    if function is not None and function not in exercise.names:
        raise ValueError(f"{exercise.slug} has no {function!r}; it has {', '.join(exercise.names)}")
    chosen = [p for p in exercise.properties if function in (None, p.function)]
    if only is not None:
        known = {p.name for p in chosen}
        for name in only:
            if name not in known:
                raise ValueError(
                    f"{exercise.slug} has no check {name!r}; it has {', '.join(sorted(known))}"
                )
        chosen = [p for p in chosen if p.name in only]
    return chosen


def _obstacle(exercise: Exercise, subject: Subject, name: str) -> Finding | None:
    """Why nothing of ``name`` can be tried: it is missing, or it is the answer imported."""
    info = subject.ask([{"op": "describe", "name": name}])[0]["value"]
    if info["kind"] in ("missing", "other"):
        there = ", ".join(info["defined"]) or "nothing"
        said = "is not a function or class" if info["kind"] == "other" else "is not defined"
        return Finding("missing", f"`{name}` {said}: your code defines {there}.")
    sentence = refusal(subject, name, info, exercise.refused, exercise.allowed)
    return Finding("imported-answer", sentence) if sentence else None


def _try(exercise: Exercise, subject: Subject, p: Property, seed: int) -> Outcome:
    try:
        with time_limit(PROPERTY_SECONDS):
            p.run(Trial(exercise, subject, seed, p.name))
    except Failure as failure:
        return Outcome(p, False, failure.message, failure.example)
    except SubjectError as error:
        return Outcome(p, False, f"Your code raised {error}")
    except Exception as error:  # a learner's odd result must not stop the others
        return Outcome(
            p,
            False,
            f"This check could not make sense of your result ({type(error).__name__}: {error}).",
        )
    return Outcome(p, True, p.title)


def _diagnose(
    exercise: Exercise, subject: Subject, functions: set[str], failed: set[str], seed: int
) -> list[Finding]:
    found: dict[str, Finding] = {}
    try:
        with time_limit(DIAGNOSIS_SECONDS):
            for function, run in exercise.diagnosers:
                if function not in functions:
                    continue
                try:
                    t = Trial(exercise, subject, seed, f"diagnosis of {function}")
                    for finding in run(t, failed):
                        found.setdefault(finding.mistake, finding)
                except OutOfTime:
                    raise
                except (
                    Failure,
                    SubjectError,
                    RuntimeError,
                    ValueError,
                    IndexError,
                    TypeError,
                    KeyError,
                    AttributeError,
                ):
                    continue  # this diagnoser cannot read the result; the failed checks remain
    except OutOfTime:
        pass  # what was found so far is still true
    return list(found.values())
