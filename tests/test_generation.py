"""Writing with and without a cache, stopping, cropping; beam search against brute force."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from course.generation import beam_search, generate
from course.models import GPT, EncoderDecoder, build_rung


def make(positions="learned", **kwargs):
    torch.manual_seed(0)
    return GPT(20, 8, 12, 3, 2, positions=positions, **kwargs).double()


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rope", "alibi", "none"])
@pytest.mark.parametrize("temperature", [0, 1.0])
def test_with_and_without_the_cache_is_the_same_text(positions, temperature):
    """Also past the context length, where the window slides."""
    model, idx = make(positions), torch.randint(20, (3, 2))
    texts = [
        generate(
            model,
            idx,
            14,
            temperature=temperature,
            use_cache=cache,
            generator=torch.Generator().manual_seed(1),
        )
        for cache in (True, False)
    ]
    assert texts[0].equal(texts[1])
    assert texts[0].shape == (3, 16)
    assert texts[0][:, :2].equal(idx)


def test_the_window_is_the_last_tokens():
    model = make().eval()
    idx = torch.randint(20, (1, 11))
    expected = model(idx[:, -8:])[:, -1].argmax(-1)
    assert generate(model, idx, 1, temperature=0)[:, -1].equal(expected)


def test_every_ladder_model_writes():
    model = build_rung("one-block", vocab_size=20, d_model=8, n_heads=2, context_length=6)
    assert generate(model, torch.zeros(1, 1, dtype=torch.long), 9, top_k=3).shape == (1, 10)


def test_it_stops_when_every_row_has_ended():
    """B1: until an end token or the length limit."""
    model = make()
    free = generate(model, torch.tensor([[1], [2]]), 6, temperature=0)
    end = free[0, 2].item()
    text = generate(model, torch.tensor([[1], [2]]), 6, temperature=0, end=end)
    first = free[0].tolist().index(end, 1)
    assert text[0, first:].eq(end).all()
    alone = generate(model, torch.tensor([[1]]), 6, temperature=0, end=end)
    assert alone.shape[1] == first + 1
    assert generate(model, torch.tensor([[1]]), 0).tolist() == [[1]]


@pytest.mark.parametrize("training", [True, False])
def test_the_model_is_left_in_the_mode_it_was_found_in(training):
    model = make(dropout=0.5).train(training)
    idx = torch.zeros(1, 2, dtype=torch.long)
    assert generate(model, idx, 3, temperature=0).equal(generate(model, idx, 3, temperature=0))
    assert model.training is training


def test_tokens_can_be_watched():
    seen = []
    text = generate(make(), torch.tensor([[3]]), 4, on_token=lambda new: seen.append(new.item()))
    assert seen == text[0, 1:].tolist()


@pytest.mark.parametrize("prompt", [torch.zeros(1, 0, dtype=torch.long), torch.zeros(2).long()])
def test_an_empty_prompt_is_refused(prompt):
    with pytest.raises(ValueError, match=r"T >= 1, got"):
        generate(make(), prompt, 3)
    with pytest.raises(ValueError, match="-1"):
        generate(make(), torch.zeros(1, 1, dtype=torch.long), -1)


def pair():
    torch.manual_seed(1)
    model = EncoderDecoder(5, 12, 3, 1, 24, context_length=9, shared=False).double().eval()
    with torch.no_grad():
        model.output.weight.mul_(4)  # an untrained model is too even for a search to matter
    return model, torch.tensor([[3, 2, 4, 2]])


def brute_force(model, source, end, longest):
    """The best finished text of up to ``longest`` tokens, by trying every one."""
    memory, best = model.encode(source), (-float("inf"), None)
    others = [i for i in range(5) if i != end]
    for n in range(1, longest + 1):
        for body in product(others, repeat=n - 1):
            text = torch.tensor([[0, *body]])
            log_p = model.decode(text, memory)[0].log_softmax(-1)
            total = sum(log_p[i, t].item() for i, t in enumerate([*body, end]))
            best = max(best, (total / ((5 + n) / 6) ** 0.6, list(body)))
    return best


def test_a_wide_beam_finds_what_brute_force_finds():
    model, source = pair()
    with torch.no_grad():
        model.output.bias[1] += 3  # ends are likely, so that short texts win
        score, text = brute_force(model, source, end=1, longest=4)
    found, found_score = beam_search(
        model, source, start=0, end=1, beams=200, max_new_tokens=4, length_penalty=0.6
    )
    assert found.tolist() == text
    assert found_score == pytest.approx(score)


def test_one_beam_is_greedy_search():
    model, source = pair()
    memory, text = model.encode(source), [0]
    for _ in range(6):
        text.append(model.decode(torch.tensor([text]), memory)[0, -1].argmax().item())
        if text[-1] == 1:
            break
    found, _ = beam_search(model, source, start=0, end=1, beams=1, max_new_tokens=6)
    assert found.tolist() == [t for t in text[1:] if t != 1]


def test_more_beams_never_find_a_less_likely_text_here():
    model, source = pair()
    scores = [
        beam_search(model, source, start=0, end=1, beams=b, max_new_tokens=5)[1] for b in (1, 4, 64)
    ]
    assert scores[0] <= scores[2]
    assert scores[1] <= scores[2]


def test_beam_search_takes_one_source():
    model, source = pair()
    with pytest.raises(ValueError, match=r"\(2, 4\)"):
        beam_search(model, source.repeat(2, 1), start=0, end=1)
    with pytest.raises(ValueError, match="beams"):
        beam_search(model, source, start=0, end=1, beams=0)
