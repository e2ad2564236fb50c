"""``sinusoidal``, ``apply_rope`` and ``alibi_bias``: three ways to say where a token stands."""

# Importing a part registers its checks, in this order.
from course.checks.assignments.positions import alibi, rotary, waves
from course.checks.assignments.positions.alibi import right_alibi
from course.checks.assignments.positions.exercise import positions
from course.checks.assignments.positions.rotary import rope
from course.checks.assignments.positions.waves import right_sinusoidal

__all__ = ["alibi", "positions", "right_alibi", "right_sinusoidal", "rope", "rotary", "waves"]
