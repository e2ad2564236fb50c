"""Which lines of a test cell are hidden: the part between nbgrader's two markers."""

from __future__ import annotations

BEGIN, END = "BEGIN HIDDEN TESTS", "END HIDDEN TESTS"


def hidden_lines(source: str) -> set[int]:
    """Numbers (from 1) of the lines in hidden regions, the markers included.

    A region that is never closed reaches to the end: what is in doubt stays hidden.
    """
    hidden: set[int] = set()
    inside = False
    for number, line in enumerate(source.split("\n"), start=1):
        if BEGIN in line:
            inside = True
        if inside:
            hidden.add(number)
        if END in line:
            inside = False
    return hidden


def redact(source: str, notice: str = "# Hidden tests are run here.") -> str:
    """The source with each hidden region replaced by one line."""
    hidden = hidden_lines(source)
    kept: list[str] = []
    for number, line in enumerate(source.split("\n"), start=1):
        if number not in hidden:
            kept.append(line)
        elif BEGIN in line:
            kept.append(notice)
    return "\n".join(kept)
