"""The exercise and its named mistakes."""

from __future__ import annotations

from course.checks.engine import Exercise

ON = "masked_softmax"


MISTAKES = {
    "inverted": "Your mask is read the wrong way round: True means MAY attend. masked_fill fills "
    "where it is True, so give it ~mask.",
    "ignored": "The mask has no effect: set the scores where it is False to −∞ before the softmax.",
    "zero-fill": "You set hidden scores to 0, but exp(0) = 1 is a weight like any other: use −∞.",
    "tiny-fill": "You set hidden scores to ±1e-9, next to 0, and exp(0) = 1: use −∞.",
    "after-softmax": "You mask after the softmax and do not normalise again: the visible weights "
    "no longer sum to 1. Mask the scores before.",
    "renormalised": "You take the softmax of ALL scores, cut, and normalise again: when a hidden "
    "score is huge, the visible weights have already rounded to 0. Mask the scores first.",
    "over-queries": "Your softmax runs over dim=-2: each row has to sum to 1, so dim=-1.",
    "over-first": "Your softmax runs over the first dimension: use dim=-1.",
    "finite-fill": "You hide with a finite number (−1e9, −1e4 …): a visible score can be lower, "
    "and "
    "then the hidden ones take over. Use float('-inf').",
    "empty-row-nan": "A row with nothing to attend to becomes NaN (0/0): it should be zeros.",
    "empty-row-uniform": "A row with nothing to attend to becomes uniform: it should be zeros.",
    "unstable": "Large scores overflow: exp(1e4) is infinite. Subtract each row's largest score "
    "before exponentiating, or use torch.softmax.",
    "one-maximum": "You subtract one maximum of the whole tensor: rows far below it underflow to "
    "0/0. Subtract each row's own (amax(dim=-1, keepdim=True)).",
    "hidden-maximum": "The maximum you subtract counts hidden scores too: when a hidden score is "
    "huge, the visible ones underflow. Mask first, then take the maximum.",
    "not-normalised": "You exponentiate but do not divide by the row's sum.",
    "log": "You return log-weights: use softmax, not log_softmax.",
    "edits-input": "Your function edits the scores (or the mask) in place: masked_fill, not "
    "masked_fill_.",
    "hides-zero-scores": "You hide scores that equal 0, also visible ones: mask by the mask, not "
    "by "
    "the value.",
    "no-broadcast": "A mask of fewer dimensions than the scores, such as (T, S) or (B, 1, 1, S), "
    "has to work: let it broadcast.",
    "fixed-dtype": "A tensor you make has a fixed floating type: the result has to have the "
    "scores' "
    "type.",
    "detached": "The result is cut off from the gradient.",
    "added": "You add the mask (0 and 1) to the scores: hidden ones have to become −∞.",
    "linear": "Your weights are the scores divided by their sum: exponentiate first.",
}


softmax = Exercise("softmax", "The masked softmax", (ON,), MISTAKES, refused=("masked",))
