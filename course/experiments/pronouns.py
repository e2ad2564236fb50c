"""Whom does "it" mean? A language whose questions have right answers (A24 to A26).

``the {x} did not cross the {y} because it was too {adj} , so the {ref} waited .``  Four adjectives
describe whoever crosses, four what is crossed; the referent is x or y accordingly.

In the *leaky* language x is an animal and y a place, so the adjective alone names the category and
a bag of words suffices.  In the *closed* one the same sixteen nouns stand in both slots: the order
must be read, which an average cannot do.  Held out are ordered pairs of nouns; in the closed
language the reverse of each was in training, so that a model which goes by the pair alone names the
wrong noun.  Training is ordinary next-token prediction; scored is the one word after "so the".
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from course.experiments.base import Experiment, Metric, Result, Row, Run

if TYPE_CHECKING:
    from torch import Tensor, nn

ANIMALS = ("animal", "dog", "cat", "horse", "cow", "fox", "goat", "child")
PLACES = ("street", "river", "road", "bridge", "field", "track", "square", "lane")
NOUNS = ANIMALS + PLACES
CROSSER = ("tired", "scared", "slow", "weak")  # true of the one who crosses
CROSSED = ("wet", "wide", "busy", "steep")  # true of what is crossed
ADJECTIVES = CROSSER + CROSSED
WORDS = (
    "the",
    "did",
    "not",
    "cross",
    "because",
    "it",
    "was",
    "too",
    ",",
    "so",
    "waited",
    ".",
    *NOUNS,
    *ADJECTIVES,
)
X, Y, ADJECTIVE, REFERENT = 1, 6, 11, 15  # places of the four that vary; asked at REFERENT − 1
LENGTH = 18

# Sizes and budgets are ours.  The leaky language gets the course's width, so that the average has
# long converged; the closed one is narrower and shorter, which is where one block and two differ.
_COMMON = {"n_heads": 4, "batch_size": 64, "lr": 1e-3}
_LANGUAGES = {
    "leaky": {**_COMMON, "d_model": 128, "steps": 3000, "held_out_pairs": 12},
    "closed": {**_COMMON, "d_model": 64, "steps": 2500, "held_out_pairs": 90},
}


def sentence(x: str, y: str, adjective: str) -> list[str]:
    """The sentence, a word an item.

    >>> " ".join(sentence("dog", "road", "tired")[-4:])
    'the dog waited .'
    """
    referent = x if adjective in CROSSER else y
    return (
        f"the {x} did not cross the {y} because it was too {adjective} , so the {referent} waited ."
    ).split()


def run(run: Run) -> Result:
    """Train one model on one of the languages; score it on the held-out pairs."""
    import torch

    from course.experiments.protocol import train
    from course.training import Trainer

    training, held_out = corpus(run.config, run.seed)
    torch.manual_seed(run.seed)
    model = build(run.config).to(run.device)
    batches = Sentences(training.to(run.device), run.config["batch_size"], run.seed)
    trainer = Trainer(model, batches, lr=run.config["lr"], steps=run.config["steps"])
    train(run, trainer)
    model.eval()
    with torch.no_grad():
        metrics, arrays = measure(model, held_out.to(run.device), run.config)
    return Result(metrics, trainer.losses, arrays=arrays if run.seed == 0 else {})


def corpus(config: dict[str, Any], seed: int) -> tuple[Tensor, Tensor]:
    """Training and held-out sentences, each (N, 18) word ids; the seed chooses the pairs."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    if config["language"] == "closed":
        pairs = [(x, y) for x in NOUNS for y in NOUNS if x != y]
        unordered = list(combinations(NOUNS, 2))
        chosen = torch.randperm(len(unordered), generator=generator)[: config["held_out_pairs"]]
        flipped = torch.rand(len(chosen), generator=generator) < 0.5
        held_out = {
            unordered[i][::-1] if flip else unordered[i]
            for i, flip in zip(chosen.tolist(), flipped.tolist(), strict=True)
        }
    else:
        pairs = [(x, y) for x in ANIMALS for y in PLACES]
        chosen = torch.randperm(len(pairs), generator=generator)[: config["held_out_pairs"]]
        held_out = {pairs[i] for i in chosen.tolist()}
    number = {word: i for i, word in enumerate(WORDS)}
    parts: dict[bool, list[list[int]]] = {True: [], False: []}
    for pair in pairs:
        for adjective in ADJECTIVES:
            words = sentence(*pair, adjective)
            parts[pair in held_out].append([number[word] for word in words])
    return torch.tensor(parts[False]), torch.tensor(parts[True])


class Sentences:
    """Random batches of sentences: inputs (B, 17) and, one word on, targets (B, 17)."""

    def __init__(self, sentences: Tensor, batch_size: int, seed: int) -> None:
        import torch

        self.sentences, self.batch_size = sentences, batch_size
        self.generator = torch.Generator().manual_seed(seed)

    def next(self) -> tuple[Tensor, Tensor]:
        """The next batch."""
        import torch

        rows = torch.randint(len(self.sentences), (self.batch_size,), generator=self.generator)
        batch = self.sentences[rows.to(self.sentences.device)]  # (B, 18)
        return batch[:, :-1], batch[:, 1:]

    def state_dict(self) -> dict[str, Any]:
        """The generator's state."""
        return {"generator": self.generator.get_state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on drawing from ``state``."""
        self.generator.set_state(state["generator"].cpu())


def build(config: dict[str, Any]) -> nn.Module:
    """The token plus the uniform average, or a GPT of one or two of the ladder's blocks."""
    from course.averaging import CausalAverage
    from course.models.gpt import GPT
    from course.models.ladder import LadderModel, Residual

    if config["model"] == "average":
        return LadderModel(
            len(WORDS), config["d_model"], LENGTH, Residual(CausalAverage(LENGTH)), positions=True
        )
    return GPT(
        len(WORDS),
        LENGTH,
        config["d_model"],
        config["n_heads"],
        config["model"],
        qkv_bias=False,
        tied=False,
    )


def measure(
    model: nn.Module, held_out: Tensor, config: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """How often the word after "so the" is right, is the pair's other noun, is anything else.

    For a GPT also what each adjective's maps look like at the position that must name the
    referent; the arrays hold the maps of every adjective.
    """
    prompts = held_out[:, :REFERENT]  # (N, 15)
    logits: Any = model(prompts)
    guess = logits[:, -1].argmax(-1)  # (N,)
    right = held_out[:, REFERENT]
    x, y = held_out[:, X], held_out[:, Y]
    wrong = x + y - right  # the other of the two
    metrics: dict[str, Any] = {
        "right": float((guess == right).double().mean()),
        "wrong_noun": float((guess == wrong).double().mean()),
        "other": float(((guess != right) & (guess != wrong)).double().mean()),
        "held_out_sentences": len(held_out),
    }
    if config["model"] == "average":
        return metrics, {}
    found, arrays = read_maps(model, held_out)
    return metrics | found, arrays


def read_maps(model: Any, held_out: Tensor) -> tuple[dict[str, Any], dict[str, Any]]:
    """Maps of a held-out pair under every adjective, and how far block 1 can tell them apart.

    At the asking position, over the pair's eight adjectives: ``block1_score_difference`` is the
    largest difference of block 1's scores outside the adjective's own column (nothing but rounding:
    its query has seen no word but "the" and its own place); ``block1_weight_difference`` the
    largest difference of its weights there, which is at most ``block1_adjective_weight_max``,
    since the adjective is a key itself and takes its share from all others.
    ``block2_weight_difference`` is the same of block 2, where the query may know the adjective.
    ``blockN_map_difference`` compares the mean over heads for crosser and crossed adjectives.

    Arrays: ``words`` (8, 17), ``maps`` (8, L, H, 17, 17) float16, ``adjectives`` (8,), ``logits``
    (8, V), ``vocabulary`` (V,).
    """
    import numpy as np
    import torch

    from course.experiments.arrays import half

    ids = held_out[: len(ADJECTIVES), :-1]  # one pair under its eight adjectives, (8, 17)
    logits, layers = model(ids, return_weights=True)
    maps = torch.stack(layers, dim=1)  # (8, L, H, 17, 17)
    ask = REFERENT - 1
    scores = first_block_scores(model, ids)[:, :, ask, : ask + 1]  # (8, H, 15)
    outside = [place for place in range(ask + 1) if place != ADJECTIVE]
    asking = maps[:, :, :, ask, : ask + 1]  # (8, L, H, 15)
    metrics: dict[str, Any] = {
        "block1_score_difference": _spread(scores[..., outside]),
        "block1_adjective_weight_max": float(asking[:, 0, :, ADJECTIVE].max()),
    }
    for layer in range(maps.shape[1]):
        metrics[f"block{layer + 1}_weight_difference"] = _spread(asking[:, layer][..., outside])
    mean = maps.mean(2)[:, :, ask, : ask + 1]  # (8, L, 15)
    crosser, crossed = mean[: len(CROSSER)].mean(0), mean[len(CROSSER) :].mean(0)  # (L, 15)
    for layer, difference in enumerate((crosser - crossed).abs().amax(-1).tolist(), start=1):
        metrics[f"block{layer}_map_difference"] = difference
    last = mean[:, -1]
    metrics["last_on_adjective_crosser"] = float(last[: len(CROSSER), ADJECTIVE].mean())
    metrics["last_on_adjective_crossed"] = float(last[len(CROSSER) :, ADJECTIVE].mean())
    metrics["last_on_crossed_noun_crosser"] = float(last[: len(CROSSER), Y].mean())
    metrics["last_on_crossed_noun_crossed"] = float(last[len(CROSSER) :, Y].mean())
    return metrics, {
        "maps": half(maps),
        "words": np.array([[WORDS[i] for i in row] for row in ids.tolist()]),
        "adjectives": np.array(ADJECTIVES),
        "logits": half(logits[:, ask]),
        "vocabulary": np.array(WORDS),
    }


def _spread(x: Tensor) -> float:
    """The largest difference along the first dimension."""
    return float((x.amax(0) - x.amin(0)).max())


def first_block_scores(model: Any, ids: Tensor) -> Tensor:
    """Block 1's scaled scores before mask and softmax: ids (B, T) → (B, H, T, T)."""
    block = model.blocks[0]
    attention = block.attention
    read = block.attention_norm(model.embed(ids))
    q, k = (
        projection(read).unflatten(-1, (attention.n_heads, attention.d_head)).transpose(1, 2)
        for projection in (attention.q_proj, attention.k_proj)
    )
    scores: Tensor = q @ k.transpose(-2, -1) * attention.d_head**-0.5
    return scores


def _row(
    name: str, label: str, language: str, model: str | int, published: dict[str, float]
) -> Row:
    return Row(
        name, label, {**_LANGUAGES[language], "language": language, "model": model}, published
    )


EXPERIMENT = Experiment(
    name="pronouns",
    title='Whom does "it" mean: a language that an average can read, and one that it cannot',
    claims=("A24", "A25", "A26"),
    rows=(
        _row(
            "leaky-average", "leaky language, uniform average", "leaky", "average", {"right": 1.0}
        ),
        _row("leaky-one-block", "leaky language, one block", "leaky", 1, {"right": 0.917}),
        _row(
            "average",
            "closed language, uniform average",
            "closed",
            "average",
            {"right": 0.279, "wrong_noun": 0.5},
        ),
        _row("one-block", "closed language, one block", "closed", 1, {"right": 0.927}),
        _row("two-blocks", "closed language, two blocks", "closed", 2, {"right": 1.0}),
    ),
    run=run,
    metrics=(
        Metric("right", "right", digits=3),
        Metric("wrong_noun", "the pair's other noun", digits=3),
        Metric("other", "anything else", digits=3),
    ),
    quick={"steps": 100},
    evaluation=("course.experiments.pronouns:measure",),
    seeds=5,
)
