"""Whom the models name, where they look, where the message is: what is drawn is what was given."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from course.experiments import load_records
from course.figures.induction import draw_repeated_loss, draw_two_heads
from course.figures.palette import LIGHT
from course.figures.pronouns import draw_answers, draw_asking_rows, draw_where


@pytest.fixture
def nothing_measured(monkeypatch, tmp_path):
    """The records' folder is empty."""
    monkeypatch.setenv("COURSE_RECORDS", str(tmp_path))


def texts(ax):
    return [t.get_text() for t in ax.texts]


def test_shares_fill_a_bar_and_the_published_one_is_an_open_mark(ax, nothing_measured):
    draw_answers(ax, {"average": [0.4, 0.5, 0.1], "two-blocks": []}, load_records("pronouns"))
    widths = [p.get_width() for p in ax.patches]
    assert widths == pytest.approx([0.4, 0.5, 0.1])
    right, wrong, _ = ax.patches
    assert right.get_edgecolor()[:3] == pytest.approx(to_rgb(LIGHT["attention"]))
    assert wrong.get_hatch()
    assert "not yet measured" in texts(ax)
    marks = [line for line in ax.lines if line.get_marker() == "o"]
    assert [float(m.get_xdata()[0]) for m in marks] == [0.279, 1.0]


@pytest.mark.parametrize("answers", [{}, {"average": [0.4, 0.4, 0.1]}, {"average": [0.5, 0.5]}])
def test_shares_that_are_none_are_refused(ax, answers):
    with pytest.raises(ValueError, match=r"no model|sum to 1"):
        draw_answers(ax, answers, load_records("pronouns"))


def test_a_row_for_each_adjective_and_a_column_for_each_word(ax):
    draw_asking_rows(ax, np.full((2, 4), 0.25), ["tired", "wet"], list("abcd"), "block 1")
    assert [t.get_text() for t in ax.get_yticklabels()] == ["tired", "wet"]
    assert [t.get_text() for t in ax.get_xticklabels()] == list("abcd")
    assert ax.get_title(loc="left") == "block 1"


def test_rows_that_do_not_fit_are_refused(ax):
    with pytest.raises(ValueError, match="2 adjectives, 3 words"):
        draw_asking_rows(ax, np.full((2, 4), 0.25), ["tired", "wet"], list("abc"), "")


def test_a_bar_for_every_place_and_a_dash_where_nothing_turns(ax):
    draw_where(ax, [0.0, 0.75, 0.0], ["the", "dog", "so"])
    assert [p.get_height() for p in ax.patches] == [0.0, 0.75, 0.0]
    assert [float(line.get_xdata()[0]) for line in ax.lines] == [0.0, 2.0]


@pytest.mark.parametrize("turned", [[0.5], [0.2, 1.5], [-0.1, 0.2]])
def test_shares_of_another_length_or_size_are_refused(ax, turned):
    with pytest.raises(ValueError, match="2 shares between 0 and 1"):
        draw_where(ax, turned, ["the", "dog"])


def test_what_is_not_recorded_is_named_and_not_drawn(ax, nothing_measured):
    records = load_records("induction")
    draw_repeated_loss(ax, records)
    assert texts(ax) == ["one layer, two layers: not yet measured"]
    draw_two_heads(ax, records)
    assert not ax.lines


def test_the_recorded_curves_are_drawn_and_named(ax):
    records = load_records("induction")
    draw_repeated_loss(ax, records)
    drawn = [name for name in ("one layer", "two layers") if name in texts(ax)]
    measured = [r.name for r in records if r.n]
    assert len(drawn) == len(measured)
    before = len(ax.lines)
    draw_two_heads(ax, records)
    assert len(ax.lines) - before == (2 if records["two-layers"].n else 0)
