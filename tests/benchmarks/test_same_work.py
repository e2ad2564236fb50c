"""Both sides of a comparison compute the same thing, or it compares nothing."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from benchmarks import classes, generation, models, tokenizer, training_step
from course.corpus import load_corpus
from course.tokenizer import Tokenizer

SHAPE = models.Shape(vocab_size=61, context_length=24, d_model=32, n_heads=4, n_layers=2)
TEXT = "First Citizen:\nWe are 42 cats, aren't we?  Naïve, « déjà vu » … 猫が好き 🐈\n\n\tyes\n"


@pytest.fixture
def ids() -> torch.Tensor:
    return torch.randint(SHAPE.vocab_size, (3, 17), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("name", ["GPT2LMHeadModel", "nn.TransformerEncoder"])
def test_the_peers_compute_the_course_s_logits_and_gradients(require_peers, ids, name):
    if name == "GPT2LMHeadModel":
        require_peers("transformers")
    mine = models.ours(SHAPE).double()
    with torch.no_grad():  # biases start at zero, which would hide a wrong place
        for p in mine.parameters():
            p.add_(0.05 * torch.randn_like(p))
    theirs = _peer_of(mine, name)
    a, b = mine(ids), theirs(ids)
    torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)
    for logits in (a, b):
        F.cross_entropy(logits.flatten(0, 1), ids.flatten()).backward()
    there = theirs.model.transformer.wte if name == "GPT2LMHeadModel" else theirs.embedding
    torch.testing.assert_close(mine.token_embedding.weight.grad, there.weight.grad)


def _peer_of(mine: torch.nn.Module, name: str) -> torch.nn.Module:
    """The peer with the weights of this very model."""
    original = models.ours
    models.ours = lambda shape, seed=0: mine
    try:
        made = models.EncoderLM(SHAPE) if name != "GPT2LMHeadModel" else models.gpt2(SHAPE)
    finally:
        models.ours = original
    made = models.LogitsOnly(made) if name == "GPT2LMHeadModel" else made
    # copied in float32: give both the very same numbers
    with torch.no_grad():
        for p in mine.parameters():
            p.copy_(p.float())
    return made.double()


def test_all_sides_train_alike(require_peers):
    require_peers("transformers")
    losses = []
    for name in ("course", "GPT2LMHeadModel", "nn.TransformerEncoder"):
        trainer = training_step.trainer(training_step.build(name, SHAPE), SHAPE, 4, "cpu")
        losses.append(trainer.run(until=5, progress=False))
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    assert losses[2] == pytest.approx(losses[0], rel=1e-4)


@pytest.mark.parametrize("batch", [1, 3])
def test_both_write_the_same_text(require_peers, batch):
    require_peers("transformers")
    mine = generation.ours_writes(SHAPE, batch, 7)
    theirs = generation.theirs_write(models.gpt2(SHAPE).eval(), generation.prompt(SHAPE, batch), 7)
    assert mine.shape == (batch, generation.PROMPT + 7)
    assert torch.equal(mine, theirs)


def test_the_tokenizers_give_the_same_ids_and_text(require_peers):
    require_peers("tokenizers", "tiktoken")
    learned = Tokenizer.train(load_corpus(download=False).text[:60_000], 500)
    ids = learned.encode(TEXT)
    openai = tokenizer.tiktoken(learned)
    theirs = tokenizer.huggingface(learned)
    assert openai.encode_ordinary(TEXT) == ids
    assert theirs.encode(TEXT).ids == ids
    assert openai.decode(ids) == theirs.decode(ids) == learned.decode(ids) == TEXT


def test_both_learn_as_many_merges(require_peers):
    require_peers("tokenizers")
    text = load_corpus(download=False).text[:60_000]
    mine, theirs = Tokenizer.train(text, 400), tokenizer.huggingface_trained(text, 400)
    assert theirs.get_vocab_size() == mine.vocab_size == 400
    # ties are broken differently: the texts come out about equally long
    assert len(theirs.encode(text).ids) == pytest.approx(len(mine.encode(text)), rel=0.01)


def test_the_limit_makes_the_products_of_a_step():
    """Its multiplications are those PyTorch counts in a forward and a backward pass."""
    from torch.utils.flop_counter import FlopCounterMode

    shape = models.Shape(vocab_size=64, context_length=16, d_model=32, n_heads=4)
    trainer = training_step.trainer(models.ours(shape), shape, 2, "cpu")
    with FlopCounterMode(display=False) as step:
        from torch.nn.attention import SDPBackend, sdpa_kernel

        with sdpa_kernel(SDPBackend.MATH):
            trainer.advance()
    products = training_step.products_side(shape, 2, "cpu", False)
    with FlopCounterMode(display=False) as limit:
        products()
    assert limit.get_total_flops() / training_step.STEPS == step.get_total_flops()


def test_every_learner_hands_in_the_model_answer(tmp_path):
    cell = {
        "cell_type": "code", "source": "raise NotImplementedError",
        "metadata": {"nbgrader": {"grade_id": classes.ANSWER}},
    }  # fmt: skip
    notebook = {"cells": [cell]}
    classes.answered(notebook, 3)
    source = notebook["cells"][0]["source"]
    assert source.startswith("# learner 3\n")
    assert "SOLUTION" not in source
    namespace: dict = {}
    exec("import math, torch\nfrom torch import nn\n" + source, namespace)
    assert namespace["Head"](8, 4, 6)(torch.ones(2, 5, 8)).shape == (2, 5, 4)
