"""Chapter 11: the learning rate of 2017, which rises in a line and falls like one over the root."""

from __future__ import annotations

from typing import Any, ClassVar

import traitlets

from course.widgets.base import CourseWidget, Strings


def _rate(step: int, d_model: int, warmup: int) -> float:
    """The rate in units of 10⁻⁴ (as ``course.training.noam_rate``, without PyTorch)."""
    return float(1e4 * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))


class LearningRate(CourseWidget):
    """The schedule ``C^-½ · min(step^-½, step · warmup^-3/2)`` for a width and a warm-up.

    Args:
        d_model: the width ``C``.
        warmup: the steps of the rise.
        step: where the rate is read, from 1 to 20,000.
    """

    PARTS = ("chart.js",)
    HEIGHTS = (738, 500)

    d_model = traitlets.Int(512, min=1).tag(sync=True)
    warmup = traitlets.Int(4000, min=1).tag(sync=True)
    step = traitlets.Int(4000, min=1, max=20_000).tag(sync=True)

    STRINGS: ClassVar[Strings] = {
        "title": "Up in a line, down like one over the root",
        "look_for": (
            "what four times the width does, and what four times the warm-up does. Both halve the "
            "peak; only one of them changes the rate far to the right."
        ),
        "picture": "The learning rate against the step, beside that of the base model, dashed.",
        "d_model": "width C",
        "warmup": "warm-up, steps",
        "step": "step",
        "rate": "learning rate, in units of 10⁻⁴",
        "base": "C 512, warm-up 4000",
        "rising": "still rising",
        "peak": "at its peak",
        "falling": "falling",
        "readout": (
            "Step {step:,d}: {rate:.2f} × 10⁻⁴, {phase}. The peak is {top:.2f} × 10⁻⁴, at step "
            "{warmup:,d}."
        ),
    }

    def numbers(self) -> dict[str, Any]:
        """The rate at the step and at the peak, in units of 10⁻⁴, and the phase."""
        apart = self.step - self.warmup
        phase = "peak" if apart == 0 else "rising" if apart < 0 else "falling"
        return {
            "step": self.step,
            "warmup": self.warmup,
            "rate": _rate(self.step, self.d_model, self.warmup),
            "top": _rate(self.warmup, self.d_model, self.warmup),
            "phase": self.strings[phase],
        }
