"""The exercise, its names and its named mistakes."""

from __future__ import annotations

from course.checks.assignments.head import MISTAKES as OF_ONE_HEAD
from course.checks.engine import Exercise

CROSS, NOAM, SMOOTH = "CrossAttention", "noam_rate", "label_smoothed_targets"


MISTAKES = {
    **{
        k: OF_ONE_HEAD[k]
        for k in (
            "not-divided",
            "softmax-over-queries",
            "not-registered",
            "detached",
            "returns-tuple",
            "edits-input",
            "mask-with-zero",
            "mask-after-softmax",
        )
    },
    "divided-by-d-model": "Your scores are divided by √d_model; divide by √d_head, where d_head = "
    "d_model / n_heads.",
    "self-attention": "The memory is not used: queries come from x, keys AND values from the "
    "memory.",
    "keys-from-x": "Your keys come from x: they come from the memory, as the values do.",
    "values-from-x": "Your values come from x: they come from the memory, as the keys do.",
    "roles-exchanged": "Queries and keys have changed places: queries come from x, keys and "
    "values from "
    "the memory.",
    "causal": "You mask causally: the memory is known as a whole, every query may see all of it.",
    "mask-ignored": "memory_mask has no effect: set the scores of memory tokens where it is False "
    "to "
    "−∞.",
    "mask-inverted": "memory_mask is read the wrong way round: True means MAY attend.",
    "mask-required": "memory_mask=None fails: without a mask every memory token may be seen.",
    "mask-finite": "You hide with a finite number; a visible score can be lower. Use −∞.",
    "split-without-transpose": "You view (B, T, C) as (B, H, T, D) directly: view as (B, T, H, "
    "D), then "
    "transpose(1, 2).",
    "merge-without-transpose": "You join the heads by viewing (B, H, T, D) as (B, T, C): "
    "transpose(1, 2) first.",
    "no-output-projection": "The output projection is missing: the joined heads are mixed by one "
    "more "
    "linear map.",
    "residual-added": "You add x to the result: the residual is the layer's business.",
    "one-wide-head": "You compute one head of the full width: split into n_heads parts.",
    "lengths-equal": "Your code needs the memory to be as long as x: T and S differ in general.",
    "output-length": "Your result is as long as the memory: there is one output for each query, "
    "(B, T, "
    "C).",
    "noam-no-model": "The factor d_model^(−1/2) is missing.",
    "noam-model-root": "The factor is d_model to the power MINUS one half.",
    "noam-maximum": "You take the larger of the two: min(step^(−1/2), step · warmup^(−3/2)).",
    "noam-warmup-power": "The warm-up's power is −3/2, so that both branches meet at step = "
    "warmup.",
    "noam-fixed-warmup": "The warmup argument has no effect.",
    "noam-no-warmup": "There is no warm-up: min(step^(−1/2), step · warmup^(−3/2)).",
    "noam-only-warmup": "The rate rises for ever: after the warm-up it falls as step^(−1/2).",
    "noam-linear-decay": "After the warm-up the rate falls as step^(−1/2), not as 1/step.",
    "noam-flat": "After the warm-up the rate falls as step^(−1/2); yours stays.",
    "noam-step-zero": "Steps count from 1: below, raise a ValueError that says so.",
    "noam-off-by-one": "Your steps are counted one off: step 1 is the first.",
    "smooth-others": "You share ε among the K − 1 other classes: ε/K goes to EVERY class, so the "
    "true one "
    "has 1 − ε + ε/K.",
    "smooth-true": "The true class gets 1 − ε + ε/K: it has its own share of ε as well.",
    "smooth-ignored": "There is no smoothing: mix the one-hot target with ε/K for each class.",
    "smooth-fixed": "The eps argument has no effect.",
    "smooth-whole-epsilon": "You add the whole ε to every class: divide it by the number of "
    "classes.",
    "smooth-wrong-class": "The large share is on the wrong class.",
    "smooth-uniform": "All classes have the same share: the true one gets 1 − ε more.",
    "smooth-log": "You return logarithms: probabilities are asked for.",
    "smooth-shape": "The result has shape targets.shape + (n_classes,), of a floating type.",
    "smooth-swapped": "ε and 1 − ε have changed places.",
}


encoder_decoder = Exercise(
    "encoder-decoder",
    "Cross-attention, the schedule, smoothed targets",
    (CROSS, NOAM, SMOOTH),
    MISTAKES,
    refused=("MultiheadAttention", "multi_head_attention_forward", "TransformerDecoderLayer"),
)
