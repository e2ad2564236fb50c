"""The exercise, and the named mistakes of both its functions."""

from __future__ import annotations

import torch
from torch import Tensor

from course.checks.engine import Exercise, Trial

SCORES, TOKENS = "scaled_scores", "effective_tokens"


MISTAKES = {
    "not-divided": "Your scores are q·k, not divided: divide by √D, the square root of the number "
    "of terms in the dot product.",
    "divided-by-width": "You divide by D itself: divide by its square root (the VARIANCE of q·k is "
    "D, its spread √D).",
    "multiplied": "You multiply by √D: divide.",
    "divided-by-length": "You divide by the root of a number of tokens (a shape[-2]): what counts "
    "is "
    "the width D = q.shape[-1].",
    "divided-twice": "You divide q and k by √D each, so the scores by D in all: divide once.",
    "transposed": "Your scores have keys in the rows: q @ k.transpose(-2, -1), so that rows are "
    "queries.",
    "softmaxed": "You return weights: only the scores are asked for.",
    "masked": "You mask the scores: only q·k, divided, is asked for.",
    "normalised": "You normalise q and k to length 1 (a cosine): divide the plain product by √D.",
    "by-norm": "You divide by the lengths of the vectors: divide by √D.",
    "standardised": "You standardise the scores by their own mean or spread: divide by √D, which "
    "does not depend on the data.",
    "elementwise": "You multiply q and k entry by entry: the dot product sums over the features.",
    "batch-transposed": "k.T (or a wrong pair in transpose) turns the batch too: use "
    "k.transpose(-2, -1).",
    "edits-input": "You edit an argument in place: make a new tensor.",
    "detached": "The result is cut off from the gradient.",
    "fixed-dtype": "The result does not have the type of what came in.",
    "entropy": "You return the entropy: take its exponential.",
    "two-to-the-nats": "You raise 2 to an entropy in nats: log and exp need the same base (log2 "
    "with "
    "2**, log with exp).",
    "e-to-the-bits": "You take exp of an entropy in bits: log2 goes with 2**, log with exp.",
    "zero-weights": "A weight of 0 gives NaN: 0 · log 0 counts as 0 (torch.xlogy, or clamp before "
    "the log).",
    "sign": "The sign of the entropy is turned: it is MINUS the sum of w log w.",
    "over-queries": "You sum over the queries: every row has its own entropy, dim=-1.",
    "over-all": "You sum over everything: every row has its own number, shape weights.shape[:-1].",
    "averaged": "You average w log w over the keys: sum it.",
    "participation": "You return 1 / Σw², another measure: the exponential of the entropy is asked "
    "for.",
    "one-over-max": "You return 1 / max w: the exponential of the entropy is asked for.",
    "count": "You count the weights above 0: the exponential of the entropy is asked for.",
    "softmax-again": "You take a softmax of the weights: they are probabilities already.",
    "kept-dimension": "You keep the last dimension: the result has shape weights.shape[:-1].",
    "leaking-epsilon": "Your epsilon is so large that it changes the result: clamp, or xlogy.",
    "not-a-tensor": "You return a Python number: return a tensor of shape weights.shape[:-1].",
    "log-of-sum": "You take the logarithm of a sum: the entropy is the sum of w · log w.",
}


scaling = Exercise("scaling", "Divided scores and effective tokens", (SCORES, TOKENS), MISTAKES)


def clean_fault(t: Trial, on: str, case: list[Tensor]) -> str:
    """Which mistake spoils the gradients or the type, where the values are right."""
    out = t.subject.call(on, *(c.double() for c in case))
    return "detached" if isinstance(out, Tensor) and out.dtype == torch.float64 else "fixed-dtype"
