"""``masked_softmax(scores, mask)``: a softmax over the visible keys; hidden ones get exactly 0."""

# Importing a part registers its checks, in this order.
from course.checks.assignments.softmax import diagnosis, properties
from course.checks.assignments.softmax.exercise import MISTAKES, softmax
from course.checks.assignments.softmax.oracle import VARIANTS, right

__all__ = ["MISTAKES", "VARIANTS", "diagnosis", "properties", "right", "softmax"]
