"""``scaled_scores(q, k)`` and ``effective_tokens(weights)``: the measure and its remedy."""

# Importing a part registers its checks, in this order.
from course.checks.assignments.scaling import scores, tokens
from course.checks.assignments.scaling.exercise import MISTAKES, scaling
from course.checks.assignments.scaling.scores import right_scores
from course.checks.assignments.scaling.tokens import right_tokens

__all__ = ["MISTAKES", "right_scores", "right_tokens", "scaling", "scores", "tokens"]
