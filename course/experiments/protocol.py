"""How the course trains a language model for a record: one protocol for every experiment.

Corpus and tokens, a training run that can be stopped after any step and continued, perplexity on
both splits.  What is here is part of what a record's code hash covers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from course.corpus import load_corpus
from course.experiments.base import FIRST_LOSSES, Replayed, Run
from course.tokenizer import TokenizedCorpus, load_tokens
from course.training import Batches, Trainer, perplexity

__all__ = [
    "corpus_entry",
    "held_out_windows",
    "probe_steps",
    "split_perplexities",
    "text_batches",
    "tokens_for",
    "train",
]


def tokens_for(run: Run) -> TokenizedCorpus:
    """The corpus as tokens.

    A run at the full budget takes nothing but the real corpus; a quick one may fall back on the
    course's own grammar, and its record says so.

    Raises:
        CorpusError: the corpus cannot be had (its message says where to put the file).
    """
    corpus = load_corpus(fallback=run.budget == "quick")
    return load_tokens(corpus, run.config["vocab_size"])


def corpus_entry(tokens: TokenizedCorpus) -> dict[str, Any]:
    """What a record says of the text: its name, its hash, and the hash of the token ids."""
    ids = torch.cat([tokens.train, tokens.held_out]).to(torch.int64).numpy()
    return {
        "name": tokens.corpus.name,
        "sha256": tokens.corpus.sha256,
        "is_fallback": tokens.corpus.is_fallback,
        "tokens": len(ids),
        "tokens_sha256": hashlib.sha256(ids.astype("<i8").tobytes()).hexdigest(),
    }


def text_batches(run: Run, tokens: TokenizedCorpus) -> Batches:
    """Random windows of the training split, drawn from the run's seed."""
    return Batches(
        tokens.train,
        run.config["context_length"],
        run.config["batch_size"],
        seed=run.seed,
        device=run.device,
    )


def train(
    run: Run,
    trainer: Trainer,
    probe: Callable[[Trainer], dict[str, float]] | None = None,
    probe_at: Iterable[int] = (),
) -> dict[str, list[float]]:
    """Train to the end, from the run's checkpoint where there is one.

    Args:
        probe: measures something of the model before step 1 and after the steps in ``probe_at``;
            it must draw no random numbers.

    Returns:
        What the probe found: ``{"step": […], name: […]}``, empty without a probe.

    Raises:
        Replayed: the run was asked for its first steps only.
    """
    wanted = set(probe_at)
    found: dict[str, list[float]] = {}
    saved = run.checkpoint.load()
    if saved is not None:
        trainer.load_state_dict(saved["trainer"])
        found = saved["found"]

    def look(step: int) -> None:
        if probe is None or step not in wanted:
            return
        was_training = trainer.model.training
        trainer.model.eval()
        with torch.no_grad():
            values = probe(trainer)
        trainer.model.train(was_training)
        for name, value in {"step": step, **values}.items():
            found.setdefault(name, []).append(value)

    def save() -> None:
        run.checkpoint.save({"trainer": trainer.state_dict(), "found": found})

    def after_step(trainer: Trainer) -> None:
        step = trainer.step
        if step == run.replay:
            raise Replayed(trainer.losses[:step])
        look(step)
        run.progress(step, trainer.steps, f"loss {trainer.losses[-1]:.3f}")
        if run.checkpoint.due():
            save()

    if not trainer.step:
        look(0)
    run.progress(trainer.step, trainer.steps, "")
    before = trainer.step
    trainer.run(progress=False, on_step=after_step)
    if trainer.step > max(before, FIRST_LOSSES):
        save()  # evaluation can take a while, too: a kill in it should not cost the last steps
    return found


def probe_steps(steps: int, points: int = 40) -> list[int]:
    """0, 1, 2, 5, 10, 20, …, then evenly up to ``steps``: change is fast at the start."""
    early = [n for n in (0, 1, 2, 5, 10, 20, 50) if n <= steps]
    even = [round(steps * (i + 1) / points) for i in range(points)]
    return sorted({*early, *even})


def held_out_windows(tokens: TokenizedCorpus, context_length: int, count: int) -> Tensor:
    """``count`` windows of the held-out split, evenly spaced: (count, T) ids."""
    starts = torch.linspace(0, len(tokens.held_out) - context_length, count).long()
    return torch.stack([tokens.held_out[s : s + context_length] for s in starts.tolist()])


def split_perplexities(
    model: nn.Module, tokens: TokenizedCorpus, context_length: int
) -> dict[str, float]:
    """Perplexity over all positions of the non-overlapping windows of both splits.

    ``held_out`` is the whole held-out split; ``train`` the first as many training tokens.
    """
    return {
        "held_out": perplexity(model, tokens.held_out, context_length),
        "train": perplexity(model, tokens.train[: len(tokens.held_out)], context_length),
    }
