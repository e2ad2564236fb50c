"""``python -m course experiments``: list, run and show what the course measures."""

from __future__ import annotations

import argparse
import json
import sys
import time

from course.experiments.base import BUDGETS, Interrupted
from course.experiments.records import RecordError, record_path, records_dir
from course.experiments.registry import EXPERIMENTS, get, pieces_of_work
from course.experiments.runner import Outcome, Settings, run_all
from course.experiments.table import load_records

__all__ = ["main", "run_work"]


def main(argv: list[str]) -> int:
    """Run the command; returns 0, 1 where a row failed, 2 on wrong arguments."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    try:
        return int(arguments.command(arguments))
    except BrokenPipeError:  # the reader of the output (head, a pager) has seen enough
        return 0
    except (KeyError, ValueError, RecordError, ModuleNotFoundError, ConnectionError) as error:
        message = error.args[0] if isinstance(error, KeyError) else error
        print(f"{parser.prog}: {message}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, Interrupted) as error:
        said = str(error) or "stopped; run it again to go on from the checkpoint"
        print(f"\n{parser.prog}: {said}", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m course experiments", description=__doc__)
    commands = parser.add_subparsers(required=True)

    listing = commands.add_parser("list", help="the experiments and their rows")
    listing.add_argument("--json", action="store_true")
    listing.set_defaults(command=_list)

    run = commands.add_parser("run", help="measure rows into records")
    run.add_argument("names", nargs="+", metavar="NAME", help="experiments, or all")
    run.add_argument("--rows", nargs="+", metavar="ROW")
    run.add_argument(
        "--seeds",
        nargs="+",
        type=int,
        metavar="SEED",
        help="default: as many as the full table has",
    )
    run.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    run.add_argument(
        "--budget",
        choices=BUDGETS,
        default="full",
        help="quick: a small trial, kept in the cache and never shown as a result",
    )
    run.add_argument("--jobs", type=int, default=1, metavar="N", help="rows at once")
    run.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler instead of --jobs")
    run.add_argument(
        "--missing",
        action="store_true",
        help="only rows without any record (a stale one is left as it is)",
    )
    run.add_argument("--force", action="store_true", help="measure again what is recorded already")
    run.add_argument(
        "--wait",
        action="store_true",
        help="wait for a row that another process is running instead of skipping it",
    )
    run.set_defaults(command=_run)

    show = commands.add_parser("show", help="an experiment's table of records")
    show.add_argument("name", metavar="NAME")
    show.add_argument("--budget", choices=BUDGETS, default="full")
    show.add_argument("--json", action="store_true")
    show.set_defaults(command=_show)
    return parser


def _list(arguments: argparse.Namespace) -> int:
    if arguments.json:
        print(
            json.dumps(
                {
                    "experiments": [
                        {
                            "name": e.name,
                            "title": e.title,
                            "claims": list(e.claims),
                            "seeds": e.seeds,
                            "rows": [
                                {
                                    "name": r.name,
                                    "label": r.label,
                                    "config": dict(r.config),
                                    "published": dict(r.published),
                                }
                                for r in e.rows
                            ],
                        }
                        for e in EXPERIMENTS.values()
                    ]
                },
                indent=1,
            )
        )
        return 0
    for experiment in EXPERIMENTS.values():
        print(f"{experiment.name}: {experiment.title}")
        for row in experiment.rows:
            print(f"    {row.name:<26} {row.label}")
    return 0


def _run(arguments: argparse.Namespace) -> int:
    names = list(EXPERIMENTS) if arguments.names == ["all"] else arguments.names
    if arguments.seeds is not None and min(arguments.seeds) < 0:
        raise ValueError(f"a seed is a whole number from 0, got {min(arguments.seeds)}")
    work = [
        (experiment.name, row.name, seed)
        for experiment, row, seed in pieces_of_work(names, arguments.rows, arguments.seeds)
    ]
    if arguments.missing:
        work = [piece for piece in work if not record_path(*piece, arguments.budget).exists()]
    settings = Settings(arguments.budget, arguments.device, arguments.force, arguments.wait)
    return run_work(work, settings, arguments.jobs, arguments.scheduler)


def run_work(
    work: list[tuple[str, str, int]],
    settings: Settings,
    jobs: int = 1,
    scheduler: str | None = None,
) -> int:
    """Run pieces of work and say what became of each; 1 where any failed, else 0."""
    start, done, measured = time.monotonic(), 0, 0.0

    def report(outcome: Outcome) -> None:
        nonlocal done, measured
        done += 1
        took = f" in {_duration(outcome.seconds)}" if outcome.status == "recorded" else ""
        message = f" {outcome.message}" if outcome.message else ""
        measured += 1 if outcome.status == "recorded" else 0
        left = ""
        if measured and done < len(work):
            rate = (time.monotonic() - start) / measured
            left = f"; about {_duration(rate * (len(work) - done))} for the {len(work) - done} left"
        print(
            f"[{done}/{len(work)}] {outcome.name}: {outcome.status}{took}{message}{left}",
            flush=True,
        )

    outcomes = run_all(work, settings, jobs, scheduler, report)
    counts = {
        status: sum(o.status == status for o in outcomes)
        for status in ("recorded", "present", "held", "failed")
    }
    print(
        ", ".join(f"{count} {status}" for status, count in counts.items() if count)
        or "nothing to run",
        f"in {_duration(time.monotonic() - start)};",
        f"records in {records_dir(settings.budget)}",
    )
    return 1 if counts["failed"] else 0


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def _show(arguments: argparse.Namespace) -> int:
    get(arguments.name)
    records = load_records(arguments.name, arguments.budget)
    print(json.dumps(records.as_dict(), indent=1) if arguments.json else records.text())
    return 0
