"""The exercise and its named mistakes."""

from __future__ import annotations

from course.checks.engine import Exercise

ON = "attend"


MISTAKES = {
    "divided": "Your scores are divided by √D. Here they stay undivided (chapter 5 divides them): "
    "leave the division out.",
    "divided-by-d-model": "Your scores are divided by √C: here they stay undivided.",
    "divided-by-d-head-itself": "Your scores are divided by D: here they stay undivided.",
    "no-mask": "There is no causal mask: every token sees what follows it. Set the scores of later "
    "tokens to −∞ before the softmax.",
    "mask-upside-down": "Your mask is the wrong way up: token t sees itself and what FOLLOWS it. "
    "Row t may attend to the columns 0 … t: torch.tril, not triu.",
    "mask-inverted": "Your mask is inverted: you hide what may be seen and show what may not, so "
    "token t sees only what FOLLOWS it, and the last one nothing. masked_fill fills where its mask "
    "is True.",
    "mask-hides-self": "Your mask hides each token from itself, so the first row becomes NaN: keep "
    "the diagonal.",
    "mask-hides-self-zeros": "Your mask hides each token from itself, so the first row becomes 0: "
    "keep the diagonal.",
    "mask-hides-self-finite": "Your mask hides each token from itself, so the first row, with "
    "nothing left to see, averages everything: keep the diagonal, and hide with −∞.",
    "mask-one-too-far": "Your mask lets each token see one token of its future.",
    "mask-after-softmax": "You mask after the softmax, so the rows no longer sum to 1: mask the "
    "scores before it.",
    "mask-with-zero": "You set hidden scores to 0, but exp(0) = 1 is a weight like any other: use "
    "−∞.",
    "mask-with-small-number-1": "You hide with a small finite number, which still has a weight: "
    "use −∞.",
    "mask-with-small-number-10": "You hide with −10, which still has a weight: use −∞.",
    "mask-added": "You add the 0/1 mask to the scores: hidden ones have to become −∞.",
    "mask-finite": "You hide with a finite number: undivided scores can be lower still, and then "
    "the future leaks through. Use −∞.",
    "softmax-over-queries": "Your softmax runs over the queries: each row of weights has to sum to "
    "1, so dim=-1.",
    "softmax-over-batch": "Your softmax runs over the batch: use dim=-1.",
    "no-softmax": "Your weights are raw scores: pass them through a softmax over the keys.",
    "linear-weights": "Your weights are scores divided by their sum: use a softmax.",
    "sigmoid-weights": "Your weights come from a sigmoid: use a softmax.",
    "exp-not-normalised": "You exponentiate the scores but do not divide by the row's sum.",
    "weights-transposed": "You multiply with the transposed weights: out = weights @ v, queries in "
    "the rows.",
    "shared-qk": "Queries and keys come from the same matrix, so the scores are symmetric: use w_q "
    "for one and w_k for the other.",
    "keys-are-values": "Your values come from w_k (or your keys from w_v): each matrix has its own "
    "use.",
    "queries-and-keys-swapped": "Queries and keys are swapped: the ROWS of the scores are the "
    "queries, x @ w_q, the columns the keys. Swapped, token t asks with its key.",
    "no-projection": "Your scores are x·x: project x with w_q and w_k first.",
    "weighs-x": "You weigh x itself: the result has to be made of the values, x @ w_v.",
    "unstable": "Large scores overflow to NaN: subtract each row's largest score first, or use "
    "torch.softmax.",
    "returns-weights": "You return the weights (B, T, T): multiply them with the values.",
    "matrix-transposed": "You multiply with the transposed matrices: they are (C, D), so x @ w_q.",
    "edits-input": "You edit an argument in place: make a new tensor.",
    "fixed-dtype": "A tensor you make has a fixed floating type: use the type of x.",
    "detached": "Part of the result is cut off from the gradient.",
    "batch-mixed": "Rows of the batch influence each other.",
    "first-only": "Only the first sequence of the batch is computed.",
}


qkv = Exercise(
    "qkv",
    "Attention from three matrices",
    (ON,),
    MISTAKES,
    refused=("scaled_dot_product_attention", "MultiheadAttention", "multi_head_attention_forward"),
)
