"""The pronouns' experiment measures what it says: its languages, its score, its circuit."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from course.experiments import (
    pronouns,
)
from course.experiments.registry import EXPERIMENTS


def words(ids: torch.Tensor) -> list[list[str]]:
    return [[pronouns.WORDS[i] for i in row] for row in ids.tolist()]


@pytest.mark.parametrize("seed", [0, 1])
def test_the_closed_language_holds_out_pairs_whose_reverse_is_in_training(seed):
    config = dict(EXPERIMENTS["pronouns"].row("two-blocks").config)
    training, held_out = (words(part) for part in pronouns.corpus(config, seed))
    pairs = [{(s[pronouns.X], s[pronouns.Y]) for s in part} for part in (training, held_out)]
    assert len(pairs[1]) == config["held_out_pairs"] == 90
    assert not pairs[0] & pairs[1]
    assert {(y, x) for x, y in pairs[1]} <= pairs[0]
    assert len(pairs[0] | pairs[1]) == 240
    assert len(training) + len(held_out) == 240 * 8
    nouns = {noun for pair in pairs[0] for noun in pair}
    assert {x for x, _ in pairs[0]} == {y for _, y in pairs[0]} == nouns == set(pronouns.NOUNS)


def test_the_leaky_language_gives_the_category_away():
    config = dict(EXPERIMENTS["pronouns"].row("leaky-average").config)
    training, held_out = (words(part) for part in pronouns.corpus(config, 0))
    assert len(held_out) == 12 * 8
    for sentence in training + held_out:
        assert sentence[pronouns.X] in pronouns.ANIMALS
        assert sentence[pronouns.Y] in pronouns.PLACES
        animal = sentence[pronouns.ADJECTIVE] in pronouns.CROSSER
        assert (sentence[pronouns.REFERENT] in pronouns.ANIMALS) is animal


def test_the_sentence():
    crosser = pronouns.sentence("dog", "road", "tired")
    assert " ".join(crosser) == (
        "the dog did not cross the road because it was too tired , so the dog waited ."
    )
    assert pronouns.sentence("dog", "road", "wet")[pronouns.REFERENT] == "road"
    assert len(crosser) == pronouns.LENGTH == 18
    assert (crosser[pronouns.X], crosser[pronouns.Y]) == ("dog", "road")
    assert set(crosser) <= set(pronouns.WORDS)
    assert len(set(pronouns.WORDS)) == len(pronouns.WORDS)
    assert (len(pronouns.NOUNS), len(pronouns.CROSSER), len(pronouns.CROSSED)) == (16, 4, 4)


def test_the_score_counts_right_wrong_noun_and_other():
    config = dict(EXPERIMENTS["pronouns"].row("average").config)
    _, held_out = pronouns.corpus(config, 0)

    class Guess(torch.nn.Module):
        """Says the first noun, whatever is asked."""

        def forward(self, idx):
            return (
                torch.nn.functional.one_hot(idx[:, pronouns.X], len(pronouns.WORDS))[:, None]
                .float()
                .expand(-1, idx.shape[1], -1)
            )

    metrics, kept = pronouns.measure(Guess(), held_out, config)
    assert (metrics["right"], metrics["wrong_noun"], metrics["other"]) == (0.5, 0.5, 0.0)
    assert kept == {}


def test_block_one_asks_the_same_whatever_the_adjective():
    config = dict(EXPERIMENTS["pronouns"].row("two-blocks").config)
    torch.manual_seed(3)
    model = pronouns.build(config).eval()
    for p in model.parameters():  # large weights, so that maps are far from uniform
        torch.nn.init.normal_(p, std=0.3) if p.dim() == 2 else None
    _, held_out = pronouns.corpus(config, 0)
    with torch.no_grad():
        metrics, kept = pronouns.measure(model, held_out, config)
    assert metrics["block1_score_difference"] < 1e-4
    assert 0 < metrics["block1_weight_difference"] <= metrics["block1_adjective_weight_max"]
    assert metrics["block2_weight_difference"] > 0.01
    assert kept["maps"].shape == (8, 2, 4, 17, 17)
    assert kept["words"][:, pronouns.ADJECTIVE].tolist() == kept["adjectives"].tolist()
    assert kept["adjectives"].tolist() == list(pronouns.ADJECTIVES)
    assert kept["logits"].shape == (8, len(pronouns.WORDS))
    rows = kept["maps"].astype(np.float32).sum(-1)
    assert np.allclose(rows, 1, atol=5e-3)
    with torch.no_grad():
        ids = held_out[:8, :-1]
        scores = pronouns.first_block_scores(model, ids).masked_fill(
            ~torch.ones(17, 17, dtype=torch.bool).tril(), -math.inf
        )
        assert torch.allclose(scores.softmax(-1), model(ids, return_weights=True)[1][0], atol=1e-5)
