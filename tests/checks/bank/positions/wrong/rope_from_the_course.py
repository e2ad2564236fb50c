# mistake: imported-answer
# of: apply_rope
from course import positions as p


def apply_rope(x, positions, base=10000.0):
    return p.apply_rope(x, positions, base)
