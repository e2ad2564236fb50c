"""``sample_next``, ``generate`` and ``count_parameters``: what runs a GPT once it is trained."""

# Importing a part registers its checks, in this order.
from course.checks.assignments.gpt import (
    counting,
    frequencies,
    generating,
    sampling,
    sampling_faults,
)
from course.checks.assignments.gpt.counting import count
from course.checks.assignments.gpt.exercise import gpt

__all__ = ["count", "counting", "frequencies", "generating", "gpt", "sampling", "sampling_faults"]
