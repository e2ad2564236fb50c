"""``python -m course check EXERCISE FILE.py [--json] [--seed N]`` and ``… check bank``."""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

from course.checks import registry
from course.checks.engine import (
    Exercise,
    Finding,
    Outcome,
    OutOfTime,
    Report,
    grade,
    select,
    time_limit,
)
from course.checks.notebook import as_text, fresh_seed
from course.checks.subject import LocalSubject, SubjectError

LOAD_SECONDS = 30


def main(argv: list[str]) -> int:
    """Returns 0 on full marks, 1 below, 2 on bad usage."""
    if argv and argv[0] == "bank":
        from course.checks import bank

        return bank.main(argv[1:])
    parser = argparse.ArgumentParser(
        prog="python -m course check",
        description="Grade a file with the checks of an exercise. Exit 0 only on full marks.",
        epilog=f"Exercises: {', '.join(registry.SLUGS)}. "
        "`check bank` runs the bank of right and wrong answers.",
    )
    parser.add_argument("exercise", help="a slug, or slug:function for one function of it")
    parser.add_argument("file", type=Path, help="a .py file, or a notebook")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--seed", type=int, help="draw the same random inputs again")
    try:
        args = parser.parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        exercise, function = registry.find(args.exercise)
        source = read_source(args.file)
        seed = fresh_seed() if args.seed is None else args.seed
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    # Nothing the submission prints may reach the report.
    with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = grade_source(exercise, source, str(args.file), seed=seed, function=function)
    if args.json:
        print(json.dumps(report.as_dict(), indent=2, ensure_ascii=False))
    else:
        print(as_text(report))
        print(f"\n(seed {report.seed}: --seed {report.seed} draws the same inputs again)")
    return 0 if report.score == report.max_score else 1


def grade_source(
    exercise: Exercise, source: str, filename: str, *, seed: int, function: str | None = None
) -> Report:
    """Execute a submission's source and grade it; one that does not run scores zero."""
    try:
        with time_limit(LOAD_SECONDS):
            subject = LocalSubject.from_source(source, filename)
    except (SubjectError, OutOfTime) as error:
        said = f"Your file does not run: {error}"
        outcomes = [Outcome(p, False, said) for p in select(exercise, function)]
        return Report(exercise.slug, seed, outcomes, [Finding("does-not-run", said)])
    return grade(exercise, subject, seed=seed, function=function)


def read_source(path: Path) -> str:
    """The Python source of a file, or of a notebook's code cells.

    Raises:
        ValueError: it cannot be read; the message names it.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ValueError(f"cannot read {path}: {reason}") from error
    if path.suffix != ".ipynb":
        return text
    try:
        cells: list[dict[str, Any]] = json.loads(text)["cells"]
        sources = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a notebook: {error}") from error
    return "\n\n".join(_without_checks(s) for s in sources)


def _without_checks(cell: str) -> str:
    """A cell without magics and without calls of the checks, which are no part of an answer."""
    lines = ["" if line.startswith(("%", "!")) else line for line in cell.splitlines()]
    try:
        tree = ast.parse("\n".join(lines))
    except SyntaxError:
        return "\n".join(lines)
    for node in tree.body:
        call = node.value if isinstance(node, ast.Expr | ast.Assign) else None
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in ("self_check", "points"):
            for i in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[i] = ""
    return "\n".join(lines)
