"""``Head(d_model, d_head, context_length, dropout=0.0)``: one causal attention head."""

# Importing a part registers its checks, in this order.
from course.checks.assignments.head import diagnosis, properties
from course.checks.assignments.head.exercise import DESIGN, MISTAKES, head

__all__ = ["DESIGN", "MISTAKES", "diagnosis", "head", "properties"]
