"""The bug museum's figure: a leak is drawn as one, and honest models are not accused."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_hex

from course.figures.museum import draw_two_exams
from course.figures.palette import LIGHT


def test_a_leak_has_a_cross_and_the_colour_of_what_is_wrong():
    fig, ax = plt.subplots()
    draw_two_exams(ax, {"right": (120.0, 120.0), "inverted": (1.3, 600.0)})
    crosses = [line for line in ax.lines if line.get_marker() == "x"]
    assert [line.get_xdata()[0] for line in crosses] == [1.3]
    assert to_hex(crosses[0].get_color()) == LIGHT["wrong"]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["right", "inverted"]
    assert {t.get_text() for t in ax.texts} == {"usual", "honest"}
    plt.close(fig)


def test_without_a_leak_nothing_is_crossed():
    fig, ax = plt.subplots()
    draw_two_exams(ax, {"right": (120.0, 121.0)})
    assert "x" not in {line.get_marker() for line in ax.lines}
    assert not ax.texts
    plt.close(fig)


@pytest.mark.parametrize(("found", "said"), [({}, "no model"), ({"a": (0.5, 2.0)}, "not 0.5")])
def test_what_cannot_be_drawn_is_refused(found, said):
    fig, ax = plt.subplots()
    with pytest.raises(ValueError, match=said):
        draw_two_exams(ax, found)
    plt.close(fig)
