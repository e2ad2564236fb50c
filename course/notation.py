"""The letters and the names: one source for docstrings, the notation page and the tests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Letter:
    """A size: its letter, its name in code, what it counts, and what others call it."""

    letter: str
    name: str
    meaning: str
    paper: str  # Vaswani et al. 2017
    pytorch: str
    nanogpt: str


LETTERS = (
    Letter("B", "batch_size", "sequences side by side", "", "N", "B"),
    Letter("T", "T", "queries: the positions that look", "n", "L", "T"),
    Letter("S", "S", "keys: the positions looked at", "n", "S", "T"),
    Letter("C", "d_model", "width of the residual stream", "d_model", "embed_dim", "n_embd"),
    Letter("H", "n_heads", "heads side by side", "h", "num_heads", "n_head"),
    Letter("D", "d_head", "width of one head's queries and keys", "d_k", "head_dim", "hs"),
    Letter("F", "d_ff", "width inside the feed-forward network", "d_ff", "dim_feedforward", "4C"),
    Letter("V", "vocab_size", "different tokens", "", "num_embeddings", "vocab_size"),
    Letter("L", "n_layers", "blocks on top of each other", "N", "num_layers", "n_layer"),
)


@dataclass(frozen=True)
class Term:
    """A name in code that the whole course uses, and what it stands for."""

    name: str
    shape: str
    meaning: str
    elsewhere: str


TERMS = (
    Term("context_length", "", "the longest text a model reads at once", "block_size (nanoGPT)"),
    Term("q, k, v", "(B, H, T, D)", "queries, keys, values", "Q, K, V (2017)"),
    Term("q_proj, k_proj, v_proj", "(C, C)", "the maps that make them", "W^Q, W^K, W^V; in_proj"),
    Term("o_proj", "(C, C)", "mixes the heads' outputs", "W^O; out_proj; c_proj"),
    Term("scores", "(B, H, T, S)", "q·k, divided by √D unless said", "attention logits"),
    Term(
        "weights", "(B, H, T, S)", "softmax of the scores; rows sum to 1", "attention weights, att"
    ),
    Term("out", "(B, H, T, D)", "weights @ v", "context, y"),
    Term("mask", "(T, S)", "boolean, True = may attend", "inverted in nn.MultiheadAttention"),
)


@dataclass(frozen=True)
class Word:
    """A glossary entry."""

    word: str
    meaning: str


GLOSSARY = (
    Word("attention", "an average of values whose weights are computed from the tokens"),
    Word("autoregressive", "each token is predicted from the ones before it"),
    Word("block", "attention and a feed-forward network, each added to what it read"),
    Word("causal mask", "forbids position t to look at positions after t"),
    Word("cross-attention", "queries from one sequence, keys and values from another"),
    Word("effective tokens", "exp of a row's entropy: how many tokens it attends to, in effect"),
    Word("entropy", "−Σ w log w of a row of weights, in nats"),
    Word("head", "one set of queries, keys and values, with its own weights"),
    Word("key–value cache", "keys and values kept from earlier steps of generation"),
    Word("label smoothing", "a share ε of each target is spread over all classes"),
    Word("LayerNorm", "each token's vector shifted and scaled to mean 0 and variance 1"),
    Word("logits", "scores before a softmax"),
    Word("perplexity", "exp of the mean loss: how many equally likely tokens are left, in effect"),
    Word("pre-norm, post-norm", "LayerNorm before a sub-layer, or after its residual sum"),
    Word("residual stream", "what runs through all blocks; each block adds to it"),
    Word("rotary embedding", "queries and keys turned by an angle that grows with position"),
    Word("teacher forcing", "in training the decoder reads the true target so far"),
    Word("temperature", "divides the logits: below 1 sharpens, above 1 flattens"),
    Word("token", "a piece of text from a fixed vocabulary"),
    Word("warm-up", "the learning rate rises from near 0 over the first steps"),
)


def letter(symbol: str) -> Letter:
    """The size with that letter.

    Raises:
        KeyError: no size has it.
    """
    for entry in LETTERS:
        if entry.letter == symbol:
            return entry
    raise KeyError(
        f"no size has the letter {symbol!r}; there are {', '.join(e.letter for e in LETTERS)}"
    )
