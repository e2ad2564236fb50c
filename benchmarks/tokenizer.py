"""Byte-pair encoding: learning the merges, encoding a text, decoding it."""

from __future__ import annotations

from typing import Any

from benchmarks.comparison import Comparison, Context
from benchmarks.measure import summary
from benchmarks.results import Goal, Row
from course.corpus import load_corpus
from course.tokenizer import SPLIT_PATTERN, Tokenizer


def huggingface_trained(text: str, vocab_size: int) -> Any:
    """Hugging Face's byte-level BPE, trained on ``text``; split by GPT-2's pattern, as ours is."""
    from tokenizers import Tokenizer as HF
    from tokenizers import decoders, models, pre_tokenizers, trainers

    made = HF(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator([text], trainer)
    return made


def byte_letters() -> list[str]:
    """GPT-2's letter for each byte (it writes bytes as printable characters)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    extra = iter(range(256, 512))
    return [chr(b) if b in plain else chr(next(extra)) for b in range(256)]


def huggingface(tokenizer: Tokenizer) -> Any:
    """Hugging Face's BPE with the course's merges and ids."""
    from tokenizers import Tokenizer as HF
    from tokenizers import decoders, models, pre_tokenizers

    letters = byte_letters()
    names = [
        "".join(letters[b] for b in tokenizer.token_bytes(i)) for i in range(tokenizer.vocab_size)
    ]
    vocabulary = {name: i for i, name in enumerate(names)}
    merges = [(names[a], names[b]) for a, b in tokenizer.merges]
    made = HF(models.BPE(vocab=vocabulary, merges=merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    made.decoder = decoders.ByteLevel()
    return made


def tiktoken(tokenizer: Tokenizer) -> Any:
    """OpenAI's encoder with the course's merges and ids."""
    from tiktoken import Encoding

    ranks = {tokenizer.token_bytes(i): i for i in range(tokenizer.vocab_size)}
    return Encoding("course", pat_str=SPLIT_PATTERN, mergeable_ranks=ranks, special_tokens={})


def run(context: Context) -> list[Row]:
    corpus = load_corpus()
    text = corpus.text[: context.pick(None, 20_000)]
    size = context.pick(1024, 300)
    tokenizer = Tokenizer.train(text, size)
    ids = tokenizer.encode(text)
    learn = context.interleave(
        {
            "course": lambda: Tokenizer.train(text, size),
            "tokenizers": lambda: huggingface_trained(text, size),
        }
    )
    # A tokenizer remembers words it has met: a new one a round, so that each encodes anew.
    encode = context.interleave(
        {
            "course": _fresh(lambda: Tokenizer(tokenizer.merges), lambda t: t.encode_array(text)),
            "tokenizers": _fresh(lambda: huggingface(tokenizer), lambda t: t.encode(text).ids),
            "tiktoken": _fresh(lambda: tiktoken(tokenizer), lambda t: t.encode_ordinary(text)),
        }
    )
    theirs, openai = huggingface(tokenizer), tiktoken(tokenizer)
    decode = context.interleave(
        {
            "course": lambda: tokenizer.decode(ids),
            "tokenizers": lambda: theirs.decode(ids),
            "tiktoken": lambda: openai.decode(ids),
        }
    )
    whole = {
        name: [sum(parts) for parts in zip(learn[name], encode[name], decode[name], strict=True)]
        for name in ("course", "tokenizers")
    }
    ratio = summary(whole["tokenizers"]).median / summary(whole["course"]).median
    goal = Goal(
        "speed against tokenizers, in the sum", ratio, at_least=1.0, unit="×",
        why="tokenizers is compiled Rust; ours is Python that leans on str.replace",
    )  # fmt: skip
    name = f"{corpus.name} ({len(text):,} characters)"
    return [
        Row(f"learning {size - 256} merges on {name}", "s", learn),
        Row("encoding it", "s", encode, note="Each with our merges; the ids are the same."),
        Row("decoding it", "s", decode),
        Row("the sum", "s", whole, [goal]),
    ]


def _fresh(make: Any, work: Any) -> Any:
    """A side that makes its tool first and times the work alone."""
    import time

    def side() -> float:
        tool = make()
        start = time.perf_counter()
        work(tool)
        return time.perf_counter() - start

    return side


COMPARISON = Comparison(
    name="tokenizer",
    title="The tokenizer",
    against="Hugging Face tokenizers; tiktoken with our merges",
    run=run,
    seconds=60,
    peers=("tokenizers", "tiktoken"),
    rounds=7,
)
