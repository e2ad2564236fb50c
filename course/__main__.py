"""The thin command line: ``python -m course COMMAND …``; each command loads only what it needs."""

from __future__ import annotations

import sys
from pkgutil import resolve_name

import course

COMMANDS = {
    "corpus": ("course.corpus:main", "where the text is; fetch it and count its tokens"),
    "check": ("course.checks.cli:main", "grade a plain file: check EXERCISE FILE.py [--json]"),
    "experiments": ("course.experiments.cli:main", "list, run and show the recorded experiments"),
    "records": ("course.experiments.records_cli:main", "status, verify and refresh the records"),
    "claims": ("course.claims.cli:main", "the ledger: every claim, measured here"),
    "grade": ("course.grading.cli:main", "grade a class: grade ASSIGNMENT [--jobs N]"),
}


def usage() -> str:
    """The help text: one line a command."""
    lines = [f"  {name:<12} {summary}" for name, (_, summary) in COMMANDS.items()]
    return "usage: python -m course COMMAND [options]\n\ncommands:\n" + "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit status (2 for a command that does not exist)."""
    args = sys.argv[1:] if argv is None else argv
    if not args or args[0] in {"-h", "--help", "help"}:
        print(usage())
        return 0
    if args[0] in {"-V", "--version"}:
        print(course.__version__)
        return 0
    if args[0] not in COMMANDS:
        print(f"course: no command {args[0]!r}; see python -m course --help", file=sys.stderr)
        return 2
    # Imports the module that holds the function, and nothing else.
    return int(resolve_name(COMMANDS[args[0]][0])(args[1:]) or 0)


if __name__ == "__main__":
    raise SystemExit(main())
