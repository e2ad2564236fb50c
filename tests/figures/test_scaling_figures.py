"""Figures of chapter 5: measured points on the predicted line, bands, records and their absence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from course.experiments import Record, load_records
from course.figures.palette import LIGHT
from course.figures.scaling import (
    STYLES,
    draw_by_width,
    draw_inside,
    draw_row,
    draw_spread_of_scores,
    draw_trained_widths,
)


def test_undivided_is_red_with_crosses_and_divided_is_blue():
    assert STYLES["undivided"]["color"] == LIGHT["wrong"]
    assert STYLES["undivided"]["marker"] == "x"
    assert STYLES["÷ √dₖ"]["color"] == LIGHT["attention"]


def test_spread_draws_the_root_and_the_points(ax):
    draw_spread_of_scores(ax, [4, 16], [2.1, 3.9])
    root, points = ax.lines
    assert root.get_ydata().tolist() == [2.0, 4.0]
    assert root.is_dashed()
    assert points.get_ydata().tolist() == [2.1, 3.9]


def test_spread_of_another_length_is_refused(ax):
    with pytest.raises(ValueError, match=r"2 widths.*\(1,\)"):
        draw_spread_of_scores(ax, [4, 16], [2.0])


def test_by_width_draws_middle_and_band(ax):
    draw_by_width(ax, [4, 16], {"undivided": ([20, 5], [10, 3], [30, 7])}, "tokens")
    assert ax.lines[0].get_ydata().tolist() == [20, 5]
    box = ax.collections[0].get_datalim(ax.transData)
    assert (box.y0, box.y1) == (3, 30)
    assert [t.get_text() for t in ax.texts] == ["undivided"]


@pytest.mark.parametrize(
    "series", [{"doubled": ([1, 1],) * 3}, {"undivided": ([1, 1], [1, 1], [1])}]
)
def test_by_width_refuses_unknown_names_and_lengths(ax, series):
    with pytest.raises(ValueError, match=r"called|widths"):
        draw_by_width(ax, [4, 16], series, "tokens")


def test_a_row_is_bars_and_a_collapsed_one_has_a_cross(ax):
    draw_row(ax, [0.02, 0.95, 0.03], "undivided", title="16")
    assert [bar.get_height() for bar in ax.patches] == [0.02, 0.95, 0.03]
    assert ax.lines[0].get_xdata().tolist() == [1]
    assert ax.lines[0].get_marker() == "x"
    assert [t.get_text() for t in ax.texts] == ["one takes all"]


def test_a_row_that_spreads_has_no_cross(ax):
    draw_row(ax, np.full(4, 0.25), "÷ √dₖ")
    assert not ax.lines


def test_a_row_must_be_a_distribution(ax):
    with pytest.raises(ValueError, match="sums to 1"):
        draw_row(ax, [0.5, 0.6], "undivided")


def test_inside_is_logarithmic_and_named(ax):
    draw_inside(ax, {"undivided": ([0, 10], [20.0, 300.0])}, "std")
    assert ax.get_yscale() == "log"
    assert [t.get_text() for t in ax.texts] == ["undivided"]
    with pytest.raises(ValueError, match="no curve"):
        draw_inside(ax, {}, "std")


def test_without_records_the_chart_says_so(ax, tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_RECORDS", str(tmp_path))
    draw_trained_widths(ax, load_records("scaling"))
    assert [t.get_text() for t in ax.texts] == ["not yet measured"]


def test_recorded_widths_are_lines_by_setting(ax, tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_RECORDS", str(tmp_path))
    table = load_records("scaling")
    values = {"dk256-1500-divided": 60.0, "dk512-1500-divided": 61.0, "dk256-1500-undivided": 78.0}

    def with_record(row):
        if row.name not in values:
            return row
        data = {"metrics": {"held_out": values[row.name]}, "seed": 0}
        return replace(row, records=(Record(Path(f"{row.name}-s0.json"), data),))

    draw_trained_widths(ax, replace(table, rows=tuple(map(with_record, table))))
    drawn = {tuple(line.get_ydata()) for line in ax.lines}
    assert drawn == {(60.0, 61.0), (78.0,)}
    assert {t.get_text() for t in ax.texts} == {"÷ √dₖ, 1500 steps", "undivided, 1500 steps"}
