"""Writing: predict, pick, append; with a key–value cache, and by beam search."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn

from course.checked import require_positive
from course.models.encoder_decoder import EncoderDecoder
from course.models.gpt import GPT
from course.sampling import sample_next


@torch.no_grad()
def generate(
    model: nn.Module,
    idx: Tensor,
    max_new_tokens: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    end: int | None = None,
    use_cache: bool = True,
    generator: torch.Generator | None = None,
    on_token: Callable[[Tensor], None] | None = None,
) -> Tensor:
    """Continue ``idx`` by up to ``max_new_tokens`` tokens: predict, pick, append.

    Stops early once every row has written ``end``; rows that are done go on with ``end``. A text
    longer than the context is read by its last tokens. With a cache (a :class:`GPT` only) each
    step computes the new token alone, with the same result; once the context is full every
    token's position shifts with each step, so the cache is of no use any more and each step reads
    the whole window.

    Args:
        model: ids (B, T) → logits (B, T, V), with a ``context_length``; any ladder model or GPT.
        idx: ``(B, T)`` prompt, T ≥ 1.
        temperature, top_k, top_p, generator: as in :func:`course.sampling.sample_next`.
        end: the id that ends a text.
        use_cache: False computes every step from the whole text.
        on_token: called with each step's new ids (B,), for streaming.

    Returns:
        ``(B, T + n)`` with n ≤ max_new_tokens; the model is left in the mode it was found in.

    Raises:
        ValueError: an empty prompt, or a negative number of tokens.
    """
    if idx.dim() != 2 or idx.shape[1] < 1:
        raise ValueError(
            f"the prompt must be (B, T) ids with T >= 1, got {tuple(idx.shape)}; "
            "start an empty text with a token, such as a line break"
        )
    if max_new_tokens < 0:
        raise ValueError(f"max_new_tokens must be 0 or more, got {max_new_tokens}")
    was_training = model.training
    model.eval()
    try:
        step = _CachedSteps(model, idx.shape[0]) if use_cache and isinstance(model, GPT) else None
        done = torch.zeros(idx.shape[0], dtype=torch.bool, device=idx.device)
        for _ in range(max_new_tokens):
            logits = step(idx) if step is not None else _whole_window(model, idx)  # (B, V)
            new = sample_next(logits, temperature, top_k, top_p, generator)  # (B,)
            if end is not None:
                new = new.masked_fill(done, end)
                done |= new == end
            idx = torch.cat((idx, new[:, None]), dim=1)  # (B, T + 1)
            if on_token is not None:
                on_token(new)
            if end is not None and bool(done.all()):
                break
    finally:
        model.train(was_training)
    return idx


def _whole_window(model: nn.Module, idx: Tensor) -> Tensor:
    context = cast(int, model.context_length)
    return cast(Tensor, model(idx[:, -context:]))[:, -1]  # (B, V)


class _CachedSteps:
    """The last position's logits, computing only what the cache does not hold yet."""

    def __init__(self, model: GPT, batch: int) -> None:
        self.model, self.cache = model, model.new_cache(batch)

    def __call__(self, idx: Tensor) -> Tensor:
        if idx.shape[1] > self.model.context_length:
            return _whole_window(self.model, idx)
        new = idx[:, self.cache[0].length :]
        return cast(Tensor, self.model(new, cache=self.cache))[:, -1]


@torch.no_grad()
def beam_search(
    model: EncoderDecoder,
    source: Tensor,
    *,
    start: int,
    end: int,
    beams: int = 4,
    max_new_tokens: int = 64,
    length_penalty: float = 0.6,
    source_mask: Tensor | None = None,
) -> tuple[Tensor, float]:
    """The best of the ``beams`` likeliest translations of one source.

    Keeps the ``beams`` unfinished texts of highest log-probability; a text that writes ``end`` is
    set aside. Finished texts are compared by log-probability over ``((5 + n)/6)^length_penalty``
    (Vaswani et al. 2017, section 6.1, after Wu et al. 2016), n counting what was written with
    ``end``. ``beams=1`` is greedy search.

    Args:
        source: ``(1, S)`` ids.
        start, end: the ids that begin and end a target.
        beams: how many texts are kept.
        max_new_tokens: the longest target; texts unfinished by then compete as they are.
        length_penalty: 0 compares plain log-probabilities.
        source_mask: ``(1, S)`` boolean, True = a real token.

    Returns:
        The ids written, ``(n,)`` without ``start`` and ``end``, and their score.

    Raises:
        ValueError: more than one source, or a count below 1.
    """
    require_positive(beams=beams, max_new_tokens=max_new_tokens)
    if source.dim() != 2 or source.shape[0] != 1:
        raise ValueError(
            f"beam search takes one source (1, S) at a time, got {tuple(source.shape)}"
        )
    was_training = model.training
    model.eval()
    try:
        memory = model.encode(source, source_mask)  # (1, S, C)
        return _beams(
            model,
            memory,
            source_mask,
            start,
            end,
            beams,
            min(max_new_tokens, model.context_length),
            length_penalty,
        )
    finally:
        model.train(was_training)


def _beams(
    model: EncoderDecoder,
    memory: Tensor,
    memory_mask: Tensor | None,
    start: int,
    end: int,
    beams: int,
    limit: int,
    length_penalty: float,
) -> tuple[Tensor, float]:
    texts = torch.tensor([[start]], device=memory.device)  # (beams alive, T)
    totals = torch.zeros(1, device=memory.device)  # log-probability of each
    cache, finished = model.new_cache(1), []
    penalise = lambda total, n: float(total) / ((5 + n) / 6) ** length_penalty  # noqa: E731
    for n in range(1, limit + 1):
        alive = len(texts)
        logits = cast(
            Tensor,
            model.decode(
                texts[:, -1:],
                memory.expand(alive, -1, -1),
                None if memory_mask is None else memory_mask.expand(alive, -1),
                cache=cache,
            ),
        )
        scores = totals[:, None] + logits[:, -1].log_softmax(dim=-1)  # (alive, V)
        V = scores.shape[1]
        # Twice as many candidates as beams, so that ends do not crowd out what goes on.
        best, flat = scores.flatten().topk(min(2 * beams, scores.numel()))
        rows, ids = flat // V, flat % V
        going = (ids != end).nonzero().flatten()[:beams]
        # An ending counts only where it ranks among the beams, as a greedy search would take it.
        for total, row in zip(
            best[:beams][ids[:beams] == end], rows[:beams][ids[:beams] == end], strict=True
        ):
            finished.append((penalise(total, n), texts[row, 1:]))
        texts = torch.cat((texts[rows[going]], ids[going, None]), dim=1)
        totals = best[going]
        for part in cache:
            part.reorder(rows[going])
        if len(finished) >= beams or len(texts) == 0:
            break
    else:
        finished += [(penalise(t, limit), text[1:]) for t, text in zip(totals, texts, strict=True)]
    score, text = max(finished, key=lambda pair: pair[0])
    return text, score
