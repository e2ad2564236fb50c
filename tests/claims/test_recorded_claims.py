"""Claims that rest on records follow them: as published, otherwise, stale, or of another text."""

from __future__ import annotations

import pytest

from course.claims.base import (
    CORRECTED,
    DOES_NOT_HOLD,
    HOLDS,
    NOT_YET,
    SHOWN,
    entry,
)
from course.claims.ledger import claims
from tests.claims.made import put

CLAIMS = {claim.id: claim for claim in claims()}


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
