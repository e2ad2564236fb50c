"""The ledger: complete, computed, and honest about what is missing."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from course.claims import encoder_decoder
from course.claims.base import (
    CORRECTED,
    DOES_NOT_HOLD,
    HOLDS,
    NOT_YET,
    SHOWN,
    VERDICTS,
    Claim,
    Finding,
    entry,
    verdict_of,
)
from course.claims.ledger import IDS, claims, ledger
from course.experiments.registry import EXPERIMENTS

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = {claim.id: claim for claim in claims()}
RECORDED = sorted(
    name for name, claim in CLAIMS.items() if any(e.kind == "record" for e in claim.evidence)
)
LIVE = [name for name in IDS if name not in RECORDED and name not in ("A1", "C12", "C13")]
CORRECTIONS = {"B5", "C5", "C9", "C10", "C14"}


def test_every_id_is_there_once_and_in_order():
    assert len(IDS) == 58
    assert tuple(CLAIMS) == IDS
    assert IDS[0] == "A1"
    assert IDS[35:37] == ("A36", "B1")
    assert IDS[-1] == "C14"


def test_every_claim_says_what_it_is():
    for claim in CLAIMS.values():
        assert claim.title, claim.id
        assert claim.statement.endswith("."), claim.id
        assert claim.check, claim.id
        assert claim.evidence, claim.id
    assert {name for name, claim in CLAIMS.items() if claim.corrects} == CORRECTIONS


def test_verdicts_are_computed():
    claim = Claim("X1", "t", "s.", "c", lambda: Finding(True, "1"), ())
    published, correction = (
        replace(claim, published="2"),
        replace(claim, published="2", corrects=True),
    )
    found = {holds: Finding(holds, "") for holds in (True, False, None)}
    assert verdict_of(claim, found[True]) == SHOWN
    assert verdict_of(published, found[True]) == HOLDS
    assert verdict_of(correction, found[True]) == CORRECTED
    for case in (claim, published, correction):
        assert verdict_of(case, found[False]) == DOES_NOT_HOLD
        assert verdict_of(case, found[None]) == NOT_YET
    # and written by no claim: the words stand in one place alone
    for path in (ROOT / "course" / "claims").glob("*.py"):
        if path.name != "base.py":
            strings = {
                node.value
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            }
            assert not strings & set(VERDICTS), path.name


@pytest.mark.parametrize("name", LIVE)
def test_what_needs_no_record_holds_here(name):
    found = entry(CLAIMS[name])
    expected = CORRECTED if name in CORRECTIONS else HOLDS if CLAIMS[name].published else SHOWN
    assert found.verdict == expected, found.finding
    assert found.finding.measured
    if expected == CORRECTED:
        assert found.finding.seen


@pytest.mark.parametrize("name", RECORDED)
def test_what_needs_a_record_says_so_without_one(name):
    found = entry(CLAIMS[name])
    assert found.verdict == NOT_YET
    assert found.finding.measured == ""
    assert "No record yet of " in found.finding.seen
    assert "python -m course experiments run " in found.finding.seen


def test_measuring_leaves_the_random_numbers_of_others_alone():
    import torch

    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    entry(CLAIMS["A14"])
    assert torch.equal(torch.rand(3), expected)
    assert entry(CLAIMS["A14"]).finding == entry(CLAIMS["A14"]).finding


def test_cards_and_passage_are_looked_for_in_the_book(tmp_path, monkeypatch):
    monkeypatch.setattr(encoder_decoder, "_BOOK", tmp_path)
    assert [entry(CLAIMS[name]).verdict for name in ("C12", "C13")] == [NOT_YET] * 2
    (tmp_path / "cards").mkdir()
    card = '[[card]]\nfront = "?"\nback = "!"\nclaim = "C12"\n'
    (tmp_path / "cards" / "11.toml").write_text(card * 10)
    assert entry(CLAIMS["C12"]).verdict == DOES_NOT_HOLD
    (tmp_path / "cards" / "11.toml").write_text(card * 11)
    assert entry(CLAIMS["C12"]).verdict == HOLDS
    cell = {"cell_type": "markdown", "source": ["For a twelve-year-old\n", "word " * 80]}
    (tmp_path / "11-encoder-decoder.ipynb").write_text(json.dumps({"cells": [cell]}))
    assert entry(CLAIMS["C13"]).verdict == SHOWN


def functions_in(path: Path) -> set[str]:
    return {
        node.name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }


def test_the_evidence_exists():
    pages = set(re.findall(r"book/([\w-]+)", (ROOT / "_toc.yml").read_text(encoding="utf-8")))
    curriculum = {
        "intro",
        "flashcards",
        "01-average",
        "02-masked-matmul",
        "03-softmax",
        "04-qkv",
        "05-scaling",
        "06-heads",
        "07-block",
        "08-positions",
        "09-cost",
        "10-gpt",
        "11-encoder-decoder",
        "12-what-a-head-does",
    }
    for claim in CLAIMS.values():
        there = 0
        for evidence in claim.evidence:
            if evidence.kind == "test":
                file, _, name = evidence.target.partition("::")
                assert name in functions_in(ROOT / file), f"{claim.id}: {evidence.target}"
                there += 1
            elif evidence.kind == "record":
                assert evidence.target in EXPERIMENTS, claim.id
                assert claim.id in EXPERIMENTS[evidence.target].claims, claim.id
                there += 1
            else:
                assert evidence.kind == "chapter"
                assert evidence.target in curriculum, claim.id
                there += evidence.target in pages
        # A chapter that is not written yet is no evidence by itself.
        assert there or entry(claim).verdict in (NOT_YET, SHOWN), claim.id


def test_experiments_name_the_claims_they_serve():
    for experiment in EXPERIMENTS.values():
        for name in experiment.claims:
            assert any(e.target == experiment.name for e in CLAIMS[name].evidence), (
                experiment.name,
                name,
            )


def test_asking_for_a_part_measures_that_part():
    assert [e.claim.id for e in ledger(("C3", "B7"))] == ["C3", "B7"]
