"""The red-team page and the tests say the same: every row of the page has cases, every case a row.

The specification's table of what plain nbgrader does is the same list in other words; its rows are
held here too.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.grading.hostile import all_cases

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "book" / "red-team.md"

# The beginning of a row's first column → the cases of the package hostile that it speaks of.
ROWS: dict[str, tuple[str, ...]] = {
    "tags its tests": ("skip-execution", "points-edited", "tests-edited", "own-points"),
    "an AST transformer": ("ast-transformer", "kernel-patch", "patched-torch", "broken-json"),
    "returns an object": ("always-equal", "equal-tensor", "cyclic-result", "deep-result",
                          "huge-number"),
    "rebinds `torch`": ("rebound-torch",),
    "displays or prints a score": ("forged-result", "forged-replies", "forged-messages",
                                   "nonsense-messages"),
    "searches memory": ("spy-memory", "spy-files"),
    "opens `solutions/`": ("spy-paths",),
    "raises an error that holds": ("spy-inputs", "spy-error"),
    "has files beside it": ("shadow-files", "odd-file-names", "sparse-file", "many-notebooks"),
    "keeps scores in its outputs": ("outputs-kept", "attachments", "nested-markup", "same-ids",
                                    "same-grade-ids", "not-strict-json"),
    "is put into the exchange": (),  # test_collect.py
    "returns NaN": (),  # tests/checks/test_engine.py
    "connects anywhere": ("network",),
    "writes into the course": ("update-grade", "write-course", "gain-rights"),
    "kills all processes": ("kill-others", "orphan"),
    "is a link": ("link-notebook", "link-file", "link-folder"),
    "`exit`, a segmentation fault": ("exit-cell", "exit-in-test", "sys-exit", "crash", "recursion",
                                     "closed-output"),
    "an endless loop": ("loop", "stubborn-loop", "loop-in-c", "sleep", "loop-in-test"),
    "fills memory": ("memory-list", "memory-tensor", "memory-many", "fork-bomb", "threads",
                     "big-file", "full-disk"),
    "prints a hundred megabytes": ("prints", "prints-in-test", "raw-output"),
    "`<script>`": (),  # test_feedback.py
    "a warning on standard error": ("warns",),
    "a solution or test cell was copied": ("copied-solution", "copied-stub", "copied-test",
                                           "retyped-solution", "retyped-test", "deleted-test",
                                           "deleted-tests", "deleted-solution", "deleted-all"),
    "all metadata is gone": ("no-metadata", "odd-metadata"),
    "cells that are not part": ("unknown-cell", "not-a-cell"),
    "an older notebook format": ("old-format", "source-lists", "surrogates", "as-released"),
    "a byte-order mark": ("byte-order-mark", "utf-16"),
    "an empty file": ("invalid-json", "empty-file", "conflict", "other-json", "a-number", "nested",
                      "binary", "no-cells", "new-format", "a-picture", "renamed", "nothing"),
}  # fmt: skip

# Tests of their own, for what one submission among others cannot show.
ALONE = {
    "test_feedback.py": ("test_a_page_of_a_hostile_submission",
                         "test_markup_that_runs_is_taken_out"),
    "test_collect.py": ("test_links_to_what_only_the_instructor_may_read_are_refused",
                        "test_nobody_stops_the_others",
                        "test_what_is_too_large_is_said_and_the_next_is_collected"),
    "test_cohort.py": ("test_a_class_of_24_with_8_in_trouble",
                       "test_a_broken_file_takes_the_old_score_away",
                       "test_manual_scores_and_comments_survive",
                       "test_a_record_lets_an_appeal_run_again",
                       "test_an_interrupted_run_goes_on"),
    "test_sandbox.py": ("test_a_missing_bubblewrap_is_refused_and_says_what_to_do",
                        "test_budgets_of_cell_and_notebook", "test_as_an_ordinary_user",
                        "test_without_isolation_every_grade_is_marked",
                        "test_gradients_cross_as_products", "test_a_dead_worker_is_replayed",
                        "test_memory_of_all_processes_together"),
    "test_repair.py": ("test_any_bytes_are_read_or_refused",
                       "test_whatever_the_cells_the_notebook_is_whole"),
}  # fmt: skip


def rows_of_the_page() -> list[str]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    cells = [line.split("|")[1].strip() for line in lines if line.startswith("| ")]
    return [c for c in cells if c not in ("what a submission does", "what happened")]


def test_every_row_of_the_page_is_tried() -> None:
    rows = rows_of_the_page()
    assert len(rows) > 20
    untried = [row for row in rows if not any(row.startswith(begin) for begin in ROWS)]
    assert untried == []
    assert [begin for begin in ROWS if not any(row.startswith(begin) for row in rows)] == []


def test_every_case_is_on_the_page() -> None:
    told = [name for names in ROWS.values() for name in names]
    assert sorted(told) == sorted({c.name for c in all_cases(Path("/course"), 1)})


def test_the_other_tests_are_there() -> None:
    for file, names in ALONE.items():
        tree = ast.parse((HERE / file).read_text(encoding="utf-8"))
        there = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert set(names) <= there, file


def test_what_is_left_over_is_said() -> None:
    text = PAGE.read_text(encoding="utf-8").split("## What is left over")[1]
    assert len(re.findall(r"^- \*\*", text, re.M)) >= 6
