"""Run the course's notebooks: ``python book/_ext/execute.py [NOTEBOOK or FOLDER ...]``.

Without names it runs every notebook of ``book/``. Notebooks run beside each other, one process
each; their executed copies go to ``_build/executed/``, and the book is built from these. A copy
that is up to date is not made again, so an interrupted run goes on where it stopped. A notebook
that raises is reported with its cell, source and traceback; the others still run, and the exit
status is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
for _folder in (Path(__file__).resolve().parent, ROOT):
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))

from course_book import keys  # noqa: E402
from course_book.corpus import CorpusState, find_corpus  # noqa: E402
from course_book.lock import building  # noqa: E402
from course_book.run_one import CELL_TIMEOUT, Job, Outcome, run  # noqa: E402

from course.parallel import available_cores, executor  # noqa: E402

# Without a measured time of its own a notebook is expected to take this long, seconds.
UNKNOWN_SECONDS = 20.0


def find_notebooks(names: Iterable[str | Path], root: Path) -> list[Path]:
    """The notebooks that ``names`` mean: files, or folders searched to their bottom.

    Raises
    ------
    FileNotFoundError
        If a name is neither a notebook nor a folder with one, or lies outside the repository.
    """
    found: list[Path] = []
    for name in names:
        path = (root / name).resolve()
        if not path.is_relative_to(root.resolve()):
            raise FileNotFoundError(f"{name} is not inside {root}")
        inside = sorted(path.rglob("*.ipynb")) if path.is_dir() else [path]
        inside = [p for p in inside if ".ipynb_checkpoints" not in p.parts]
        if not inside or not inside[0].is_file() or inside[0].suffix != ".ipynb":
            raise FileNotFoundError(f"{name}: no notebook there")
        found += inside
    return list(dict.fromkeys(found))


def _expected(job: Job) -> float:
    """Seconds the notebook took last time, whatever has changed since."""
    seconds = keys.stored(job.target).get("seconds", UNKNOWN_SECONDS)
    return float(seconds)


class _Progress:
    """One line that is rewritten on a terminal, one line a notebook elsewhere."""

    def __init__(self, jobs: Sequence[Job], workers: int) -> None:
        self.total = len(jobs)
        self.width = max((len(job.name) for job in jobs), default=0)
        self.expected = {job.name: _expected(job) for job in jobs}
        self.workers = workers
        self.done: list[Outcome] = []
        self.started = time.monotonic()
        self.live = sys.stderr.isatty()

    def left(self) -> float:
        """Seconds still to wait, from the last run's times corrected by this run's pace."""
        finished = {o.name for o in self.done}
        waiting = sum(s for name, s in self.expected.items() if name not in finished)
        was = sum(self.expected[o.name] for o in self.done)
        pace = sum(o.seconds for o in self.done) / was if was else 1.0
        running = time.monotonic() - self.started - sum(o.seconds for o in self.done) / self.workers
        return max(0.0, waiting * pace / self.workers - max(0.0, running))

    def show(self, line: str = "") -> None:
        if line:
            print(f"\r\x1b[K{line}" if self.live else line, file=sys.stderr, flush=True)
        if self.live:
            n = len(self.done)
            filled = round(24 * n / self.total)
            bar = "█" * filled + "░" * (24 - filled)
            text = f"{bar} {n} of {self.total} notebooks, about {self.left():.0f} s left"
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def finish(self, outcome: Outcome) -> None:
        self.done.append(outcome)
        word = "FAILED" if outcome.failure else f"{outcome.seconds:5.1f} s"
        count = f"[{len(self.done)}/{self.total}]"
        rest = "" if self.live else f"  about {self.left():.0f} s left"
        self.show(f"  {count} {outcome.name:<{self.width}}  {word}{rest}")

    def close(self) -> None:
        if self.live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _run_all(pool: Executor, jobs: Sequence[Job], progress: _Progress) -> list[Outcome]:
    # the longest first: the last one to start should be short
    ordered = sorted(jobs, key=_expected, reverse=True)
    names: dict[Future[Outcome], str] = {pool.submit(run, job): job.name for job in ordered}
    pending = set(names)
    outcomes = []
    progress.show()
    while pending:
        done, pending = wait(pending, timeout=1.0, return_when=FIRST_COMPLETED)
        for future in done:
            error = future.exception()
            if error is not None:  # the process itself died: no memory, a signal
                outcome = Outcome(names[future], 0.0, f"{names[future]}: {error!r}")
            else:
                outcome = future.result()
            outcomes.append(outcome)
            progress.finish(outcome)
        progress.show()
    progress.close()
    return outcomes


def execute(
    notebooks: Sequence[Path],
    root: Path = ROOT,
    *,
    jobs: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    corpus: CorpusState | None = None,
    force: bool = False,
    timeout: int = CELL_TIMEOUT,
    out: Path | None = None,
) -> list[Outcome]:
    """Run what is not up to date; return one outcome for each notebook that ran.

    Parameters
    ----------
    notebooks
        Paths inside ``root``.
    jobs
        Notebooks at once; by default as many as there are cores. Each gets cores / jobs threads.
    parameters
        For the cell tagged ``parameters``: ``budget``, ``device``, ``seed``.
    corpus
        The corpus the notebooks will find; looked for once here where it is not given, so that
        a network that hangs costs its time once and not once a notebook.
    force
        Run also what is up to date.
    """
    root = root.resolve()
    parameters = dict(parameters or {})
    state = corpus or find_corpus()
    cores = available_cores()
    workers = max(1, min(jobs or cores, len(notebooks) or 1))
    todo = []
    for notebook in notebooks:
        notebook = notebook.resolve()
        wanted = keys.notebook_keys(notebook, root, parameters, state.key)
        target = keys.executed_path(notebook, root, out)
        if not force and keys.is_fresh(target, wanted):
            continue
        threads = max(1, cores // workers)
        extra = {"notice": state.notice} if state.notice else {}
        todo.append(Job(root, notebook, target, parameters, wanted, threads, timeout, extra))
    up_to_date = len(notebooks) - len(todo)
    if not todo:
        print(f"{up_to_date} notebooks, all up to date.", file=sys.stderr)
        return []
    workers = min(workers, len(todo))
    kept = f" ({up_to_date} up to date)" if up_to_date else ""
    said = f"Running {len(todo)} notebooks{kept}, {workers} at once"
    print(f"{said}; budget {parameters.get('budget', 'quick')}.", file=sys.stderr)
    os.environ.update(state.environment)
    with executor(workers) as pool:
        return _run_all(pool, todo, _Progress(todo, workers))


def report(outcomes: Sequence[Outcome]) -> int:
    """Print what failed; 1 if anything did."""
    failures = [o for o in outcomes if o.failure]
    for outcome in failures:
        print(f"\n{'─' * 72}\nNotebook failed: {outcome.failure}", file=sys.stderr)
        if outcome.left:
            print(f"\nWhat it had reached: {outcome.left}", file=sys.stderr)
    if failures:
        names = ", ".join(o.name for o in failures)
        print(f"\n{len(failures)} of {len(outcomes)} notebooks failed: {names}", file=sys.stderr)
    return int(bool(failures))


def parser(description: str | None = None) -> argparse.ArgumentParser:
    """The options that the runner and the build have in common."""
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--jobs", type=int, metavar="N", help="notebooks at once (default: all cores)")
    p.add_argument("--budget", choices=["quick", "full"], default="quick")
    p.add_argument("--device", default="auto", help="auto, cpu, cuda, mps (default: auto)")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--force", action="store_true", help="run also what is up to date")
    p.add_argument("--timeout", type=int, default=CELL_TIMEOUT, help="seconds a cell may take")
    p.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    return p


def chosen_parameters(args: argparse.Namespace) -> dict[str, Any]:
    """The options as the notebooks' parameters."""
    return {"budget": args.budget, "device": args.device, "seed": args.seed}


def main(argv: list[str] | None = None) -> int:
    p = parser(__doc__)
    p.add_argument("names", nargs="*", default=["book"], metavar="NOTEBOOK or FOLDER")
    p.add_argument("--json", action="store_true", help="print the outcomes as JSON")
    args = p.parse_args(argv)
    if args.jobs is not None and args.jobs < 1:
        p.error(f"--jobs must be at least 1, not {args.jobs}")
    try:
        notebooks = find_notebooks(args.names, args.root)
    except FileNotFoundError as error:
        p.error(str(error))
    with building(args.root):
        outcomes = execute(
            notebooks,
            args.root,
            jobs=args.jobs,
            parameters=chosen_parameters(args),
            force=args.force,
            timeout=args.timeout,
        )
    if args.json:
        print(json.dumps([vars(o) for o in outcomes]))
    return report(outcomes)


if __name__ == "__main__":
    try:
        status = main()
    except KeyboardInterrupt:
        print("\nInterrupted; what is finished is kept. Run it again to go on.", file=sys.stderr)
        status = 130
    sys.exit(status)
