"""``Block(d_model, n_heads, context_length, dropout=0.0)``: pre-norm, attention then MLP.

The block is taken apart by setting parameters: with the MLP's matrices at zero only the attention
branch is left, and the other way round. Vectors that start as ones are the norms' gains and stay
ones; all other vectors are set to zero, so that the values rest on matrices alone.
"""

# Importing a part registers its checks, in this order.
from course.checks.assignments.block import diagnosis, oracle, properties
from course.checks.assignments.block.exercise import block
from course.checks.assignments.block.oracle import make

__all__ = ["block", "diagnosis", "make", "oracle", "properties"]
