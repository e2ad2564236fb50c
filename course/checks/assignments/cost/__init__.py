"""``tiled_attention(q, k, v, tile)``: causal attention without ever holding a T × T tensor."""

# Importing a part registers its checks, in this order.
from course.checks.assignments.cost import diagnosis, properties
from course.checks.assignments.cost.exercise import MISTAKES, cost
from course.checks.assignments.cost.oracle import VARIANTS, right

__all__ = ["MISTAKES", "VARIANTS", "cost", "diagnosis", "properties", "right"]
