"""The exercise, how its parameters are read, and its named mistakes."""

from __future__ import annotations

from collections.abc import Sequence

from course.checks.assignments.head import MISTAKES as OF_ONE_HEAD
from course.checks.attention_checks import (
    Design,
)
from course.checks.engine import Exercise, Trial
from course.checks.roles import Named, Roles, multi_head_roles

CLS = "MultiHeadAttention"


CONTEXT = 12


def sizes(t: Trial) -> tuple[list[int], int]:
    """d_model and n_heads; neither is d_head or its root, nor are their roots."""
    C, H = t.pick([(10, 2), (10, 5), (12, 4), (14, 2), (15, 3)])
    return [C, H, CONTEXT], C


def read(parameters: Sequence[Named], args: Sequence[int]) -> Roles | None:
    """Candidates for the roles of the parameters."""
    return multi_head_roles(parameters, args[0], args[1])


DESIGN = Design(
    CLS,
    sizes,
    read,
    small=[[2, 1, 4], [4, 2, 4], [8, 2, 4]],
    faults=(
        "not-divided",
        "divided-by-d-model",
        "divided-by-d-head-itself",
        "multiplied-by-root",
        "divided-by-length",
        "divided-by-heads",
        "no-mask",
        "mask-upside-down",
        "mask-inverted",
        "mask-hides-self",
        "mask-hides-self-zeros",
        "mask-hides-self-finite",
        "mask-one-too-far",
        "mask-after-softmax",
        "mask-with-zero",
        "mask-with-small-number-1",
        "mask-with-small-number-10",
        "mask-added",
        "softmax-over-queries",
        "softmax-over-batch",
        "softmax-over-heads",
        "no-softmax",
        "linear-weights",
        "sigmoid-weights",
        "exp-not-normalised",
        "weights-transposed",
        "shared-qk",
        "shared-kv",
        "split-without-transpose",
        "merge-without-transpose",
        "split-and-merge-without-transpose",
        "heads-averaged",
        "residual-added",
    ),
)


MISTAKES = {
    **{
        k: v
        for k, v in OF_ONE_HEAD.items()
        if k
        not in (
            "output-width",
            "values-are-x",
            "divided-by-fourth-root",
            "divided-by-d-model-itself",
        )
    },
    "divided-by-d-model": "Your scores are divided by √d_model; divide by √d_head, where d_head = "
    "d_model / n_heads. With d_model = {d_model} and {n_heads} heads their spread is {ratio} times "
    "too small.",
    "divided-by-heads": "Your scores are divided by √n_heads; divide by √d_head, where d_head = "
    "d_model / n_heads.",
    "softmax-over-heads": "Your softmax runs over the heads (dim=1 of (B, H, T, T)): it has to run "
    "over the keys, dim=-1.",
    "split-without-transpose": "You view (B, T, C) as (B, H, T, D) directly, which hands a head "
    "the "
    "features of other tokens: view as (B, T, H, D), then transpose(1, 2).",
    "merge-without-transpose": "You join the heads by viewing (B, H, T, D) as (B, T, C), which "
    "mixes "
    "tokens: transpose(1, 2) first, then reshape.",
    "split-and-merge-without-transpose": "You view (B, T, C) as (B, H, T, D) and back without a "
    "transpose: heads get features of other tokens. View as (B, T, H, D), then transpose(1, 2).",
    "heads-averaged": "You average the heads: join them side by side, to width d_model again.",
    "no-output-projection": "The output projection is missing: the joined heads are mixed by one "
    "more linear map, d_model → d_model.",
    "output-unused": "You make an output projection and do not use it: return self.o_proj(out).",
    "one-wide-head": "You compute one head of the full width: split queries, keys and values into "
    "n_heads parts, each with a softmax of its own.",
    "repeated-head": "Your heads share their matrices, so all of them see the same: each head has "
    "its own projections.",
    "dropout-on-output": "Dropout falls on the output only; it belongs on the weights, after the "
    "softmax and before they meet the values.",
    "dropout-on-elements": "Dropout falls on single features (of queries, keys or values); it "
    "belongs on the weights.",
    "identity": "Your module returns its input.",
    "residual-added": "You add x to the result: the residual is the block's business (chapter 7).",
    "heads-as-batch-mixed": "Rows of the batch influence each other: are the heads folded into the "
    "batch in one order and unfolded in another?",
}


heads = Exercise(
    "heads",
    "Several heads",
    (CLS,),
    MISTAKES,
    refused=("MultiheadAttention", "multi_head_attention_forward"),
)
