"""The exercise, its name and its named mistakes."""

from __future__ import annotations

from course.checks.assignments.head import MISTAKES as OF_ONE_HEAD
from course.checks.engine import Exercise

CLS = "Block"


CONTEXT = 10


TOL = 2e-4  # epsilons of the norms differ


MISTAKES = {
    "post-norm": "Your norms come after the sum (post-norm): the stream has to stay as it is, and "
    "each branch reads a normalised copy: x + f(norm(x)).",
    "residual-from-norm": "You add the branch to the NORMALISED stream: add it to x itself: "
    "x + f(norm(x)), not norm(x) + f(norm(x)).",
    "no-norm-attention": "The attention reads the stream as it is: give it norm1(x).",
    "no-norm-mlp": "The MLP reads the stream as it is: give it norm2(x).",
    "no-norms": "There is no norm: each branch reads a normalised copy of the stream.",
    "no-residual-attention": "The attention's result replaces the stream: add it, x = x + …",
    "no-residual-mlp": "The MLP's result replaces the stream: add it, x = x + …",
    "no-residuals": "Both branches replace the stream: add each one, x = x + …",
    "parallel": "Both branches read the same x: the MLP has to read the stream AFTER the attention "
    "was added to it.",
    "mlp-first": "The MLP comes before the attention: first the attention, then the MLP.",
    "linear-mlp": "Your MLP has no activation, so its two matrices are one linear map: put GELU or "
    "ReLU between them.",
    "activation-last": "Your activation comes after the second matrix: it belongs between the two.",
    "activation-twice": "You activate after the second matrix as well: only between the two.",
    "other-activation": "Your MLP's activation is neither GELU nor ReLU.",
    "mlp-width": "Your MLP's hidden layer is not 4 · d_model wide.",
    "one-norm": "One norm serves both branches: each has its own, with its own gain and bias.",
    "final-norm": "You normalise the result as well: the norm after the last block belongs to the "
    "model.",
    "norm-over-tokens": "You normalise over the tokens (or the batch): each token is normalised "
    "over "
    "its own features.",
    "rms-norm": "Your norm does not subtract the mean: this block uses LayerNorm.",
    "unbiased-norm": "Your norm divides by the spread with n − 1 (torch's std by default): "
    "LayerNorm "
    "uses n (unbiased=False).",
    "mlp-missing": "There is no MLP: after the attention comes a network of two matrices.",
    "attention-missing": "There is no attention in your block.",
    "double-residual": "You add x twice: once in the branch and once round it.",
    "mlp-mixes-tokens": "Your MLP mixes tokens: it works on each position by itself.",
    "dropout-on-stream": "Dropout falls on the stream itself: drop each branch's result BEFORE it "
    "is "
    "added.",
    "dropout-ignored": "The dropout argument has no effect in training.",
    "dropout-in-evaluation": OF_ONE_HEAD["dropout-in-evaluation"],
    "edits-input": "Your block edits its input in place (x += …): write x = x + …",
    "not-registered": OF_ONE_HEAD["not-registered"],
    "detached": OF_ONE_HEAD["detached"],
    "fixed-dtype": OF_ONE_HEAD["fixed-dtype"],
    "returns-tuple": "You return a tuple: forward returns only the stream, (B, T, d_model).",
    **{
        k: OF_ONE_HEAD[k]
        for k in (
            "not-divided",
            "no-mask",
            "mask-upside-down",
            "mask-inverted",
            "mask-one-too-far",
            "mask-after-softmax",
            "mask-with-zero",
            "softmax-over-queries",
            "mask-hides-self",
            "mask-hides-self-zeros",
            "mask-hides-self-finite",
        )
    },
    "divided-by-d-model": "The scores in your attention are divided by √d_model; divide by "
    "√d_head, "
    "d_head = d_model / n_heads.",
    "no-output-projection": "The output projection of your attention is missing.",
    "norms-swapped": "The two norms are exchanged.",
}


block = Exercise(
    "block",
    "The transformer block",
    (CLS,),
    MISTAKES,
    refused=(
        "TransformerEncoderLayer",
        "TransformerDecoderLayer",
        "TransformerEncoder",
        "TransformerDecoder",
    ),
    allowed=("course.attention.MultiHeadAttention",),
)
