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
    Letter("E", "d_value", "width of its values, where that is another", "d_v", "Ev", ""),
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
    Term("q", "(B, H, T, D)", "queries", "Q (2017)"),
    Term("k, v", "(B, H, S, D)", "keys, values", "K, V (2017)"),
    Term("q_proj, k_proj, v_proj", "(C, C)", "make them", "$W^Q$, $W^K$, $W^V$; in_proj"),
    Term("o_proj", "(C, C)", "mixes the heads' outputs", "$W^O$; out_proj; c_proj"),
    Term("scores", "(B, H, T, S)", "q·k, divided by √D unless said", "attention logits"),
    Term(
        "weights", "(B, H, T, S)", "softmax of the scores; rows sum to 1", "attention weights, att"
    ),
    Term("out", "(B, H, T, D)", "weights @ v", "context, y"),
    Term("mask", "(T, S)", "boolean, True = may attend", "inverted in nn.MultiheadAttention"),
)


@dataclass(frozen=True)
class Word:
    """A glossary entry: the word, what it means, and the chapter that introduces it."""

    word: str
    meaning: str
    chapter: str


GLOSSARY = (
    Word("ALiBi", "scores lowered in proportion to the distance, by head", "08-positions"),
    Word("attention", "an average of values whose weights come from the tokens", "04-qkv"),
    Word("autoregressive", "each token is predicted from the ones before it", "01-average"),
    Word("beam search", "keeps the few likeliest beginnings, not one", "11-encoder-decoder"),
    Word("block", "attention and a feed-forward network, each added to what it read", "07-block"),
    Word("byte-level BPE", "tokens from bytes, the most frequent pair merged first", "01-average"),
    Word("causal mask", "forbids position t to look at positions after t", "02-masked-matmul"),
    Word(
        "cross-attention",
        "queries from one sequence, keys and values from another",
        "11-encoder-decoder",
    ),
    Word("effective tokens", "exp of a row's entropy: how many it attends to", "05-scaling"),
    Word("embedding", "the vector that stands for a token, learned", "01-average"),
    Word("entropy", "−Σ w log w of a row of weights, in nats", "05-scaling"),
    Word(
        "feed-forward network",
        "two linear maps, a ReLU or GELU between, on each position by itself",
        "07-block",
    ),
    Word("head", "one set of queries, keys and values, with its own weights", "04-qkv"),
    Word("held-out text", "text that was not trained on, for measuring", "01-average"),
    Word("induction", "[A][B] … [A] → [B], by two heads in turn", "12-what-a-head-does"),
    Word("key–value cache", "keys and values kept from earlier steps of generation", "10-gpt"),
    Word(
        "label smoothing",
        "a share ε of each target is spread over all classes",
        "11-encoder-decoder",
    ),
    Word("LayerNorm", "each token's vector shifted and scaled: mean 0, variance 1", "07-block"),
    Word("logits", "the scores of all tokens, before the softmax", "10-gpt"),
    Word("perplexity", "exp of the mean loss: tokens left in doubt, in effect", "01-average"),
    Word("pre-norm, post-norm", "LayerNorm before a sub-layer, or after its sum", "07-block"),
    Word("query, key, value", "what looks, what is found, what is handed over", "04-qkv"),
    Word("residual stream", "what runs through all blocks; each block adds to it", "07-block"),
    Word(
        "rotary embedding",
        "queries and keys turned by an angle in proportion to their place",
        "08-positions",
    ),
    Word("softmax", "exponentials divided by their sum: positive, and 1 in all", "03-softmax"),
    Word(
        "teacher forcing",
        "in training the decoder reads the true target so far",
        "11-encoder-decoder",
    ),
    Word("temperature", "divides the logits: below 1 sharpens, above 1 flattens", "10-gpt"),
    Word("tied weights", "one matrix for embedding and output", "10-gpt"),
    Word("token", "a piece of text from a fixed vocabulary", "01-average"),
    Word("top-k, top-p", "draw among the k likeliest, or the fewest with mass p", "10-gpt"),
    Word("warm-up", "the learning rate rises from near 0 over the first steps", "07-block"),
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
