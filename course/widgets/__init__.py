"""Live pictures for the chapters: one Python file and one JavaScript file a widget.

Every widget is a :class:`course.widgets.base.CourseWidget`: it works in JupyterLab and Colab with
a kernel, and in the built page without one. ``from course.widgets import ScaledSoftmax``.
"""

from __future__ import annotations

from course.widgets.scaled_softmax import ScaledSoftmax

__all__ = ["ScaledSoftmax"]
