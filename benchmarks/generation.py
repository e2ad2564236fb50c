"""Writing 256 tokens with a key–value cache, one text and sixteen at once."""

from __future__ import annotations

from contextlib import ExitStack

import torch
from torch import Tensor

from benchmarks.comparison import Comparison, Context
from benchmarks.measure import Side, summary
from benchmarks.models import Shape, gpt2, ours
from benchmarks.results import Goal, Row
from course.generation import generate

PROMPT = 16


def prompt(shape: Shape, batch: int) -> Tensor:
    """(B, PROMPT) ids."""
    generator = torch.Generator().manual_seed(2)
    return torch.randint(shape.vocab_size, (batch, PROMPT), generator=generator)


def ours_writes(shape: Shape, batch: int, n: int) -> Tensor:
    """The greedy continuation, (B, PROMPT + n)."""
    return generate(ours(shape), prompt(shape, batch), n, temperature=0.0)


def side(name: str, shape: Shape, batch: int, n: int) -> Side:
    """Seconds to write ``n`` tokens after the prompt, greedily."""
    idx = prompt(shape, batch)
    if name == "course":
        model = ours(shape).eval()
        return lambda: generate(model, idx, n, temperature=0.0)
    peer = gpt2(shape).eval()
    return lambda: theirs_write(peer, idx, n)


def theirs_write(model: object, idx: Tensor, n: int) -> Tensor:
    """The same by ``GPT2LMHeadModel.generate``, cache on."""
    with torch.no_grad():
        return model.generate(  # type: ignore[attr-defined]
            idx, attention_mask=torch.ones_like(idx), do_sample=False, max_new_tokens=n,
            min_new_tokens=n, use_cache=True, pad_token_id=0,
        )  # fmt: skip


def operations(shape: Shape, batch: int, n: int) -> float:
    """How many of PyTorch's operations the course starts to write one token (its profiler)."""
    from torch.profiler import ProfilerActivity, profile

    model, n = ours(shape), min(n, 16)
    with profile(activities=[ProfilerActivity.CPU]) as taken:
        generate(model, prompt(shape, batch), n, temperature=0.0)
    return sum(e.count for e in taken.key_averages() if e.key.startswith("aten::")) / n


def run(context: Context) -> list[Row]:
    rows = []
    n = context.pick(256, 4)
    small = {"vocab_size": 64, "context_length": 32, "d_model": 32}
    shape = Shape(**context.pick({"context_length": 512}, small))
    for batch in context.pick((1, 16), (1, 2)):
        makers = {
            name: (side, (name, shape, batch, n)) for name in ("course", "GPT2LMHeadModel.generate")
        }
        with ExitStack() as stack:
            values = context.interleave(context.stations(stack, makers))
        mine, theirs = (summary(v).median for v in values.values())
        started = operations(shape, batch, n)
        goal = Goal(
            "speed against GPT2LMHeadModel.generate", theirs / mine, at_least=1.5, unit="×",
            why=f"a token takes us {1e3 * mine / n:.2f} ms and starts {started:.0f} operations of "
            "PyTorch's, each of them small",
        )  # fmt: skip
        rate = {"course: operations a token": started,
                "course: tokens a second": batch * n / mine,
                "GPT2LMHeadModel: tokens a second": batch * n / theirs}  # fmt: skip
        texts = "one text" if batch == 1 else f"{batch} texts at once"
        rows.append(Row(f"{n} tokens, {texts}", "s", values, [goal], rate))
    return rows


COMPARISON = Comparison(
    name="generation",
    title="Writing with a cache",
    against="GPT2LMHeadModel.generate, same shape and weights, greedy, cache on",
    run=run,
    seconds=45,
    peers=("transformers",),
    notes=("Both sides write the same tokens (a test holds them equal).",),
)
