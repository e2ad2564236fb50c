"""The ledger as a page shows it: how many claims stand how, each claim, and where to look.

Plain HTML with a style sheet of its own: choosing a verdict needs neither a kernel nor a script.
Links go to notebooks and pages lying beside this one; the book's build turns them into links
between its pages, and into plain words where a page does not exist.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from course.claims.base import CORRECTED, DOES_NOT_HOLD, HOLDS, NOT_YET, SHOWN, Entry, Evidence
from course.experiments import load_records
from course.experiments.registry import EXPERIMENTS
from course.figures.tables import Table, table

__all__ = ["LedgerPage", "TestList", "records_table", "show", "show_tests", "verdicts"]

# verdict → (sign, what it means, in the order a reader wants them)
MEANING = {
    HOLDS: ("✓", "measured here, and the published value is met within the claim's check"),
    DOES_NOT_HOLD: ("✕", "measured here, and it is not met; the entry says what was seen"),
    CORRECTED: ("≠", "the reference is imprecise; the entry says how"),
    SHOWN: ("•", "no published figure: a test, or a cell of the book, exhibits it"),
    NOT_YET: ("…", "nothing recorded yet; the entry says which command measures it"),
}
PARTS = {
    "A": "From an average to a block",
    "B": "How a GPT runs",
    "C": "The original encoder–decoder",
}
PAGES = {"intro": "the front page", "flashcards": "the flash cards"}

_LOOK = """
.ledger .verdicts { display: flex; flex-wrap: wrap; gap: 0 1.1rem; margin: 0 0 1rem; padding: 0;
  border: 0; }
.ledger .verdicts legend { padding: 0; font-weight: 600; }
.ledger .verdicts label { display: inline-flex; align-items: center; gap: .45rem;
  min-height: 44px; cursor: pointer; }
.ledger .claim { margin: 0 0 1.1rem; padding: .8rem 0 0;
  border-top: 1px solid var(--course-line, #8885); }
.ledger h4 { margin: 0 0 .35rem; font-style: normal; font-weight: 600; max-width: none; }
.ledger .verdict { float: right; margin-left: 1rem; font-weight: 600; }
.ledger .is-wrong { color: var(--course-wrong, #b91c1c); }
.ledger .is-open { color: var(--course-muted, #5c5f63); font-style: italic; }
.ledger p { margin: 0 0 .4rem; max-width: none; }
.ledger dl { display: grid; grid-template-columns: 6.5rem 1fr; gap: .15rem .8rem; margin: 0;
  max-width: none; }
.ledger dt { font-weight: 400; color: var(--course-muted, #5c5f63); }
.ledger dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
@media (max-width: 34rem) { .ledger dl { display: block; } .ledger dt { margin-top: .3rem; }
  .ledger .verdict { float: none; display: block; margin: 0 0 .2rem; } }
""".strip()


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _name(page: str) -> str:
    number = re.match(r"(\d\d)-", page)
    return f"chapter {int(number[1])}" if number else PAGES.get(page, page)


def _test_anchor(target: str) -> str:
    return f"test-{_slug(target.removeprefix('tests/'))}"


def _link(evidence: Evidence) -> str:
    if evidence.kind == "chapter":
        return f'<a class="page" href="{evidence.target}.ipynb">{_name(evidence.target)}</a>'
    if evidence.kind == "record":
        return f'<a href="#record-{evidence.target}">the records of {evidence.target}</a>'
    words = evidence.target.rpartition("::")[2].removeprefix("test_").replace("_", " ")
    return f'<a href="#{_test_anchor(evidence.target)}">the test “{html.escape(words)}”</a>'


def verdicts(entries: Sequence[Entry]) -> Table:
    """How many claims have which verdict, and what each verdict means."""
    rows = [
        (f"{sign} {verdict}", sum(e.verdict == verdict for e in entries), meaning)
        for verdict, (sign, meaning) in MEANING.items()
    ]
    return table(["verdict", "claims", "says"], [*rows, ("all", len(entries), "")])


@dataclass(frozen=True)
class LedgerPage:
    """All entries, with a choice of verdict above them. Made by :func:`show`."""

    entries: tuple[Entry, ...]

    def _choices(self) -> str:
        counts = {v: sum(e.verdict == v for e in self.entries) for v in MEANING}
        options = [
            ("all", f"all ({len(self.entries)})"),
            *((v, f"{v} ({counts[v]})") for v in counts),
        ]
        labels = [
            f'<label><input type="radio" name="ledger-verdict" value="{_slug(value)}"'
            f"{' checked' if value == 'all' else ''}> {words}</label>"
            for value, words in options
        ]
        return (
            '<fieldset class="verdicts"><legend>Show the claims whose verdict is</legend>'
            f"{''.join(labels)}</fieldset>"
        )

    def _style(self) -> str:
        rules = [
            f'.ledger:has(input[value="{_slug(v)}"]:checked) .claim:not(.is-{_slug(v)})'
            " { display: none; }"
            for v in MEANING
        ]
        return f"<style>\n{_LOOK}\n{chr(10).join(rules)}\n</style>"

    def _repr_html_(self) -> str:
        blocks = [self._style(), '<div class="ledger">', self._choices()]
        for letter, part in PARTS.items():
            entries = [e for e in self.entries if e.claim.id.startswith(letter)]
            if entries:
                blocks.append(f"<h3>{letter}. {part}</h3>")
                blocks += [_article(entry) for entry in entries]
        return "\n".join([*blocks, "</div>"])

    def __repr__(self) -> str:
        return "\n".join(f"{e.claim.id:<4}{e.verdict:<20}{e.claim.title}" for e in self.entries)


def _article(entry: Entry) -> str:
    claim, finding, slug = entry.claim, entry.finding, _slug(entry.verdict)
    sign = MEANING[entry.verdict][0]
    look = {DOES_NOT_HOLD: " is-wrong", NOT_YET: " is-open"}.get(entry.verdict, "")
    lines = [
        ("published", claim.published),
        ("measured", finding.measured),
        ("check", claim.check if claim.published else ""),
        ("note", finding.seen),
        ("ours", claim.ours),
    ]
    said = [
        f"<dt>{name}</dt><dd>{html.escape(text, quote=False)}</dd>" for name, text in lines if text
    ]
    links = ", ".join(map(_link, claim.evidence))
    return (
        f'<section class="claim is-{slug}" id="claim-{claim.id.lower()}">\n'
        f"<h4>{claim.id}. {html.escape(claim.title, quote=False)}</h4>\n"
        f'<p><span class="verdict{look}">{sign} {entry.verdict}</span>'
        f"{html.escape(claim.statement, quote=False)}</p>\n"
        f"<dl>{''.join(said)}<dt>evidence</dt><dd>{links}</dd></dl>\n</section>"
    )


def show(entries: Iterable[Entry]) -> LedgerPage:
    """The ledger as a cell's result."""
    return LedgerPage(tuple(entries))


@dataclass(frozen=True)
class Records:
    """What is recorded of each experiment. Made by :func:`records_table`."""

    rows: tuple[tuple[str, str, str, str], ...]

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{h}</th>' for h in ("experiment", "measures", "recorded"))
        body = "\n".join(
            f'<tr id="record-{name}"><th scope="row">{name}</th><td>{html.escape(title)}'
            f"<br><code>{command}</code></td><td>{recorded}</td></tr>"
            for name, title, recorded, command in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"

    def __repr__(self) -> str:
        return "\n".join(
            f"{name:<12}{recorded:<44}{command}" for name, _, recorded, command in self.rows
        )


def records_table() -> Records:
    """What is recorded of each experiment, how much of it is stale, and what measures it."""
    found = []
    for name, experiment in EXPERIMENTS.items():
        rows = [row for row in load_records(name) if not row.row.optional]
        have = [row for row in rows if row.n]
        runs = sum(row.n for row in have)
        said = f"{len(have)} of {len(rows)} rows, {runs} run{'' if runs == 1 else 's'}"
        if stale := sum(row.stale for row in have):
            said += f", {stale} rows stale"
        found.append((name, experiment.title, said, f"python -m course experiments run {name}"))
    return Records(tuple(found))


@dataclass(frozen=True)
class TestList:
    """The tests that are evidence, by file. Made by :func:`show_tests`."""

    targets: tuple[str, ...]

    __test__ = False  # a name pytest would collect

    def _repr_html_(self) -> str:
        files: dict[str, list[str]] = {}
        for target in self.targets:
            files.setdefault(target.partition("::")[0], []).append(target)
        blocks = []
        for file, targets in files.items():
            items = "\n".join(
                f'<li id="{_test_anchor(t)}"><code>{t.partition("::")[2]}</code></li>'
                for t in targets
            )
            blocks.append(f"<p><code>{file}</code></p>\n<ul>\n{items}\n</ul>")
        return "\n".join(blocks)

    def __repr__(self) -> str:
        return "\n".join(self.targets)


def show_tests(entries: Iterable[Entry]) -> TestList:
    """Each test that one of the entries names as evidence, once, sorted by file."""
    tests = (e.target for entry in entries for e in entry.claim.evidence if e.kind == "test")
    return TestList(tuple(sorted(set(tests))))
