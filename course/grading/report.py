"""The report on a class: a CSV file for a spreadsheet and a page to read."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Sequence
from pathlib import Path

from course.figures.palette import DARK, LIGHT
from course.files import atomic_write_text
from course.grading.classroom import Classroom
from course.grading.cohort import Summary
from course.grading.tally import Line, common_mistakes, tally

BINS = 10
COLUMNS = ("student_id", "score", "late_penalty", "total", "max_score", "percent", "needs_a_look",
           "mistakes", "notes", "graded_at", "isolation", "submission_sha256")  # fmt: skip


def write_report(room: Classroom, assignment: str, summary: Summary) -> Path:
    """Write ``class/reports/<assignment>.csv`` and ``.html``; the page's path."""
    lines = tally(room, assignment, summary.failed)
    folder = room.folder("reports")
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write_text(folder / f"{assignment}.csv", as_csv(lines))
    page = folder / f"{assignment}.html"
    atomic_write_text(page, as_page(lines, assignment))
    return page


def plain_cell(text: str) -> str:
    """Text that a spreadsheet takes for text: a leading ``=``, ``+``, ``-`` or ``@`` would make it
    a formula, and learners choose some of these texts."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def as_csv(lines: Sequence[Line]) -> str:
    """One row per learner."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for x in lines:
        percent = round(100 * x.total / x.max_score, 1) if x.max_score else ""
        texts = ("; ".join(x.look), "; ".join(x.mistakes), "; ".join(x.notes))
        writer.writerow([plain_cell(x.student), x.score, x.penalty, x.total, x.max_score, percent,
                         *map(plain_cell, texts), x.graded_at, x.isolation, x.sha256])  # fmt: skip
    return out.getvalue()


def distribution(lines: Sequence[Line]) -> list[int]:
    """How many learners reached 0–10 %, 10–20 %, … 90–100 % of the points."""
    counts = [0] * BINS
    for x in lines:
        if x.max_score:
            counts[min(BINS - 1, int(BINS * x.total / x.max_score))] += 1
    return counts


def as_page(lines: Sequence[Line], assignment: str) -> str:
    """A page that needs nothing but itself."""
    graded = [x for x in lines if x.max_score]
    looks = [x for x in lines if x.look]
    mistakes = common_mistakes(lines)
    middle = sorted(x.total for x in graded)[len(graded) // 2] if graded else 0.0
    most = max((x.max_score for x in graded), default=0.0)
    facts = (f"{len(lines)} submissions, {len(graded)} graded; median {middle:g} of {most:g} "
             f"points; {len(looks)} need a look.")  # fmt: skip
    return _PAGE.format(
        title=f"{html.escape(assignment)}: the class", style=_style(), facts=facts,
        chart=_chart(distribution(lines)), looks=_looks(looks), mistakes=_mistakes(mistakes),
        rows="".join(map(_row, lines)),
    )  # fmt: skip


def _chart(counts: Sequence[int]) -> str:
    """Bars as an SVG with its numbers written out, and a sentence for who cannot see it."""
    tallest = max(counts) or 1
    bars = ""
    for i, n in enumerate(counts):
        height, x = 110 * n / tallest, 20 + 56 * i
        bars += (
            f'<rect x="{x}" y="{130 - height:.1f}" width="48" height="{height:.1f}" rx="2"/>'
            f'<text x="{x + 24}" y="{124 - height:.1f}">{n or ""}</text>'
            f'<text x="{x + 24}" y="148" class="muted">{10 * i}–{10 * i + 10}</text>'
        )
    said = ", ".join(f"{n} between {10 * i} and {10 * i + 10} %" for i, n in enumerate(counts) if n)
    return (f'<svg viewBox="0 0 600 160" role="img" aria-label="Learners by percent of the points: '
            f'{said or "none"}">{bars}</svg>')  # fmt: skip


def _looks(lines: Sequence[Line]) -> str:
    if not lines:
        return "<p>Nobody.</p>"
    items = "".join(
        f"<li><strong>{html.escape(x.student)}</strong>: {html.escape('; '.join(x.look))}</li>"
        for x in lines
    )
    return f"<ul>{items}</ul>"


def _mistakes(found: Sequence[tuple[str, int, str]]) -> str:
    if not found:
        return "<p>None was recognised.</p>"
    rows = "".join(
        f'<tr><td class="number">{n}</td><th scope="row">{html.escape(name)}</th>'
        f"<td>{html.escape(sentence)}</td></tr>"
        for name, n, sentence in found
    )
    heads = "".join(f'<th scope="col">{h}</th>' for h in ("Learners", "Mistake", "What was said"))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _row(x: Line) -> str:
    penalty = f" − {x.penalty:g}" if x.penalty else ""
    said = "; ".join([*x.mistakes, *x.notes])
    mark = ' class="look"' if x.look else ""
    return (f'<tr{mark}><th scope="row">{html.escape(x.student)}</th>'
            f'<td class="number">{x.score:g}{penalty} / {x.max_score:g}</td>'
            f"<td>{html.escape(said)}</td></tr>")  # fmt: skip


def _style() -> str:
    def colours(theme: dict[str, str]) -> str:
        return "".join(f"--{k}:{theme[k]};" for k in ("ink", "paper", "muted", "line", "attention",
                                                      "wrong"))  # fmt: skip

    return (f":root{{{colours(dict(LIGHT))}}}@media(prefers-color-scheme:dark){{:root{{"
            f"{colours(dict(DARK))}}}}}{_CSS}")  # fmt: skip


_CSS = """
body{background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,sans-serif;margin:2rem auto;
max-width:60rem;padding:0 1rem}h1{font-size:1.6rem}h2{font-size:1.15rem;margin-top:2rem}
table{border-collapse:collapse;width:100%}th,td{border-top:1px solid var(--line);
padding:.35rem .6rem;text-align:left;vertical-align:top}th{font-weight:600}
.number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}.muted,.facts{color:var(--muted)}svg{max-width:40rem;width:100%}
svg rect{fill:var(--attention)}svg text{fill:currentColor;font-size:11px;text-anchor:middle}
svg text.muted{fill:var(--muted)}tr.look th{border-left:3px solid var(--wrong)}
""".replace("\n", "")

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style></head>
<body><main><h1>{title}</h1><p class="facts">{facts}</p>
<h2>Points, in percent</h2>{chart}
<h2>Who needs a look</h2>{looks}
<h2>Named mistakes</h2>{mistakes}
<h2>Everybody</h2><table><thead><tr><th scope="col">Learner</th>
<th scope="col" class="number">Points</th><th scope="col">Mistakes and notes</th></tr></thead>
<tbody>{rows}</tbody></table>
</main></body></html>
"""
