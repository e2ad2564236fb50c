"""The rungs: exact parameter counts, shapes, errors."""

from __future__ import annotations

import pytest
import torch

from course.models import RUNGS, build_rung, count_parameters

COUNTS = {
    "no-context": 263_168,
    "average": 263_168,
    "average-positions": 279_552,
    "token-plus-average": 279_552,
    "head-instead": 328_704,
    "head": 328_704,
    "four-heads": 345_216,
    "feed-forward": 476_928,
    "one-block": 477_696,
    "two-blocks": 675_584,
}


def test_every_rung_has_exactly_its_parameters():
    assert {slug: count_parameters(build_rung(slug)) for slug in RUNGS} == COUNTS
    assert COUNTS["four-heads"] - COUNTS["head"] == 16_512
    assert COUNTS["feed-forward"] - COUNTS["four-heads"] == 131_712
    assert COUNTS["one-block"] - COUNTS["feed-forward"] == 768


@pytest.mark.parametrize("slug", RUNGS)
def test_every_rung_reads_ids_and_gives_logits(slug):
    model = build_rung(slug, vocab_size=30, d_model=8, n_heads=2, context_length=6)
    for T in (1, 6):
        assert model(torch.randint(30, (2, T))).shape == (2, T, 30)


@pytest.mark.parametrize("slug", RUNGS)
def test_every_rung_learns(slug):
    """Each can fit a text in which the next token follows from the present one."""
    torch.manual_seed(0)
    model = build_rung(slug, vocab_size=6, d_model=16, n_heads=2, context_length=8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    idx = torch.arange(9).repeat(8, 1) + torch.arange(8)[:, None]
    x, y = idx[:, :-1] % 6, idx[:, 1:] % 6
    losses = []
    for _ in range(60):
        loss = torch.nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    # The bare average forgets which token is the present one: it learns less, which is its point.
    assert losses[-1] < (1.8 if slug.startswith("average") else 0.2) < losses[0]


@pytest.mark.parametrize(
    ("idx", "words"),
    [
        (torch.zeros(1, 7, dtype=torch.long), "T=7 tokens do not fit in context_length=6"),
        (torch.zeros(3, dtype=torch.long), r"\(B, T\)"),
        (torch.zeros(1, 3), "integers"),
        (torch.tensor([[1, 30]]), "0…29, got 1…30"),
        (torch.tensor([[-1, 3]]), "got -1…3"),
    ],
)
def test_bad_ids_are_named(idx, words):
    model = build_rung("four-heads", vocab_size=30, d_model=8, n_heads=2, context_length=6)
    with pytest.raises(ValueError, match=words):
        model(idx)


def test_a_rung_that_does_not_exist_is_named():
    with pytest.raises(ValueError, match=r"no rung 'nine'.*two-blocks"):
        build_rung("nine")
