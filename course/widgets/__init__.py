"""Live pictures for the chapters: one Python file and one JavaScript file a widget.

Every widget is a :class:`course.widgets.base.CourseWidget`: it works in JupyterLab and Colab with
a kernel, and in the built page without one. ``from course.widgets import ScaledSoftmax``.
"""

from __future__ import annotations

from course.widgets.averaging_matrix import AveragingMatrix
from course.widgets.ladder_map import LadderMap
from course.widgets.masked_softmax_row import MaskedSoftmaxRow
from course.widgets.parameter_count import ParameterCount
from course.widgets.position_reach import PositionReach
from course.widgets.quadratic_cost import QuadraticCost
from course.widgets.quiz import Quiz
from course.widgets.scaled_softmax import ScaledSoftmax
from course.widgets.shuffled_average import ShuffledAverage
from course.widgets.worked_attention import WorkedAttention

__all__ = [
    "AveragingMatrix",
    "LadderMap",
    "MaskedSoftmaxRow",
    "ParameterCount",
    "PositionReach",
    "QuadraticCost",
    "Quiz",
    "ScaledSoftmax",
    "ShuffledAverage",
    "WorkedAttention",
]
