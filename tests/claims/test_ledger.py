"""The ledger: complete, computed, and honest about what is missing, stale or otherwise."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from course.claims import cli, encoder_decoder
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
from course.experiments.hashing import code_hash, config_hash
from course.experiments.records import record_path, write_record
from course.experiments.registry import EXPERIMENTS, get, module_of

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = {claim.id: claim for claim in claims()}
RECORDED = sorted(
    name for name, claim in CLAIMS.items() if any(e.kind == "record" for e in claim.evidence)
)
LIVE = [name for name in IDS if name not in RECORDED and name not in ("A1", "C12", "C13")]
CORRECTIONS = {"B5", "C5", "C9", "C10", "C14"}


@pytest.fixture(autouse=True)
def own_records(tmp_path, monkeypatch):
    """The ledger of these tests reads no records but their own."""
    monkeypatch.setenv("COURSE_RECORDS", str(tmp_path / "records"))


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


def put(
    experiment: str,
    row: str,
    metrics: dict,
    seed: int = 0,
    curves=None,
    corpus=None,
    hash_of_code: str | None = None,
) -> None:
    """Write a record of the full budget that counts as current."""
    known = get(experiment)
    config = known.config(known.row(row), "full")
    code = hash_of_code or code_hash(module_of(known)).hash
    write_record(
        record_path(experiment, row, seed),
        {
            "schema": 1,
            "experiment": experiment,
            "row": row,
            "seed": seed,
            "budget": "full",
            "metrics": metrics,
            "notes": [],
            "config": config,
            "config_hash": config_hash(config),
            "seconds": 1.0,
            "machine": {"device": "cpu"},
            "versions": {},
            "git": {},
            "corpus": corpus,
            "code": {"hash": code, "evaluation": "", "modules": {}},
            "verified": [],
            "arrays": None,
            "first_losses": [],
            "loss_curve": {},
            "curves": curves or {},
        },
        {},
    )


def ladder(**held_out: float) -> None:
    """Write records of rungs; underscores stand for hyphens."""
    for name, value in held_out.items():
        put("ladder", name.replace("_", "-"), {"held_out": value, "train": value - 20})


# As published where the reference states a figure, else inside the check.
LADDER = {
    "no_context": 59.71,
    "average": 248.0,
    "average_positions": 245.9,
    "token_plus_average": 60.45,
    "head_instead": 55.5,
    "head": 46.5,
    "four_heads": 43.5,
    "feed_forward": 39.9,
}


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("A2", {"no_context": 62.0}, ""),
        ("A3", {"average": 300.0}, ""),
        ("A4", {"average_positions": 230.0}, ""),
        ("A5", {"token_plus_average": 55.0}, ""),
        ("A6", {"head": 55.0}, ""),
        ("A7", {"four_heads": 47.0}, ""),
        ("A8", {"head_instead": 47.0}, ""),
        ("A9", {"feed_forward": 38.0}, ""),
        ("A10", {"two_blocks": 37.0}, "no reversal"),
    ],
)
def test_the_ladder_s_claims_follow_its_records(name, change, said):
    ladder(**LADDER)
    put("ladder", "one-block", {"held_out": 38.07, "train": 18.77})
    put("ladder", "two-blocks", {"held_out": 40.57, "train": 14.49})
    found = entry(CLAIMS[name])
    assert found.verdict == HOLDS
    assert "(1 seed)" in found.finding.measured
    ladder(**change)
    found = entry(CLAIMS[name])
    assert found.verdict == DOES_NOT_HOLD
    assert said in found.finding.seen


def test_seeds_and_spread_are_said_and_stale_records_marked():
    put("ladder", "no-context", {"held_out": 59.0, "train": 1.0}, seed=0)
    put("ladder", "no-context", {"held_out": 61.0, "train": 1.0}, seed=1)
    assert entry(CLAIMS["A2"]).finding.measured == "60.00 ± 1.41 (2 seeds)"
    assert entry(CLAIMS["A2"]).finding.seen == ""
    put("ladder", "no-context", {"held_out": 60.0, "train": 1.0}, seed=1, hash_of_code="other")
    assert entry(CLAIMS["A2"]).finding.seen == "Stale: no-context."


def test_scaling_follows_its_records():
    gaps = {
        (32, 3000): -0.1,
        (64, 3000): 1.0,
        (128, 3000): 5.0,
        (128, 1500): 6.0,
        (256, 1500): 18.0,
        (512, 1500): 17.5,
        (1024, 1500): 17.0,
    }
    inside = {
        "score_std_start": 21.0,
        "score_std_end": 3.44,
        "entropy_end": 2.0,
        "share_over_099_end": 0.01,
    }
    for (width, steps), gap in gaps.items():
        put("scaling", f"dk{width}-{steps}-divided", {"held_out": 50.0, **inside})
        put(
            "scaling",
            f"dk{width}-{steps}-undivided",
            {
                "held_out": 50.0 + gap,
                **inside,
                "score_std_end": 5147.0,
                "entropy_end": 0.001,
                "share_over_099_end": 0.999,
            },
        )
    assert entry(CLAIMS["A17"]).verdict == HOLDS
    assert "-0.10 at 32 (3000 steps)" in entry(CLAIMS["A17"]).finding.measured
    assert entry(CLAIMS["A18"]).verdict == HOLDS
    put("scaling", "dk1024-1500-undivided", {"held_out": 55.0, **inside})
    assert "wide head gains" in entry(CLAIMS["A17"]).finding.seen
    found = entry(CLAIMS["A18"])
    assert found.verdict == DOES_NOT_HOLD
    assert "do not grow tenfold" in found.finding.seen


def test_norms_follow_their_records():
    def both(post_plain: float) -> None:
        for name, held_out, scale, ratio in (
            ("pre-plain", 37.82, 1, 1.32),
            ("pre-warmup", 37.62, 1, 1.32),
            ("post-plain", post_plain, 2, 1.65),
            ("post-warmup", 37.88, 2, 1.65),
        ):
            put(
                "norms",
                name,
                {
                    "held_out": held_out,
                    "gradient_output_first": 0.05 * scale,
                    "gradient_output_last": 0.05 * scale * ratio,
                    "gradient_output_ratio": ratio,
                    "gradient_all_ratio": 1.0,
                },
            )

    both(308.05)
    assert entry(CLAIMS["A20"]).verdict == HOLDS
    both(60.0)
    assert "less than three times worse" in entry(CLAIMS["A20"]).finding.seen


def test_positions_follow_their_records():
    table = {
        "learned": (42.0, 70.0, 110.0),
        "sinusoidal": (46.0, 80.0, 120.0),
        "rope": (43.0, 48.0, 60.0),
        "alibi": (44.95, 43.0, 42.49),
    }
    rescaled = {"at_128_rescaled_2": 46.0, "at_256_rescaled_4": 50.0}
    for name, (a, b, c) in table.items():
        put("positions", name, {"at_64": a, "at_128": b, "at_256": c, **rescaled})
    assert entry(CLAIMS["A21"]).verdict == HOLDS
    assert entry(CLAIMS["A35"]).verdict == SHOWN
    assert entry(CLAIMS["C14"]).verdict == CORRECTED
    put("positions", "alibi", {"at_64": 44.0, "at_128": 44.5, "at_256": 45.0})
    put(
        "positions",
        "rope",
        {
            "at_64": 43.0,
            "at_128": 48.0,
            "at_256": 60.0,
            "at_128_rescaled_2": 60.0,
            "at_256_rescaled_4": 70.0,
        },
    )
    assert "ALiBi gets worse" in entry(CLAIMS["A21"]).finding.seen
    assert entry(CLAIMS["A35"]).verdict == DOES_NOT_HOLD


def test_cost_follows_its_records():
    n = [128.0 * 2**i for i in range(8)]
    curve = {
        "n": n,
        "scores_mb": [8 * x * x * 4 / 2**20 for x in n],
        "peak_mb": [14.6, 19.2, 34.4, 89.1, 296.1, 1100.1, 4300.1, None],
        "seconds": [1.0] * 7 + [None],
        "projection_seconds": [1.0] * 7 + [None],
    }
    plain = {"memory_exponent": 1.87, "time_exponent": 1.91, "out_of_memory": True}
    put("cost", "plain", plain, curves={"cost": curve})
    put(
        "cost",
        "efficient",
        {"memory_exponent": 1.0, "time_exponent": 1.9, "out_of_memory": False},
        curves={"cost": curve},
    )
    found = entry(CLAIMS["A22"])
    assert found.verdict == HOLDS
    assert "out of memory at 16,384" in found.finding.measured
    put("cost", "plain", {**plain, "memory_exponent": 1.2}, curves={"cost": curve})
    assert "memory grows otherwise" in entry(CLAIMS["A22"]).finding.seen


def test_pronouns_follow_their_records():
    put("pronouns", "leaky-average", {"right": 1.0})
    put("pronouns", "leaky-one-block", {"right": 0.917})
    put("pronouns", "average", {"right": 0.279, "wrong_noun": 0.5})
    put("pronouns", "one-block", {"right": 0.927})
    maps = {
        "block1_score_difference": 1e-7,
        "block1_weight_difference": 0.05,
        "block1_adjective_weight_max": 0.1,
        "block2_weight_difference": 0.5,
        "last_on_crossed_noun_crosser": 0.02,
        "last_on_crossed_noun_crossed": 0.49,
    }
    put("pronouns", "two-blocks", {"right": 1.0, **maps})
    assert [entry(CLAIMS[name]).verdict for name in ("A24", "A25", "A26")] == [HOLDS] * 3
    put("pronouns", "leaky-average", {"right": 0.9})
    put("pronouns", "one-block", {"right": 1.0})
    put("pronouns", "two-blocks", {"right": 1.0, **maps, "block1_score_difference": 0.3})
    assert [entry(CLAIMS[name]).verdict for name in ("A24", "A25", "A26")] == [DOES_NOT_HOLD] * 3
    assert "one block is outside" in entry(CLAIMS["A25"]).finding.seen


def test_recurrence_induction_and_sequences_follow_their_records():
    for row, reach, largest in (
        ("tanh-0.9", 60, 1),
        ("tanh-1.2", 500, 900),
        ("lstm-0", 16, 1),
        ("lstm-2", 400, 1),
        ("attention", 500, 1),
    ):
        put("recurrence", row, {"reach": reach, "largest": largest, "farthest": 1.0})
    assert entry(CLAIMS["A29"]).verdict == SHOWN
    heads = {"accuracy": 0.9, "previous_layer1": 0.8, "induction_last": 0.7}
    put("induction", "one-layer", {"loss_repeated": 3.5, **heads})
    put("induction", "two-layers", {"loss_repeated": 0.2, **heads})
    assert entry(CLAIMS["A32"]).verdict == SHOWN
    put("seq2seq", "reversal", {"greedy": 0.994, "beam": 0.996, "beam_not_worse": 0.998})
    assert entry(CLAIMS["C11"]).verdict == SHOWN
    assert "at least as likely on 99.8 %" in entry(CLAIMS["C11"]).finding.measured
    put("seq2seq", "reversal", {"greedy": 0.998, "beam": 0.996, "beam_not_worse": 1.0})
    assert entry(CLAIMS["C11"]).verdict == DOES_NOT_HOLD
    put("recurrence", "lstm-2", {"reach": 30, "largest": 1, "farthest": 1.0})
    put("induction", "two-layers", {"loss_repeated": 3.4, **heads})
    put("seq2seq", "reversal", {"greedy": 0.9, "beam": 0.91, "beam_not_worse": 1.0})
    assert [entry(CLAIMS[name]).verdict for name in ("A29", "A32", "C11")] == [DOES_NOT_HOLD] * 3


def test_without_the_text_the_runs_say_how_many_tokens_they_read(monkeypatch):
    monkeypatch.setenv("COURSE_CORPUS", "")
    monkeypatch.delenv("COURSE_CORPUS")
    from course.corpus import load_corpus

    if not load_corpus(download=False).is_fallback:
        pytest.skip("the corpus is in this machine's cache")
    assert entry(CLAIMS["A1"]).verdict == NOT_YET
    put("ladder", "head", {"held_out": 46.0, "train": 1.0}, corpus={"tokens": 459_760})
    assert entry(CLAIMS["A1"]).verdict == HOLDS
    put("ladder", "head", {"held_out": 46.0, "train": 1.0}, corpus={"tokens": 459_792})
    assert entry(CLAIMS["A1"]).verdict == DOES_NOT_HOLD


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


def test_the_command_prints_every_claim(capsys):
    assert cli.main(["--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [claim["id"] for claim in printed["claims"]] == list(IDS)
    assert sum(printed["counts"].values()) == 58
    for claim in printed["claims"]:
        assert set(claim) == {
            "id",
            "title",
            "statement",
            "published",
            "measured",
            "check",
            "verdict",
            "explanation",
            "ours",
            "evidence",
        }
        assert claim["verdict"] in VERDICTS


def test_the_command_takes_ids_and_refuses_others(capsys):
    assert cli.main(["A23", "C8"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("A23 holds ")
    assert "124,439,808" in out
    assert "2 holds" in out
    assert cli.main(["A99"]) == 2
    assert "no claim 'A99'" in capsys.readouterr().err


def test_strict_exits_with_1_where_a_claim_does_not_hold(capsys):
    put("ladder", "no-context", {"held_out": 99.0, "train": 1.0})
    assert cli.main(["A2"]) == 0
    assert cli.main(["A2", "--strict"]) == 1
    assert "does not hold" in capsys.readouterr().out


def test_listing_claims_loads_no_torch():
    code = (
        "import sys; from course.claims import claims; assert len(claims()) == 58; "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_asking_for_a_part_measures_that_part():
    assert [e.claim.id for e in ledger(("C3", "B7"))] == ["C3", "B7"]
