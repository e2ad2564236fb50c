"""``python -m benchmarks [NAME …]``: measure, print, keep. ``make bench`` calls it.

Without names it runs every comparison but the expensive ones (grading, book-build), which run when
named or with ``--all``. An interrupted run goes on with the comparison it was in, when the same
command is given again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import peers, registry, report, results
from benchmarks.comparison import SCRATCH, CannotMeasure, Comparison
from course.experiments.provenance import git_state
from course.files import atomic_write_text

JOURNAL = SCRATCH / "run.json"


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    p.add_argument("names", nargs="*", metavar="NAME", help=", ".join(registry.NAMES))
    p.add_argument("--all", action="store_true", help="the expensive ones as well")
    p.add_argument("--rounds", type=int, metavar="N", help="how often each side runs")
    p.add_argument("--quick", action="store_true", help="tiny sizes; nothing is kept")
    p.add_argument("--json", type=Path, metavar="FILE", help="write this run's results here")
    p.add_argument("--install", action="store_true", help="install missing peers first")
    p.add_argument("--fresh", action="store_true", help="do not go on with an interrupted run")
    p.add_argument("--show", action="store_true", help="measure nothing, print the latest results")
    return p


class Line:
    """One line of progress, rewritten on a terminal and silent elsewhere but for the name."""

    def __init__(self) -> None:
        self.live = sys.stderr.isatty()
        self.prefix = ""

    def __call__(self, line: str) -> None:
        if self.live:
            print(f"\r\x1b[K{self.prefix}{line}"[:110], end="", file=sys.stderr, flush=True)

    def keep(self, line: str) -> None:
        """A line that stays."""
        print(f"\r\x1b[K{line}" if self.live else line, file=sys.stderr, flush=True)


def chosen(arguments: argparse.Namespace) -> list[Comparison]:
    """The comparisons that the command line names."""
    if arguments.names:
        return [registry.get(name) for name in arguments.names]
    return [c for c in map(registry.get, registry.NAMES) if c.default or arguments.all]


def finished_before(key: str, fresh: bool) -> list[str]:
    """What an interrupted run of the same command has done."""
    try:
        journal = json.loads(JOURNAL.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return list(journal["done"]) if journal.get("key") == key and not fresh else []


def measure_all(
    work: list[Comparison], arguments: argparse.Namespace, line: Line
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Each in turn; the results, and why the others have none."""
    done: list[dict[str, Any]] = []
    failed: dict[str, str] = {}
    commit = git_state()["commit"]
    key = json.dumps([[c.name for c in work], arguments.rounds, arguments.quick, commit])
    before = finished_before(key, arguments.fresh)
    finished = [name for name in before if results.read(name) is not None]
    if finished:
        line.keep(f"Going on after {', '.join(finished)} (--fresh begins anew).")
    for number, comparison in enumerate(work, start=1):
        name = comparison.name
        if name in finished and (kept := results.read(name)):
            done.append(kept)
            continue
        left = sum(c.expected() for c in work[number - 1 :])
        line.keep(f"[{number}/{len(work)}] {name} (about {max(left / 60, 0.1):.1f} min left)")
        line.prefix = f"  {name}: "
        try:
            peers.require(comparison.peers)
            result = comparison.measure(
                arguments.rounds, arguments.quick, line, fresh=arguments.fresh or arguments.quick
            )
        except CannotMeasure as error:
            failed[name] = str(error)
            line.keep(f"  not measured: {error}")
            continue
        except Exception as error:  # one comparison's failure is not the others'
            failed[name] = f"{type(error).__name__}: {error}"
            line.keep(f"  FAILED: {failed[name]}")
            continue
        done.append(result)
        line.keep(report.text(result))
        if not arguments.quick:
            results.write(result)
            finished.append(name)
            atomic_write_text(JOURNAL, json.dumps({"key": key, "done": finished}))
    JOURNAL.unlink(missing_ok=True)
    return done, failed


def print_table() -> None:
    """Every row, with the latest there is."""
    latest = {name: results.read(name) for name in registry.NAMES}
    for work, value, goal, reached in report.goals_table(latest):
        print(f"{reached:>4}  {work}: {value}" + (f" (goal: {goal})" if goal else ""))


def main(argv: list[str] | None = None) -> int:
    """0 where everything asked for was measured (reaching a goal is not asked for), else 1; 2."""
    arguments = parser().parse_args(argv)
    if arguments.rounds is not None and arguments.rounds < 1:
        print(f"error: --rounds must be at least 1, got {arguments.rounds}", file=sys.stderr)
        return 2
    try:
        if arguments.show:
            print_table()
            return 0
        work = chosen(arguments)
        if arguments.install:
            peers.install(sorted({p for c in work for p in c.peers}))
    except (KeyError, ValueError, CannotMeasure) as error:
        print(f"error: {error.args[0]}", file=sys.stderr)
        return 2
    start, line = time.monotonic(), Line()
    try:
        done, failed = measure_all(work, arguments, line)
    except KeyboardInterrupt:
        print("\nInterrupted; what is measured is kept. The same command goes on from here.",
              file=sys.stderr)  # fmt: skip
        return 130
    if arguments.json:
        atomic_write_text(arguments.json, json.dumps(done, indent=1, ensure_ascii=False) + "\n")
    if not arguments.quick:
        print_table()
    print(f"{len(done)} measured, {len(failed)} not, in {time.monotonic() - start:.0f} s",
          file=sys.stderr)  # fmt: skip
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
