"""What the cells of an exercise notebook call: ``self_check`` for the learner, ``points`` to grade.

Both run the same checks. In the grader's judge the learner's names are proxies (see
`course.checks.subject.as_subject`), which changes nothing here.
"""

from __future__ import annotations

import html
import os
import secrets
from collections.abc import Callable, Sequence
from typing import Any

from course.checks import registry
from course.checks.engine import Exercise, Property, Report, Trial, grade
from course.checks.subject import LocalSubject, Subject, as_subject

# Called with every report that `points` makes: the grader keeps them as the record of a grade.
LISTENERS: list[Callable[[dict[str, Any]], None]] = []
SEED_VARIABLE = "COURSE_CHECK_SEED"  # set it to grade with the inputs of an earlier grading


def fresh_seed() -> int:
    """A new seed, or the one in ``COURSE_CHECK_SEED`` (an appeal re-runs a grade with it).

    Raises:
        ValueError: the variable holds no whole number.
    """
    given = os.environ.get(SEED_VARIABLE)
    if not given:
        return secrets.randbits(31)
    try:
        return int(given)
    except ValueError:
        raise ValueError(f"{SEED_VARIABLE} must be a whole number, got {given!r}") from None


def subject_of(exercise: Exercise, things: Sequence[Any], function: str | None) -> Subject:
    """One subject for the objects a cell hands over, in the order of the exercise's names.

    Raises:
        TypeError: their number is not that of the names.
    """
    names = exercise.names if function is None else (function,)
    if len(things) == 1 and isinstance(things[0], Subject):
        return things[0]
    if len(things) != len(names):
        raise TypeError(
            f"{exercise.slug} wants {len(names)} object(s), in this order: "
            f"{', '.join(names)}; got {len(things)}"
        )
    first = as_subject(things[0], names[0])
    if not isinstance(first, LocalSubject) or len(things) == 1:
        return first
    return LocalSubject(dict(zip(names, things, strict=True)), first.source)


class SelfCheck:
    """A report as a notebook shows it: a table, the diagnosis, the smallest counter-example."""

    def __init__(self, report: Report, title: str) -> None:
        self.report, self.title = report, title

    def __repr__(self) -> str:
        return as_text(self.report)

    def _repr_html_(self) -> str:
        return as_html(self.report, self.title)


def self_check(slug: str, *things: Any, seed: int | None = None) -> SelfCheck:
    """Check your answer: ``self_check("head", Head)``.

    Args:
        slug: the exercise, or ``"slug:function"`` for one function of it.
        things: your functions or classes, in the order the exercise names them.
        seed: where the random inputs come from; fresh ones each time unless given.
    """
    exercise, function = registry.find(slug)
    subject = subject_of(exercise, things, function)
    report = grade(
        exercise, subject, seed=fresh_seed() if seed is None else seed, function=function
    )
    return SelfCheck(report, exercise.title)


def points(
    slug: str,
    *things: Any,
    checks: Sequence[str] | None = None,
    trials: int = 1,
    extra: Sequence[Callable[[Trial], None]] = (),
    quiet: bool = False,
) -> float:
    """Grade some properties and return the points earned, as nbgrader's partial credit.

    Args:
        slug: the exercise, or ``"slug:function"``.
        things: the learner's functions or classes.
        checks: names of the properties this cell is about; all unless given.
        trials: how often, with new inputs each time; a property must hold every time.
        extra: further functions of a `Trial` that raise `Failure`; if one does, the cell earns
            nothing. Their docstrings name them.
        quiet: print nothing.
    """
    exercise, function = registry.find(slug)
    subject = subject_of(exercise, things, function)
    seed = fresh_seed()
    further = [
        Property(
            f"extra-{i}", (f.__doc__ or f.__name__).strip(), 0, function or exercise.names[0], f
        )
        for i, f in enumerate(extra)
    ]
    earned: float | None = None
    for k in range(trials):
        report = grade(
            exercise,
            subject,
            seed=seed + k,
            function=function,
            only=checks,
            extra=further if k == 0 else (),
        )
        for listener in LISTENERS:
            listener(report.as_dict())
        lost_extra = any(
            o.property.name.startswith("extra-") and not o.passed for o in report.outcomes
        )
        now = 0.0 if lost_extra else float(report.score)
        earned = now if earned is None else min(earned, now)
        if not quiet and (now < report.max_score or k == trials - 1):
            print(as_text(report))
        if now < report.max_score:
            break
    return earned or 0.0


def as_text(report: Report) -> str:
    """A report as plain lines."""
    lines = [f"{report.exercise}: {report.score} of {report.max_score} points"]
    for o in report.outcomes:
        mark = "✓" if o.passed else "✗"
        worth = f" ({o.property.points})" if o.property.points else ""
        lines.append(f"  {mark} {o.property.name}{worth}: {o.message}")
    if report.findings:
        lines += ["", "What it looks like:"]
        lines += [f"  • {f.sentence}" for f in report.findings]
    if report.example is not None:
        lines += ["", "The smallest input found where it differs:", report.example.as_text()]
    return "\n".join(lines)


_STYLE = """<style>
.course-check table{border-collapse:collapse;margin:.5em 0}
.course-check caption{text-align:left;font-weight:600;padding:.2em 0}
.course-check th,.course-check td{text-align:left;padding:.25em .7em;vertical-align:top;
border-top:1px solid color-mix(in srgb,currentColor 25%,transparent)}
.course-check .course-no,.course-check .course-wrong
{color:var(--course-wrong,#b91c1c);font-weight:600}
@media (prefers-color-scheme:dark){.course-check .course-no,.course-check .course-wrong
{color:var(--course-wrong,#ff8a8a)}}
.course-example{margin:.5em 0}.course-example div{display:flex;flex-wrap:wrap;gap:1.2em}
.course-example td{text-align:right;font-variant-numeric:tabular-nums}
</style>"""


def as_html(report: Report, title: str) -> str:
    """A report as an HTML table that a screen reader can follow."""
    rows = ""
    for o in report.outcomes:
        said = "passed" if o.passed else "not yet"
        mark = f"{'✓' if o.passed else '✗'} {said}"
        css = "course-yes" if o.passed else "course-no"
        rows += (
            f'<tr><th scope="row">{html.escape(o.property.name)}</th>'
            f'<td class="{css}">{mark}</td><td>{o.property.points if o.passed else 0} / '
            f"{o.property.points}</td><td>{html.escape(o.message)}</td></tr>"
        )
    caption = f"{html.escape(title)}: {report.score} of {report.max_score} points"
    parts = [
        _STYLE,
        f"<table><caption>{caption}</caption><thead><tr>"
        '<th scope="col">Check</th><th scope="col">Result</th><th scope="col">Points</th>'
        f'<th scope="col">What was seen</th></tr></thead><tbody>{rows}</tbody></table>',
    ]
    if report.findings:
        items = "".join(f"<li>{html.escape(f.sentence)}</li>" for f in report.findings)
        parts.append(f"<p><strong>What it looks like</strong></p><ul>{items}</ul>")
    if report.example is not None:
        parts.append(
            "<p><strong>The smallest input found where it differs</strong></p>"
            + report.example.as_html()
        )
    return f'<div class="course-check" role="group">{"".join(parts)}</div>'
