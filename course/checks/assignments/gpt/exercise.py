"""The exercise, its names and its named mistakes."""

from __future__ import annotations

from course.checks.engine import Exercise

SAMPLE, GENERATE, COUNT = "sample_next", "generate", "count_parameters"


DRAWS = 20_000


SIGMAS = 6.5  # a right answer strays further once in ten thousand million cells


MISTAKES = {
    "temperature-multiplied": "You multiply the logits by the temperature: divide, so that a low "
    "temperature sharpens.",
    "temperature-ignored": "The temperature has no effect: divide the logits by it before the "
    "softmax.",
    "temperature-on-probabilities": "You divide the probabilities, not the logits, by the "
    "temperature.",
    "always-greedy": "You always take the largest: draw, with torch.multinomial, unless the "
    "temperature is 0.",
    "uniform-draw": "You draw the allowed tokens with equal chance: draw by their probabilities.",
    "softmax-twice": "You take a softmax of the softmax: one is enough.",
    "zero-temperature": "Temperature 0 fails or gives NaN (a division by 0): it means argmax.",
    "zero-temperature-random": "Temperature 0 does not give the argmax.",
    "top-k-one-more": "You keep k + 1 tokens: the k-th largest is the last one kept.",
    "top-k-one-less": "You keep k − 1 tokens: keep those greater than OR EQUAL to the k-th "
    "largest.",
    "top-k-ignored": "top_k has no effect: set all but the k largest logits to −∞.",
    "top-k-lowest": "You keep the k SMALLEST logits.",
    "top-k-zeroed": "You set the logits of the rest to 0: exp(0) = 1 is a weight; use −∞.",
    "top-k-too-large": "top_k above the vocabulary's size fails: then all tokens are kept.",
    "top-p-too-few": "You leave out the token that makes the mass reach p: keep the smallest set "
    "whose "
    "mass is AT LEAST p.",
    "top-p-too-many": "You keep one token more than needed to reach p.",
    "top-p-each": "You keep each token whose own probability is at least p (or 1 − p): top-p is "
    "about "
    "the mass of the largest ones together.",
    "top-p-ignored": "top_p has no effect: keep the smallest set of likely tokens that reaches p.",
    "top-p-unsorted": "You add up the probabilities in the vocabulary's order: sort them, largest "
    "first, before the cumulative sum.",
    "top-p-not-mapped-back": "You find the set in sorted order and apply it in the vocabulary's "
    "order: "
    "scatter it back with the sort's indices.",
    "top-p-lowest": "You sort ascending: the smallest tokens are kept and the largest cut.",
    "top-p-before-temperature": "You find the top-p set before dividing by the temperature: divide "
    "first.",
    "ranks": "You return places in the sorted order, not token numbers: map them back with the "
    "sort's "
    "indices.",
    "keeps-dimension": "You return shape (B, 1): one number a row, shape (B,), so squeeze(-1).",
    "one-for-all": "All rows get the same token: each row of the batch has its own draw.",
    "first-row-only": "You look at the first row only.",
    "generator-ignored": "The generator has no effect: pass it on to torch.multinomial.",
    "edits-logits": "You edit the logits in place: the caller still needs them.",
    "not-a-token": "You return probabilities or the like: return token numbers.",
    "wrong-position": "You take the logits of the wrong position: the next token follows from the "
    "LAST "
    "position's, logits[:, -1].",
    "keeps-the-first": "You crop to the FIRST tokens of the text: the model needs the last "
    "context_length ones, idx[:, -context_length:].",
    "no-crop": "You give the model more tokens than context_length: crop to the last ones.",
    "crops-too-much": "You crop to fewer tokens than context_length.",
    "last-token-only": "You give the model only the newest token: it needs the context.",
    "only-new-tokens": "You return only the new tokens: return the prompt and what follows it.",
    "returns-the-crop": "You return the cropped text: crop only what the model reads.",
    "one-too-many": "You append one token too many.",
    "one-too-few": "You append one token too few.",
    "wrong-count": "max_new_tokens is the number of NEW tokens, whatever the prompt's length.",
    "generate-temperature-ignored": "generate does not hand temperature on.",
    "generate-top-k-ignored": "generate does not hand top_k on.",
    "leaves-mode": "You leave the model in another mode than you found it in: remember "
    "model.training "
    "and put it back.",
    "edits-prompt": "You edit the prompt in place: make a new tensor.",
    "same-text-for-all": "Every row gets the same continuation: rows are separate texts.",
    "count-untied": "You count the output layer as well: it is tied to the token embedding, "
    "counted "
    "once.",
    "count-no-positions": "The position embedding is missing: context_length · d_model.",
    "count-no-final-norm": "The norm after the last block is missing: 2 · d_model.",
    "count-no-biases": "The biases are missing: all linear layers and norms have them.",
    "count-no-qkv-biases": "The biases of queries, keys and values are missing.",
    "count-no-norms": "The two norms of each block are missing: 4 · d_model a block.",
    "count-one-norm": "Each block has two norms, 4 · d_model together.",
    "count-norm-no-bias": "A norm has a gain AND a bias: 2 · d_model each.",
    "count-no-output-projection": "The attention's output projection is missing: it has FOUR d × d "
    "matrices.",
    "count-mlp-one-matrix": "The MLP has two matrices, 8 · d_model² together.",
    "count-mlp-width": "The MLP is 4 · d_model wide.",
    "count-one-block": "You count one block: multiply by n_layers.",
    "count-no-embedding": "The token embedding is missing: vocab_size · d_model.",
    "count-output-bias": "You count a bias of the output layer: tied to the embedding, it has "
    "none.",
    "count-only-blocks": "You count the blocks only: embeddings and the final norm belong to it.",
}


gpt = Exercise("gpt", "Sampling, generating, counting", (SAMPLE, GENERATE, COUNT), MISTAKES)
