"""Live pictures for the chapters: one Python file and one JavaScript file a widget.

Every widget is a :class:`course.widgets.base.CourseWidget`: it works in JupyterLab and Colab with
a kernel, and in the built page without one. ``from course.widgets import ScaledSoftmax``.
"""

from __future__ import annotations

from course.widgets.averaging_matrix import AveragingMatrix
from course.widgets.masked_softmax_row import MaskedSoftmaxRow
from course.widgets.scaled_softmax import ScaledSoftmax
from course.widgets.shuffled_average import ShuffledAverage
from course.widgets.worked_attention import WorkedAttention

__all__ = [
    "AveragingMatrix",
    "MaskedSoftmaxRow",
    "ScaledSoftmax",
    "ShuffledAverage",
    "WorkedAttention",
]
