"""The encoder–decoder of 2017, small, on two sequence tasks (C11): reversal, and number words.

Trained with the paper's recipe: teacher forcing, Adam with β = (0.9, 0.98), the warm-up schedule,
label smoothing 0.1, post-norm, one shared matrix.  Scored by exact match of whole outputs on
sources that training never saw, greedily and by beam search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from course.experiments.base import Experiment, Metric, Result, Row, Run

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from course.models.encoder_decoder import EncoderDecoder

PAD, START, END = 0, 1, 2
_SPECIAL = ("<pad>", "<start>", "<end>")
LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")
DIGITS = tuple("0123456789")
_UNITS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NUMBER_WORDS = (*_UNITS, *_TENS, "hundred", "thousand", "and")
VOCABULARIES = {"reversal": (*_SPECIAL, *LETTERS), "numbers": (*_SPECIAL, *DIGITS, *NUMBER_WORDS)}

_CONFIG = {
    "d_model": 64,
    "n_heads": 4,
    "n_layers": 2,
    "d_ff": 256,
    "context_length": 24,
    "dropout": 0.0,
    "label_smoothing": 0.1,
    "warmup": 400,
    "batch_size": 64,
    "steps": 10_000,
    "test_sources": 500,
    "beams": 4,
}
_TEST_SEED = 1_000_003


def run(run: Run) -> Result:
    """Train on one task by the 2017 recipe; score greedy and beam search."""
    import torch

    from course.experiments.protocol import train
    from course.training import Trainer, noam_rate

    config = run.config
    torch.manual_seed(run.seed)
    model = build(config).to(run.device)
    trainer = Trainer(
        model,
        Pairs(config, run.seed, run.device),
        lr=1.0,
        steps=config["steps"],
        schedule=lambda step: noam_rate(step, config["d_model"], config["warmup"]),
        optimizer="adam-2017",
        label_smoothing=config["label_smoothing"],
        ignore_index=PAD,
    )
    train(run, trainer)
    metrics, arrays = measure(model.eval(), config, keep=run.seed == 0, device=run.device)
    return Result(metrics, trainer.losses, arrays=arrays)


def build(config: dict[str, Any]) -> EncoderDecoder:
    """A small EncoderDecoder, as in the paper but for its sizes."""
    from course.models.encoder_decoder import EncoderDecoder

    return EncoderDecoder(
        len(VOCABULARIES[config["task"]]),
        config["d_model"],
        config["n_heads"],
        config["n_layers"],
        config["d_ff"],
        config["context_length"],
        config["dropout"],
    )


def in_words(n: int) -> list[str]:
    """A number from 0 to 999,999 in words, British style.

    >>> " ".join(in_words(21_305))
    'twenty one thousand three hundred and five'
    """
    if n >= 1000:
        thousands, rest = divmod(n, 1000)
        tail = ["and", *in_words(rest)] if 0 < rest < 100 else in_words(rest) if rest else []
        return [*in_words(thousands), "thousand", *tail]
    if n >= 100:
        hundreds, rest = divmod(n, 100)
        return [_UNITS[hundreds], "hundred", *(["and", *in_words(rest)] if rest else [])]
    if n >= 20:
        tens, rest = divmod(n, 10)
        return [_TENS[tens - 2], *([_UNITS[rest]] if rest else [])]
    return [_UNITS[n]]


def pair(task: str, generator: torch.Generator, held_out: bool) -> tuple[list[str], list[str]]:
    """A random source and its target; whether a source is held out depends on itself alone."""
    import torch

    while True:
        if task == "reversal":
            length = int(torch.randint(4, 13, (), generator=generator))
            source = [LETTERS[i] for i in torch.randint(26, (length,), generator=generator)]
            target = source[::-1]
        else:
            # A number of 1 to 6 digits, each length equally often.
            digits = int(torch.randint(1, 7, (), generator=generator))
            n = int(torch.randint(10**digits, (), generator=generator))
            source, target = in_words(n), list(str(n))
        if (sum(ord(c) * (i + 1) for i, c in enumerate("".join(source))) % 10 == 0) == held_out:
            return source, target


def encode(words: list[str], task: str) -> list[int]:
    """Ids of letters, digits or words."""
    vocabulary = VOCABULARIES[task]
    return [vocabulary.index(word) for word in words]


class Pairs:
    """Batches (source, target so far, source mask, target): padded ids and a boolean mask."""

    def __init__(self, config: dict[str, Any], seed: int, device: str) -> None:
        import torch

        self.config, self.device = config, device
        self.generator = torch.Generator().manual_seed(seed)

    def next(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Sources (B, S), target inputs (B, T), source mask (B, S), target outputs (B, T)."""
        task = self.config["task"]
        pairs = [
            pair(task, self.generator, held_out=False) for _ in range(self.config["batch_size"])
        ]
        source = _padded([encode(s, task) for s, _ in pairs])
        target = _padded([[START, *encode(t, task), END] for _, t in pairs])
        tensors = (source, target[:, :-1], source != PAD, target[:, 1:])
        return tuple(x.to(self.device) for x in tensors)  # type: ignore[return-value]

    def state_dict(self) -> dict[str, Any]:
        """The generator's state."""
        return {"generator": self.generator.get_state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on drawing from ``state``."""
        self.generator.set_state(state["generator"].cpu())


def _padded(rows: list[list[int]]) -> Tensor:
    import torch

    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


def measure(
    model: EncoderDecoder, config: dict[str, Any], keep: bool, device: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Exact match of greedy and beam search on held-out sources, and how their scores compare.

    ``beam_not_worse`` is the share of sources where the beam's text has at least the greedy one's
    log-probability.  With ``keep``: one example's cross-attention, and the weights.
    """
    import numpy as np
    import torch

    from course.experiments.arrays import half, stored_weights
    from course.generation import beam_search

    task = config["task"]
    generator = torch.Generator().manual_seed(_TEST_SEED)
    counts = {1: 0, config["beams"]: 0}
    not_worse, example = 0, None
    for _ in range(config["test_sources"]):
        source, target = pair(task, generator, held_out=True)
        ids = torch.tensor([encode(source, task)], device=device)
        wanted = encode(target, task)
        scores = {}
        for beams in counts:
            # length_penalty 0: plain log-probabilities, which greedy search and beams share
            written, score = beam_search(
                model,
                ids,
                start=START,
                end=END,
                beams=beams,
                max_new_tokens=config["context_length"] - 1,
                length_penalty=0.0,
            )
            counts[beams] += written.tolist() == wanted
            scores[beams] = score
        not_worse += scores[config["beams"]] >= scores[1] - 1e-4
        if example is None or len(source) > len(example[0]):
            example = (source, target)
    n = config["test_sources"]
    metrics = {
        "greedy": counts[1] / n,
        "beam": counts[config["beams"]] / n,
        "beam_not_worse": not_worse / n,
    }
    if not keep or example is None:
        return metrics, {}
    source, target = example
    with torch.no_grad():
        memory = model.encode(torch.tensor([encode(source, task)], device=device))
        decoder_input = torch.tensor([[START, *encode(target, task)]], device=device)
        _, maps = model.decode(decoder_input, memory, return_weights=True)
    arrays = {
        "cross": half(torch.stack(list(maps))[:, 0]),  # (L, H, T, S)
        "source": np.array(source),
        "target": np.array([*target, "<end>"]),
    }
    if task == "reversal":
        arrays |= stored_weights(model)
    return metrics, arrays


EXPERIMENT = Experiment(
    name="seq2seq",
    title="The encoder–decoder of 2017, small, on two sequence tasks",
    claims=("C11",),
    rows=(
        Row("reversal", "letters in reverse", {**_CONFIG, "task": "reversal"}),
        Row("numbers", "number words into digits", {**_CONFIG, "task": "numbers"}),
    ),
    run=run,
    metrics=(
        Metric("greedy", "exact match, greedy", digits=3),
        Metric("beam", "exact match, beam search", digits=3),
        Metric("beam_not_worse", "beam at least as likely", digits=3),
    ),
    quick={"steps": 30, "test_sources": 5},
    evaluation=("course.experiments.seq2seq:measure", "course.training:noam_rate"),
    seeds=2,
)
