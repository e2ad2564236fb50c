"""The bank: right answers in many styles, wrong ones from life. The gate that checks must pass.

``tests/checks/bank/<slug>/{right,wrong}/*.py`` in the repository; the wheel does not carry it. A
wrong answer's first lines say what should be found, a right one's what its style is::

    # mistake: divided-by-d-model          (or: general, where no own sentence is expected)
    # of: apply_rope                       (in exercises of several functions: the one it answers)
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import secrets
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import course
from course.checks import registry
from course.parallel import executor

OWN_SENTENCE_SHARE = 0.9  # of the wrong answers, at least, are told their own mistake


@dataclass(frozen=True)
class Entry:
    """One answer of the bank."""

    slug: str
    right: bool
    path: Path
    function: str | None
    mistakes: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.slug}/{'right' if self.right else 'wrong'}/{self.path.name}"


@dataclass
class Verdict:
    """What became of one answer over all its seeds."""

    entry: Entry
    ok: bool = True  # right: full marks each time; wrong: below full marks each time
    own: bool = True  # wrong: told its own mistake each time
    seconds: float = 0.0  # of processor time
    notes: list[str] = field(default_factory=list)


def folder() -> Path:
    """Where the bank is, in a clone.

    Raises:
        ValueError: there is no bank (an installed wheel has none).
    """
    path = Path(course.__file__).resolve().parent.parent / "tests" / "checks" / "bank"
    if not path.is_dir():
        raise ValueError(
            f"there is no bank at {path}: it is in the repository, not in the wheel; "
            "give --bank DIR"
        )
    return path


def entries(bank: Path, slug: str | None = None) -> list[Entry]:
    """All answers, or an exercise's.

    Raises:
        ValueError: a header is missing or names what does not exist.
    """
    found = list(_read(bank, [slug] if slug else list(registry.SLUGS)))
    if not found:
        raise ValueError(f"no answers under {bank / (slug or '')}")
    return found


def _read(bank: Path, slugs: list[str]) -> Iterator[Entry]:
    for slug in slugs:
        exercise = registry.get(slug)
        for kind in ("right", "wrong"):
            for path in sorted((bank / slug / kind).glob("*.py")):
                head = dict(re.findall(r"^# (mistake|style|of): (.+)$", path.read_text(), re.M))
                function = head.get("of")
                if function is not None and function not in exercise.names:
                    raise ValueError(f"{path}: {slug} has no function {function!r}")
                mistakes = tuple(m.strip() for m in head.get("mistake", "").split("|") if m.strip())
                if ("style" if kind == "right" else "mistake") not in head:
                    raise ValueError(f"{path}: no header line with its style or mistake")
                for m in mistakes:
                    if m not in exercise.mistakes and m not in BUILT_IN:
                        raise ValueError(f"{path}: {slug} has no mistake named {m!r}")
                yield Entry(slug, kind == "right", path, function, mistakes)


BUILT_IN = ("general", "missing", "imported-answer", "does-not-run")


def judge(entry: Entry, seeds: list[int]) -> Verdict:
    """Grade one answer with every seed."""
    from course.checks.cli import grade_source

    exercise = registry.get(entry.slug)
    verdict = Verdict(entry)
    source = entry.path.read_text()
    begin = time.process_time()
    for seed in seeds:
        with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = grade_source(
                exercise, source, str(entry.path), seed=seed, function=entry.function
            )
        full = report.score == report.max_score
        said = [f.mistake for f in report.findings]
        if entry.right and not full:
            verdict.ok = False
            lost = [f"{o.property.name}: {o.message}" for o in report.outcomes if not o.passed]
            verdict.notes.append(f"seed {seed} lost {'; '.join(lost)}")
        if not entry.right:
            if full:
                verdict.ok = False
                verdict.notes.append(f"seed {seed}: full marks")
            if not set(said) & set(entry.mistakes) or "general" in entry.mistakes:
                verdict.own = False
                text = report.findings[0].sentence if report.findings else ""
                verdict.notes.append(f"seed {seed}: told {', '.join(said) or 'nothing'} ({text})")
    verdict.seconds = time.process_time() - begin
    return verdict


def _work(task: tuple[Entry, list[int]]) -> Verdict:
    import logging

    import torch

    torch.set_num_threads(1)
    logging.getLogger("torch._dynamo").setLevel(logging.ERROR)  # recompiling is no news here
    return judge(*task)


def run(
    bank: Path, *, slug: str | None = None, seeds: list[int], wrong_seeds: list[int], jobs: int
) -> list[Verdict]:
    """Judge the bank in ``jobs`` processes."""
    tasks = [(e, seeds if e.right else wrong_seeds) for e in entries(bank, slug)]
    if jobs == 1:
        return [_work(task) for task in tasks]
    # Long ones first, so that no process is left with one at the end.
    order = sorted(range(len(tasks)), key=lambda i: -len(tasks[i][1]))
    with executor(jobs) as pool:
        done = list(pool.map(_work, [tasks[i] for i in order], chunksize=4))
    return [done[order.index(i)] for i in range(len(tasks))]


def summary(verdicts: list[Verdict], seconds: float) -> str:
    """The gate's figures, and every answer that needs a look."""
    wrong = [v for v in verdicts if not v.entry.right]
    right = [v for v in verdicts if v.entry.right]
    lines = []
    for slug in dict.fromkeys(v.entry.slug for v in verdicts):
        w = [v for v in wrong if v.entry.slug == slug]
        r = [v for v in right if v.entry.slug == slug]
        lines.append(
            f"{slug:<20} wrong {sum(v.ok for v in w):>3} of {len(w):>3} caught, "
            f"{sum(v.own for v in w):>3} with their own sentence; "
            f"right {sum(v.ok for v in r):>3} of {len(r):>3} passed"
        )
    for v in verdicts:
        if not v.ok:
            what = "RIGHT ANSWER LOST POINTS" if v.entry.right else "WRONG ANSWER PASSED"
            lines.append(f"{what}: {v.entry.name}: {'; '.join(v.notes[:2])}")
    general = [v for v in wrong if v.ok and not v.own]
    if general:
        lines.append(f"without their own sentence ({len(general)}):")
        lines += [f"  {v.entry.name}: {v.notes[0]}" for v in general]
    share = sum(v.own for v in wrong) / max(1, len(wrong))
    lines.append(
        f"{len(wrong)} wrong: {sum(v.ok for v in wrong)} caught, {share:.0%} with their "
        f"own sentence; {len(right)} right: {sum(v.ok for v in right)} passed; "
        f"{seconds:.0f} s"
    )
    return "\n".join(lines)


def gate(verdicts: list[Verdict]) -> bool:
    """Every wrong answer caught, nine of ten told why, every right one passed."""
    wrong = [v for v in verdicts if not v.entry.right]
    share = sum(v.own for v in wrong) / max(1, len(wrong))
    return all(v.ok for v in verdicts) and share >= OWN_SENTENCE_SHARE


def main(argv: list[str]) -> int:
    """``check bank``: returns 0 where the gate holds, else 1; 2 on bad usage."""
    parser = argparse.ArgumentParser(
        prog="python -m course check bank",
        description="Grade every answer of the bank; exit 0 where the gate holds.",
    )
    parser.add_argument("--exercise", help="only this slug")
    parser.add_argument(
        "--seeds", type=int, default=1, help="grade each right answer this often (default 1)"
    )
    parser.add_argument("--wrong-seeds", type=int, default=1, help="and each wrong one this often")
    parser.add_argument("--seed", type=int, help="the first seed (default: a fresh one)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--bank", type=Path, help="the bank's folder")
    try:
        args = parser.parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        if min(args.seeds, args.wrong_seeds, args.jobs) < 1:
            raise ValueError("--seeds, --wrong-seeds and --jobs must be at least 1")
        if args.exercise is not None:
            registry.get(args.exercise)
        bank = args.bank or folder()
        first = secrets.randbits(30) if args.seed is None else args.seed
        begin = time.perf_counter()
        verdicts = run(
            bank,
            slug=args.exercise,
            jobs=args.jobs,
            seeds=[first + i for i in range(args.seeds)],
            wrong_seeds=[first + i for i in range(args.wrong_seeds)],
        )
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"first seed {first}")
    print(summary(verdicts, time.perf_counter() - begin))
    return 0 if gate(verdicts) else 1
