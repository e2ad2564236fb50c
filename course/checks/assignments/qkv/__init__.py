"""``attend(x, w_q, w_k, w_v)``: causal attention from three matrices, still undivided."""

# Importing a part registers its checks, in this order.
from course.checks.assignments.qkv import diagnosis, properties
from course.checks.assignments.qkv.exercise import MISTAKES, qkv
from course.checks.assignments.qkv.oracle import VARIANTS, right

__all__ = ["MISTAKES", "VARIANTS", "diagnosis", "properties", "qkv", "right"]
