"""Live pictures for the chapters: one Python file and one JavaScript file a widget.

Every widget is a :class:`course.widgets.base.CourseWidget`: it works in JupyterLab and Colab with
a kernel, and in the built page without one. ``from course.widgets import ScaledSoftmax``.
"""

from __future__ import annotations

from course.widgets.attention_map import AttentionMap, CrossAttentionMap, HeadMaps
from course.widgets.averaging_matrix import AveragingMatrix
from course.widgets.from_average import FromAverage
from course.widgets.ladder_map import LadderMap
from course.widgets.learning_rate import LearningRate
from course.widgets.masked_softmax_row import MaskedSoftmaxRow
from course.widgets.next_token import NextToken
from course.widgets.norms_and_warmup import NormsAndWarmup
from course.widgets.parameter_count import ParameterCount
from course.widgets.position_reach import PositionReach
from course.widgets.pronoun_maps import PronounMaps
from course.widgets.quadratic_cost import QuadraticCost
from course.widgets.quiz import Quiz
from course.widgets.scaled_softmax import ScaledSoftmax
from course.widgets.shuffled_average import ShuffledAverage
from course.widgets.worked_attention import WorkedAttention

__all__ = [
    "AttentionMap",
    "AveragingMatrix",
    "CrossAttentionMap",
    "FromAverage",
    "HeadMaps",
    "LadderMap",
    "LearningRate",
    "MaskedSoftmaxRow",
    "NextToken",
    "NormsAndWarmup",
    "ParameterCount",
    "PositionReach",
    "PronounMaps",
    "QuadraticCost",
    "Quiz",
    "ScaledSoftmax",
    "ShuffledAverage",
    "WorkedAttention",
]
