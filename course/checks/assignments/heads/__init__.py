"""``MultiHeadAttention(d_model, n_heads, context_length, dropout=0.0)``."""

# Importing a part registers its checks, in this order.
from course.checks.assignments.heads import diagnosis, properties
from course.checks.assignments.heads.exercise import DESIGN, MISTAKES, heads

__all__ = ["DESIGN", "MISTAKES", "diagnosis", "heads", "properties"]
