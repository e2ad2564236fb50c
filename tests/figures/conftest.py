"""An axes to draw on, in the course's style, without a window."""

from __future__ import annotations

import matplotlib
import pytest

matplotlib.use("agg")


@pytest.fixture
def ax():
    import matplotlib.pyplot as plt

    from course.figures.style import use_style

    use_style()
    figure, axes = plt.subplots()
    yield axes
    figure.canvas.draw()  # whatever a test did must also be drawable
    plt.close(figure)
