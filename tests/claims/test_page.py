"""The ledger as a page: every link has its place, verdicts are counted, and can be chosen."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from course.claims import claims
from course.claims.base import NOT_YET, VERDICTS, Claim, Entry, Finding, chapter, test
from course.claims.page import MEANING, records_table, show, show_tests, verdicts
from course.experiments.registry import EXPERIMENTS

EVERY = [Entry(claim, Finding(None, "", "no record"), NOT_YET) for claim in claims()]


def made(identifier: str, verdict: str, **parts: str) -> Entry:
    evidence = (chapter("01-average"), test("test_averaging.py::test_the_six_by_six_matrix"))
    claim = Claim(identifier, "A & B", "a < b", "exact", lambda: Finding(True, ""), evidence, "1")
    return Entry(
        claim, Finding(True, parts.get("measured", "2 < 3"), parts.get("seen", "")), verdict
    )


def ids(html: str) -> list[str]:
    return re.findall(r'\bid="([^"]+)"', html)


def test_every_claim_is_there_with_its_evidence_and_every_place_it_points_to():
    ledger = show(EVERY)._repr_html_()
    evidence = records_table()._repr_html_() + show_tests(EVERY)._repr_html_()
    assert [i for i in ids(ledger) if i.startswith("claim-")] == [
        f"claim-{entry.claim.id.lower()}" for entry in EVERY
    ]
    inside = re.findall(r'href="#([^"]+)"', ledger)
    assert len(inside) > 50
    assert set(inside) <= set(ids(evidence))
    assert [i for i, n in Counter(ids(ledger) + ids(evidence)).items() if n > 1] == []
    assert {i.removeprefix("record-") for i in ids(evidence) if i.startswith("record-")} == set(
        EXPERIMENTS
    )
    pages = set(re.findall(r'<a class="page" href="([\w-]+)\.ipynb">', ledger))
    assert pages == {e.target for x in EVERY for e in x.claim.evidence if e.kind == "chapter"}


def test_what_is_not_measured_says_so_and_how_it_would_be():
    html = show([Entry(claims()[0], Finding(None, "", "No record yet of ladder."), NOT_YET)])
    text = html._repr_html_()
    assert "… not yet measured" in text
    assert "No record yet of ladder." in text
    assert "<dt>measured</dt>" not in text


def test_values_are_escaped_and_parts_without_a_claim_left_out():
    text = show([made("B1", "holds", measured="x < y & z", seen="<b>")])._repr_html_()
    assert "x &lt; y &amp; z" in text
    assert "&lt;b&gt;" in text
    assert "B. How a GPT runs" in text
    assert "From an average" not in text


def test_the_summary_counts_every_verdict():
    entries = [made("A1", v) for v in VERDICTS] + [made("A2", VERDICTS[0])]
    rows = verdicts(entries).rows
    assert [row[1] for row in rows] == [2, 1, 1, 1, 1, 6]
    assert set(MEANING) == set(VERDICTS)
    assert all(row[0].endswith(v) for row, v in zip(rows, MEANING, strict=False))


def test_in_a_terminal_it_is_a_list():
    assert repr(show([made("A1", "holds")])) == "A1  holds               A & B"
    assert repr(show_tests(EVERY)).startswith("tests/")
    assert repr(records_table()).startswith("ladder")


@pytest.mark.browser
def test_a_verdict_is_chosen_with_the_keyboard_and_without_a_script(browser: Any):
    entries = [made(f"A{n}", v) for n, v in enumerate([*VERDICTS, VERDICTS[0]], start=1)]
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.set_content(f"<!DOCTYPE html><title>t</title>{show(entries)._repr_html_()}")
    seen = page.locator(".claim:visible")
    assert seen.count() == 6
    page.get_by_label("all (6)").focus()
    page.keyboard.press("ArrowDown")  # holds
    assert seen.count() == 2
    page.keyboard.press("ArrowDown")  # does not hold
    assert seen.count() == 1
    assert seen.locator("h4").inner_text() == "A2. A & B"
    page.get_by_label("not yet measured (1)").check()
    assert seen.locator(".verdict").inner_text() == "… not yet measured"
    context.close()
