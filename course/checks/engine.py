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
from collections.abc import Iterator, Sequence
from typing import Any

from course.checks.model import (
    Exercise,
    Failure,
    Finding,
    OutOfTime,
    Property,
    Trial,
    agree,
    difference,
    fitting,
)
from course.checks.report import Outcome, Report
from course.checks.source import refusal
from course.checks.subject import Subject, SubjectError

__all__ = [
    "Exercise",
    "Failure",
    "Finding",
    "OutOfTime",
    "Outcome",
    "Property",
    "Report",
    "Trial",
    "agree",
    "difference",
    "fitting",
    "grade",
    "select",
    "time_limit",
]

PROPERTY_SECONDS = 20  # one property of a learner's code may take this long, run locally
DIAGNOSIS_SECONDS = 30


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
    # Again and again: a bare `except` of the learner's may have caught the first.
    signal.setitimer(signal.ITIMER_REAL, 10 * seconds, seconds)
    signal.setitimer(signal.ITIMER_PROF, seconds, seconds / 4)
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
    return sorted(chosen, key=lambda p: exercise.names.index(p.function))


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
    except OutOfTime as late:
        return Outcome(p, False, late.message)
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
