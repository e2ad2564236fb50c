"""The exercise and its named mistakes."""

from __future__ import annotations

from course.checks.engine import Exercise

ON = "tiled_attention"


MISTAKES = {
    "holds-a-square": "You hold a T × T tensor (all the scores, or a whole mask): make only a "
    "tile of "
    "it at a time, tile × tile or T × tile.",
    "keeps-all-tiles": "You keep all the tiles of scores or weights at once: together they are the "
    "T × T tensor. Use each tile and let go of it.",
    "not-divided": "Your scores are not divided by √D.",
    "divided-by-tile": "Your scores are divided by the root of the tile: divide by √D, the width.",
    "not-causal": "Every query sees all the keys: a query sees the keys up to its own place.",
    "mask-upside-down": "Your mask is the wrong way up: query i sees itself and what FOLLOWS it. "
    "It may see the keys 0 … i.",
    "mask-inverted": "Your mask is inverted: you hide what may be seen and show what may not, so "
    "query i sees only the keys AFTER it, and the last one none.",
    "mask-hides-self": "Your mask hides each query's own key, so the first row has nothing to see: "
    "key j is hidden where j > i, not where j = i.",
    "diagonal-tile-open": "Whole tiles of the future are skipped, but inside the tile on the "
    "diagonal "
    "nothing is masked: there, too, key j is hidden from query i where j > i.",
    "diagonal-tile-missing": "The tile on the diagonal is left out.",
    "tile-local-mask": "Your mask compares places within a tile: add the tiles' starts, and "
    "compare "
    "places in the sequence.",
    "tile-local-softmax": "You take a softmax inside each tile and add the results: the sum over "
    "the "
    "keys runs over ALL tiles, so keep the running maximum and sum and rescale.",
    "tile-softmax-averaged": "You average the tiles' softmaxes: tiles have different sums, so "
    "keep the "
    "running maximum and sum and rescale.",
    "no-rescale": "When the running maximum grows, what you have summed so far has to shrink by "
    "exp(old maximum − new maximum), sums and values both.",
    "sum-not-rescaled": "You rescale the values gathered so far but not the sum of weights (or the "
    "other way round): both have to shrink by exp(old maximum − new maximum).",
    "no-maximum": "Large scores overflow: keep a running maximum for each row and subtract it.",
    "ragged-tile-lost": "The last, shorter tile is lost when tile does not divide T: step with "
    "range(0, T, tile).",
    "tile-must-divide": "Your function needs T to be a multiple of tile: the last tile may be "
    "shorter.",
    "only-first-tile": "Only the first tile of keys (or only the query's own) is attended to.",
    "edits-input": "You edit an argument in place: make a new tensor.",
    "fixed-dtype": "The result does not have the type of q.",
    "no-batch": "Only (T, D) works: leading dimensions, (B, H, T, D), have to work as well.",
    "not-normalised": "You never divide by the sum of the exponentials.",
}


cost = Exercise(
    "cost",
    "Attention in tiles",
    (ON,),
    MISTAKES,
    refused=(
        "scaled_dot_product_attention",
        "MultiheadAttention",
        "flex_attention",
        "multi_head_attention_forward",
    ),
)
