"""``python -m course records``: are the records current, and making them so.

``status`` says which are current, stale, missing or damaged; ``verify`` replays the first training
steps of stale ones and stamps those that come out the same; ``refresh`` measures again what is
missing or still stale.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from course.experiments.base import BUDGETS, Interrupted
from course.experiments.cli import run_work
from course.experiments.records import RecordError
from course.experiments.registry import EXPERIMENTS
from course.experiments.runner import Settings
from course.experiments.status import State, status, verify

__all__ = ["main"]


def main(argv: list[str]) -> int:
    """Run the command; returns 0, 1 where a record is not as it should be, 2 on bad input."""
    parser = argparse.ArgumentParser(prog="python -m course records", description=__doc__)
    commands = parser.add_subparsers(required=True)
    for name, function, summary in (
        ("status", _status, "which records are current, stale, missing or damaged"),
        ("verify", _verify, "replay the first steps of stale records and stamp those unchanged"),
        ("refresh", _refresh, "run what is missing or stale"),
    ):
        command = commands.add_parser(name, help=summary)
        command.add_argument("names", nargs="*", metavar="EXPERIMENT", help="default: all")
        command.add_argument("--budget", choices=BUDGETS, default="full")
        command.set_defaults(command=function)
        if name == "status":
            command.add_argument("--json", action="store_true")
            command.add_argument(
                "--strict",
                action="store_true",
                help="exit 1 where a record is stale and not accepted, or damaged",
            )
        else:
            command.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
        if name == "verify":
            command.add_argument("--all", action="store_true", help="replay current ones, too")
            command.add_argument(
                "--tolerance",
                type=float,
                metavar="X",
                help="relative difference of the losses that still counts as "
                "equal; default: 0 on the machine and versions of the "
                "record, 1e-4 elsewhere",
            )
        if name == "refresh":
            command.add_argument("--seeds", nargs="+", type=int, metavar="SEED")
            command.add_argument("--jobs", type=int, default=1, metavar="N")
            command.add_argument("--scheduler", metavar="ADDRESS")
    arguments = parser.parse_args(argv)
    unknown = [name for name in arguments.names if name not in EXPERIMENTS]
    if unknown:
        print(
            f"{parser.prog}: no experiment {unknown[0]!r}; there are {', '.join(EXPERIMENTS)}",
            file=sys.stderr,
        )
        return 2
    try:
        return int(arguments.command(arguments))
    except (RecordError, ValueError, ModuleNotFoundError, ConnectionError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, Interrupted) as error:
        said = str(error) or "stopped; run it again to go on from the checkpoint"
        print(f"\n{parser.prog}: {said}", file=sys.stderr)
        return 130


def _status(arguments: argparse.Namespace) -> int:
    states = status(arguments.names or None, arguments.budget)
    if arguments.json:
        print(
            json.dumps(
                {"counts": _counts(states), "records": [asdict(s) for s in states]}, indent=1
            )
        )
    else:
        for state in states:
            if state.state != "current":
                print(f"{state.state:<9} {state.name}{f': {state.reason}' if state.reason else ''}")
        print(_summary(states))
    bad = any(s.state == "damaged" or (s.state == "stale" and not s.accepted) for s in states)
    return 1 if arguments.strict and bad else 0


def _counts(states: list[State]) -> dict[str, int]:
    return {
        name: sum(state.state == name for state in states)
        for name in ("current", "stale", "missing", "damaged")
    }


def _summary(states: list[State]) -> str:
    return ", ".join(f"{count} {name}" for name, count in _counts(states).items())


def _verify(arguments: argparse.Namespace) -> int:
    left = 0
    states = status(arguments.names or None, arguments.budget)
    wanted = [s for s in states if s.state == "stale" or (arguments.all and s.state == "current")]
    for number, state in enumerate(wanted, start=1):
        verdict = verify(state, arguments.budget, arguments.device, arguments.tolerance)
        left += not verdict.verified
        print(
            f"[{number}/{len(wanted)}] {state.name}: "
            f"{'verified' if verdict.verified else 'stale'}: {verdict.message}",
            flush=True,
        )
    print(_summary(status(arguments.names or None, arguments.budget)))
    return 1 if left else 0


def _refresh(arguments: argparse.Namespace) -> int:
    states = status(arguments.names or None, arguments.budget, arguments.seeds)
    # By seed first, as every sweep: one seed of everything before a second of anything.
    wanted = sorted(
        (s for s in states if s.state != "current" and not s.accepted), key=lambda s: s.seed
    )
    return run_work(
        [(s.experiment, s.row, s.seed) for s in wanted],
        Settings(arguments.budget, arguments.device, wait=True),
        arguments.jobs,
        arguments.scheduler,
    )
