"""``python -m course claims``: every claim, published and measured, with its verdict."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap

from course.claims.base import DOES_NOT_HOLD, VERDICTS, Entry
from course.claims.ledger import ledger
from course.experiments import RecordError

__all__ = ["main"]


def main(argv: list[str]) -> int:
    """Print the ledger; 0, or 1 with ``--strict`` where a claim does not hold, 2 on bad input."""
    parser = argparse.ArgumentParser(prog="python -m course claims", description=__doc__)
    parser.add_argument("ids", nargs="*", metavar="ID", help="A1 … A36, B1 … B8, C1 … C14")
    parser.add_argument("--json", action="store_true", help='a list under "claims"')
    parser.add_argument("--strict", action="store_true", help="exit 1 where a claim does not hold")
    arguments = parser.parse_args(argv)
    try:
        entries = ledger(tuple(arguments.ids) or None)
    except (KeyError, RecordError) as error:
        print(f"{parser.prog}: {error.args[0]}", file=sys.stderr)
        return 2
    if arguments.json:
        print(
            json.dumps(
                {"claims": [entry.as_dict() for entry in entries], "counts": _counts(entries)},
                indent=1,
                ensure_ascii=False,
            )
        )
    else:
        for entry in entries:
            print(_lines(entry))
        print(", ".join(f"{n} {verdict}" for verdict, n in _counts(entries).items() if n))
    failed = any(entry.verdict == DOES_NOT_HOLD for entry in entries)
    return 1 if arguments.strict and failed else 0


def _counts(entries: tuple[Entry, ...]) -> dict[str, int]:
    return {verdict: sum(entry.verdict == verdict for entry in entries) for verdict in VERDICTS}


def _lines(entry: Entry) -> str:
    claim = entry.claim
    lines = [f"{claim.id:<4}{entry.verdict:<20}{claim.title}"]
    for name, text in (
        ("published", claim.published),
        ("measured", entry.finding.measured),
        ("seen", entry.finding.seen),
    ):
        if text:
            lines.append(
                textwrap.fill(
                    f"{name:<10}{text}", 100, initial_indent="    ", subsequent_indent=" " * 14
                )
            )
    where = ", ".join(f"{e.kind} {e.target}" for e in claim.evidence)
    lines.append(
        textwrap.fill(
            f"{'evidence':<10}{where}",
            100,
            initial_indent="    ",
            subsequent_indent=" " * 14,
            break_on_hyphens=False,
        )
    )
    return "\n".join(lines)
