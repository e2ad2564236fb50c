"""Figures of chapter 9: slopes, rings where the maximum rises, tiles, records and their absence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from course.experiments import Record, load_records
from course.figures.cost import cost_table, draw_growth, draw_running_maximum, draw_tiles
from course.figures.palette import LIGHT, rgb


def test_growth_is_logarithmic_named_and_told_apart_by_its_dashes(ax):
    draw_growth(ax, {"square": ([256, 512], [4, 16]), "in tiles": ([256, 512], [1, 2])}, "MB")
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [t.get_text() for t in ax.texts] == ["square", "in tiles"]
    square, tiles = ax.lines
    assert not square.is_dashed()
    assert tiles.is_dashed()
    assert [t.get_text() for t in ax.get_xticklabels()] == ["256", "512"]


@pytest.mark.parametrize(
    "series",
    [
        {},
        {"a": ([1, 2], [1])},
        {"a": ([1, 2], [0, 1])},
        {name: ([1], [1]) for name in "abcd"},
    ],
)
def test_growth_refuses_what_cannot_be_drawn(ax, series):
    with pytest.raises(ValueError, match=r"told apart|positive"):
        draw_growth(ax, series, "MB")


def test_a_ring_stands_where_a_later_tile_raises_the_maximum(ax):
    draw_running_maximum(ax, [1, 2, 0, 1, 5, 0], tile=2)
    rings = [line for line in ax.lines if line.get_marker() == "o"]
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in rings] == [(4, 5)]
    (stairs,) = ax.patches
    assert stairs.get_data().values.tolist() == [2, 2, 5]


@pytest.mark.parametrize(("scores", "tile"), [([[1.0]], 1), ([], 1), ([1.0], 0)])
def test_what_is_no_row_has_no_running_maximum(ax, scores, tile):
    with pytest.raises(ValueError, match="row of scores"):
        draw_running_maximum(ax, scores, tile)


def test_one_tile_of_keys_is_at_work(ax):
    draw_tiles(ax, 12, 3, now=1)
    blue = rgb(LIGHT["attention"])
    strip = [p for p in ax.patches if p.get_height() == 12 and p.get_width() == 3]
    assert [(p.get_x(), p.get_facecolor()[:3]) for p in strip] == [(3, pytest.approx(blue))]
    assert {"let go", "not yet\nmade", "top", "mass", "out"} <= {t.get_text() for t in ax.texts}


@pytest.mark.parametrize(("now", "absent"), [(0, "let go"), (3, "not yet\nmade")])
def test_the_first_and_the_last_tile_have_nothing_on_one_side(ax, now, absent):
    draw_tiles(ax, 12, 3, now=now)
    assert absent not in {t.get_text() for t in ax.texts}


@pytest.mark.parametrize(("tile", "now"), [(5, 0), (3, 4), (3, -1)])
def test_a_tile_that_is_not_there_is_refused(ax, tile, now):
    with pytest.raises(ValueError, match=f"tiles of {tile} of 12"):
        draw_tiles(ax, 12, tile, now)


def test_without_records_the_table_has_what_needs_no_measuring(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_RECORDS", str(tmp_path))
    rows = cost_table(load_records("cost")).rows
    assert [row[1] for row in rows] == ["0.5", "2", "8", "32", "128", "512", "2,048", "8,192"]
    assert {row[2] for row in rows} == {"not yet measured"}


def test_recorded_peaks_ratios_and_the_length_that_did_not_fit(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_RECORDS", str(tmp_path))
    records = load_records("cost")
    curve = {
        "n": [128.0, 256.0, 512.0],
        "scores_mb": [0.5, 2.0, 8.0],
        "peak_mb": [10.0, 30.0, None],
        "seconds": [1.0, 2.5, None],
    }
    data = {"metrics": {}, "seed": 0, "loss_curve": [], "curves": {"cost": curve}}
    rows = [
        replace(row, records=(Record(Path("plain-s0.json"), data),)) if row.name == "plain" else row
        for row in records
    ]
    made = cost_table(replace(records, rows=tuple(rows)))
    assert made.rows == (
        ("128", "0.5", "10.0", "", "", "not yet measured"),
        ("256", "2", "30.0", "3.00", "2.50", "not yet measured"),
        ("512", "8", "out of memory", "", "", "not yet measured"),
    )
