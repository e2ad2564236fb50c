"""Whole models: the ladder's rungs, a GPT, and the encoder–decoder of 2017."""

from course.models.counting import count_parameters, gpt_parameters
from course.models.encoder_decoder import EncoderDecoder
from course.models.gpt import GPT
from course.models.ladder import RUNGS, Rung, build_rung

__all__ = [
    "GPT",
    "RUNGS",
    "EncoderDecoder",
    "Rung",
    "build_rung",
    "count_parameters",
    "gpt_parameters",
]
