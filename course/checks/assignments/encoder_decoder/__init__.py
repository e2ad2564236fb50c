"""``CrossAttention``, ``noam_rate`` and ``label_smoothed_targets``: parts of the 2017 model."""

# Importing a part registers its checks, in this order.
from course.checks.assignments.encoder_decoder import (
    cross_attention,
    cross_oracle,
    schedule,
    smoothing,
)
from course.checks.assignments.encoder_decoder.cross_oracle import cross
from course.checks.assignments.encoder_decoder.exercise import encoder_decoder
from course.checks.assignments.encoder_decoder.schedule import right_rate
from course.checks.assignments.encoder_decoder.smoothing import right_targets

__all__ = [
    "cross",
    "cross_attention",
    "cross_oracle",
    "encoder_decoder",
    "right_rate",
    "right_targets",
    "schedule",
    "smoothing",
]
