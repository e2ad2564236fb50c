"""The exercise, how its parameters are read, and its named mistakes."""

from __future__ import annotations

from collections.abc import Sequence

from course.checks.attention_checks import (
    Design,
)
from course.checks.engine import Exercise, Trial
from course.checks.roles import Named, Roles, head_roles

CONTEXT = 16


def sizes(t: Trial) -> tuple[list[int], int]:
    """d_model and d_head, no small multiple of each other, so that a shape has one reading."""
    C, D = t.pick([(5, 3), (7, 3), (7, 4), (10, 3), (11, 4), (9, 4), (5, 7), (13, 3), (11, 3)])
    return [C, D, CONTEXT], C


def read(parameters: Sequence[Named], args: Sequence[int]) -> Roles | None:
    """Candidates for the roles of the parameters."""
    return head_roles(parameters, args[0], args[1])


DESIGN = Design(
    "Head",
    sizes,
    read,
    small=[[2, 1, 4], [3, 2, 4], [5, 3, 4]],
    faults=(
        "not-divided",
        "divided-by-d-model",
        "divided-by-d-head-itself",
        "multiplied-by-root",
        "divided-by-length",
        "divided-by-d-model-itself",
        "divided-by-fourth-root",
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
        "mask-with-plus-infinity",
        "mask-added",
        "softmax-over-queries",
        "softmax-over-batch",
        "no-softmax",
        "linear-weights",
        "sigmoid-weights",
        "log-softmax",
        "exp-not-normalised",
        "weights-transposed",
        "averaged-twice",
        "shared-qk",
        "shared-kv",
    ),
)


MISTAKES = {
    "not-divided": "Your scores are not divided: divide q·k by √d_head before the softmax. With "
    "d_head = {d_head} your scores spread √{d_head} times too widely, and the softmax hardens.",
    "divided-by-d-model": "Your scores are divided by √d_model; divide by √d_head. With d_model = "
    "{d_model} and d_head = {d_head} their spread is {ratio} times too small.",
    "divided-by-d-head-itself": "Your scores are divided by d_head itself; divide by its square "
    "root: the spread of q·k grows as √d_head (its variance as d_head).",
    "multiplied-by-root": "Your scores are multiplied by √d_head; they have to be divided by it.",
    "divided-by-length": "Your scores are divided by √T, the number of tokens; what makes q·k "
    "spread is the number of terms in it, d_head: divide by √d_head.",
    "divided-by-d-model-itself": "Your scores are divided by d_model; divide by √d_head.",
    "divided-by-fourth-root": "Only q or only k was multiplied by d_head^(−1/4): the product needs "
    "d_head^(−1/2) in all.",
    "no-mask": "There is no causal mask: every token sees the whole sequence, also what follows "
    "it. "
    "Set the scores of later tokens to −∞ before the softmax.",
    "mask-upside-down": "Your mask is the wrong way up: token t sees itself and what FOLLOWS it. "
    "Row t (a query) may attend to the columns 0 … t: torch.tril, not triu.",
    "mask-inverted": "Your mask is inverted: you hide what may be seen and show what may not, so "
    "token t sees only what FOLLOWS it, and the last one nothing. masked_fill fills where its mask "
    "is True, so give it ~may_attend.",
    "mask-hides-self": "Your mask hides each token from itself too, so the first row has nothing "
    "to "
    "attend to and becomes NaN: keep the diagonal (tril(diagonal=0)).",
    "mask-hides-self-zeros": "Your mask hides each token from itself too, so the first row has "
    "nothing to attend to and its output is 0: keep the diagonal (tril(diagonal=0)); token t "
    "attends to 0 … t, itself included.",
    "mask-hides-self-finite": "Your mask hides each token from itself too. The first row then has "
    "nothing to attend to and, masked with a finite number, averages everything, the future "
    "included: keep the diagonal (tril(diagonal=0)), and use float('-inf').",
    "mask-one-too-far": "Your mask lets each token see one token of its future: use diagonal=0, "
    "not 1 (triu(diagonal=1) marks what is FORBIDDEN).",
    "mask-after-softmax": "You mask after the softmax, so the rows no longer sum to 1: future "
    "tokens have taken part of the weight. Mask the scores with −∞ BEFORE the softmax.",
    "mask-with-zero": "You set masked scores to 0, but exp(0) = 1 is a perfectly good weight: a "
    "masked score has to be −∞, whose exponential is 0.",
    "mask-with-small-number-1": "You set masked scores to a small finite number, which still has a "
    "weight: use float('-inf').",
    "mask-with-small-number-10": "You set masked scores to −10, which still has weight e^−10 and "
    "more when the other scores are low: use float('-inf').",
    "mask-with-plus-infinity": "You set masked scores to +∞: use −∞, whose exponential is 0.",
    "mask-added": "You add the 0/1 mask to the scores: that only raises the visible ones by 1. "
    "Hidden ones have to become −∞.",
    "mask-finite": "Your mask is a finite number (such as −1e9 or −1e4): a visible score can be "
    "lower still, and then the future leaks through. Use float('-inf').",
    "mask-with-tiny": "You fill masked scores with ±1e-9, which is next to 0, and exp(0) = 1: use "
    "float('-inf').",
    "masks-zero-scores": "You hide every score that equals 0, also one that may be seen and "
    "happens "
    "to be 0: a row of zeros becomes NaN. Mask by position, not by value.",
    "softmax-over-queries": "Your softmax runs over the queries (dim=1, the rows): each QUERY's "
    "weights have to sum to 1, so it runs over the keys, dim=-1.",
    "softmax-over-batch": "Your softmax runs over the batch dimension (dim=0): it has to run over "
    "the keys, dim=-1.",
    "no-softmax": "Your weights are the raw scores: pass them through a softmax over the keys.",
    "linear-weights": "Your weights are scores divided by their sum, which can be negative or "
    "explode: use a softmax.",
    "sigmoid-weights": "Your weights come from a sigmoid; a row has to sum to 1: use a softmax.",
    "log-softmax": "You use log_softmax: its values are logarithms, not weights. Use softmax.",
    "exp-not-normalised": "You exponentiate the scores but do not divide by the row's sum.",
    "weights-transposed": "You multiply by the transposed weights: out = weights @ v, with queries "
    "in the rows and keys in the columns.",
    "averaged-twice": "You divide the output by the number of tokens as well: the weights already "
    "sum to 1.",
    "shared-qk": "Queries and keys come from one and the same projection, which makes the scores "
    "symmetric: give each its own.",
    "shared-kv": "Keys and values come from one and the same projection: give each its own.",
    "not-registered": "Your parameters are not registered (a plain tensor, or modules in a Python "
    "list): they would be neither trained nor saved. Use nn.Linear or nn.Parameter.",
    "unstable": "Large scores overflow to NaN: subtract the row's maximum before exponentiating, "
    "or use torch.softmax.",
    "dropout-ignored": "The dropout argument has no effect in training: drop the weights, after "
    "the softmax, with nn.Dropout.",
    "dropout-in-evaluation": "Dropout is still active in evaluation: use nn.Dropout, which "
    "model.eval() turns off (F.dropout needs training=self.training).",
    "dropout-on-output": "Dropout falls on single features of the output (or the values); it "
    "belongs on the weights, after the softmax and before they meet the values.",
    "dropout-on-scores": "Dropout falls on the scores, before the softmax: a dropped score is 0, "
    "which is a weight like any other. Drop the weights, after the softmax.",
    "dropout-unscaled": "Your dropout does not scale what it keeps by 1 / (1 − p): nn.Dropout "
    "does.",
    "only-context-length": "Your head only takes T = context_length: cut the mask to the T tokens "
    "that came, mask[:T, :T].",
    "edits-input": "Your head edits its input in place: make a new tensor.",
    "detached": "Part of the computation is detached from the gradient (detach, .data, no_grad, "
    "torch.tensor(…) or .item()): that part cannot learn.",
    "fixed-dtype": "A tensor you make has a fixed floating type: make it with x.new_zeros(…) or "
    "dtype=x.dtype so that float64 and half precision work.",
    "returns-weights": "You return the weights (B, T, T): multiply them with the values.",
    "returns-tuple": "You return a tuple: forward returns only the output, (B, T, d_head).",
    "output-width": "Your output has d_model features: each head returns d_head.",
    "values-are-x": "You weigh x itself instead of the values: project x to v first.",
    "random": "Two calls in evaluation give two results: something random is drawn in forward.",
    "batch-mixed": "Rows of the batch influence each other.",
}


head = Exercise(
    "head", "One causal attention head", ("Head",), MISTAKES, refused=("MultiheadAttention",)
)
