"""The exercise, its names and its named mistakes."""

from __future__ import annotations

from course.checks.engine import Exercise

SIN, ROPE, ALIBI = "sinusoidal", "apply_rope", "alibi_bias"


BASE = 10000.0


MISTAKES = {
    "sin-halves": "All sines come first and all cosines after them; in the paper they alternate: "
    "column 2i is a sine, column 2i + 1 the cosine of the same angle.",
    "sin-cos-swapped": "Sines and cosines are exchanged: even columns are sines.",
    "sin-exponent-not-doubled": "The exponent of column 2i is 2i / d_model: yours counts i / "
    "d_model, "
    "so that the wavelengths reach only the square root of 10000.",
    "sin-exponent-doubled-twice": "Your exponent is twice as large as it should be: the even "
    "columns' "
    "own numbers are 2i already.",
    "sin-each-column-its-own": "Each column has its own frequency; a sine and the cosine after it "
    "share one.",
    "sin-base": "Your base is not 10000: the angle is pos / 10000^(2i/d).",
    "sin-positions-from-one": "Positions count from 0: the first row is 0, 1, 0, 1, …",
    "sin-multiplied": "The position is divided by 10000^(2i/d), yours is multiplied.",
    "sin-transposed": "Your result is (d_model, T): rows are positions.",
    "sin-batched": "Your result has a further dimension: return exactly (T, d_model).",
    "sin-normalised": "Your positions are divided by T: they are whole numbers 0, 1, 2, …",
    "sin-only": "Only sines are there: odd columns are cosines.",
    "sin-two-pi": "You multiply the angle by 2π: the angle is pos / 10000^(2i/d) as it is.",
    "rope-other-way": "You turn the wrong way: (a, b) becomes (a cos − b sin, a sin + b cos).",
    "rope-missing-cross": "The crossing terms are missing: (a, b) becomes (a cos − b sin, "
    "a sin + b cos).",
    "rope-same-frequency": "All pairs turn at the same speed: pair i turns by "
    "position · base^(−2i/D).",
    "rope-exponent": "The exponent of pair i is 2i / D.",
    "rope-ignores-positions": "You count 0 … T − 1 and ignore the positions given: they may start "
    "anywhere.",
    "rope-ignores-base": "The base argument has no effect.",
    "rope-mixed-pairs": "You pair the features one way and give out the angles the other: with "
    "halves, feature i goes with i + D/2, with interleaved pairs 2i with 2i + 1, angles likewise.",
    "rope-added": "You add an encoding: rotary positions TURN pairs of features.",
    "rope-unsigned": "Both crossing terms have the same sign: it is a cos − b sin, but a sin + b "
    "cos.",
    "rope-wrong-axis": "You turn along the wrong dimension: T is the last but one, D the last.",
    "rope-half-only": "Only half of the features are turned.",
    "rope-positions-from-one": "You add 1 to the positions: position 0 turns nothing.",
    "rope-degrees": "Your angles are in degrees: sin and cos take radians.",
    "edits-input": "You edit an argument in place: make a new tensor.",
    "fixed-dtype": "The result does not have the type of x.",
    "detached": "The result is cut off from the gradient.",
    "alibi-sign": "Your bias grows with distance: it is MINUS the slope times the distance, a "
    "penalty.",
    "alibi-symmetric": "Your bias punishes the future too: it is zero on and above the diagonal "
    "(the mask is somebody else's business).",
    "alibi-transposed": "Rows and columns are exchanged: rows are queries, and the penalty is for "
    "keys left of the diagonal.",
    "alibi-masked": "You hide the future with −∞: the bias is zero on and above the diagonal; the "
    "causal mask is applied elsewhere.",
    "alibi-slopes-from-one": "Your slopes start at 1: the first of 8 is 2^(−1), and generally "
    "2^(−8/H).",
    "alibi-not-eight": "Your slopes do not depend on the number of heads: they run from 2^(−8/H) "
    "to "
    "2^(−8).",
    "alibi-linear-slopes": "Your slopes fall in a line; they fall geometrically, by 2^(−8/H) a "
    "head.",
    "alibi-reversed": "Your slopes are in reverse order: the first head has the steepest.",
    "alibi-twelve": "For a number of heads that is no power of two the slopes are those of the "
    "power "
    "below, then every second one of the power above (12: those of 8, then 1st, 3rd, 5th, 7th of "
    "16).",
    "alibi-one-slope": "All heads have the same slope.",
    "alibi-off-by-one": "Your distance is one too large: a token is at distance 0 from itself.",
    "alibi-shape": "The result has shape (n_heads, T, T).",
}


positions = Exercise("positions", "Three position schemes", (SIN, ROPE, ALIBI), MISTAKES)
