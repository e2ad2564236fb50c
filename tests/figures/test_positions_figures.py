"""Waves, distances, losses by place, and how far the recorded schemes read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from course.experiments import Record, load_records
from course.figures.positions import (
    SCHEMES,
    draw_against_distance,
    draw_loss_by_place,
    draw_reach,
    draw_waves,
)
from course.models.gpt import POSITIONS
from course.positions import sinusoidal


@pytest.fixture
def records(tmp_path, monkeypatch):
    """The position schemes without one record."""
    monkeypatch.setenv("COURSE_RECORDS", str(tmp_path))
    return load_records("positions")


def texts(ax) -> list[str]:
    return [t.get_text() for t in ax.texts]


def test_every_scheme_of_a_gpt_has_a_style_of_its_own():
    assert set(SCHEMES) == set(POSITIONS)
    looks = {
        (s.get("color"), str(s.get("linestyle")), s.get("marker")) for _, s in SCHEMES.values()
    }
    assert len(looks) == len(SCHEMES)


def test_waves_are_the_encoding_solid_where_it_was_trained(ax):
    p = sinusoidal(32, 16)
    draw_waves(ax, p, [0, 6], trained=8)
    solid, dashed = [line for line in ax.lines if len(line.get_xdata()) > 2][2:4]
    base = ax.get_yticks()[1]
    assert np.allclose(solid.get_ydata() - base, p[:8, 6])
    assert np.allclose(dashed.get_ydata() - base, p[7:, 6])
    assert solid.get_linestyle() == "-" != dashed.get_linestyle()
    assert [t.get_text() for t in ax.get_yticklabels()] == ["0", "6"]
    assert "trained up to here" in texts(ax)


@pytest.mark.parametrize(("encoding", "trained"), [(np.ones(4), 2), (2 * np.ones((4, 2)), 2),
                                                   (np.ones((4, 2)), 5)])  # fmt: skip
def test_what_is_no_encoding_is_refused(ax, encoding, trained):
    with pytest.raises(ValueError, match="encoding"):
        draw_waves(ax, encoding, [0], trained)


def test_against_distance_names_each_line(ax):
    draw_against_distance(ax, {"ours": [1, 0.5], "other": [1, 0.2]}, "product")
    assert texts(ax) == ["ours", "other"]
    assert [line.get_ydata().tolist() for line in ax.lines] == [[1, 0.5], [1, 0.2]]
    for series in ({}, {"a": [1], "b": [1, 2]}):
        with pytest.raises(ValueError, match="one length"):
            draw_against_distance(ax, series, "product")


def test_losses_are_averaged_over_places_and_the_trained_length_is_marked(ax):
    draw_loss_by_place(ax, {"alibi": [4, 2, 3, 3], "learned": [2, 2, 6, 8]}, trained=2, width=2)
    drawn = [line.get_ydata().tolist() for line in ax.lines[:2]]
    assert drawn == [[3, 3], [2, 7]]
    assert ax.lines[2].get_xdata() == [2, 2]
    assert {"ALiBi", "learned", "trained up to here"} == set(texts(ax))


def test_losses_that_do_not_fit_are_refused(ax):
    with pytest.raises(KeyError):
        draw_loss_by_place(ax, {"absolute": [1.0] * 8}, trained=4)
    with pytest.raises(ValueError, match="one length"):
        draw_loss_by_place(ax, {"rope": [1.0] * 8, "alibi": [1.0]}, trained=4)


def test_without_records_the_published_marks_stand_alone(ax, records):
    draw_reach(ax, records)
    assert texts(ax) == ["not yet measured"]
    published = records["alibi"].row.published
    marks = {(line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines}
    assert marks == {(64, published["at_64"]), (256, published["at_256"])}


def test_a_recorded_scheme_is_a_line_with_its_spread(ax, records):
    def with_record(row):
        if row.name != "rope":
            return row
        runs = [{f"at_{T}": 40.0 + T / 64 + seed for T in (64, 128, 256)} for seed in (0, 2)]
        made = (
            Record(Path(f"rope-s{i}.json"), {"metrics": m, "seed": i}) for i, m in enumerate(runs)
        )
        return replace(row, records=tuple(made))

    draw_reach(ax, replace(records, rows=tuple(map(with_record, records))))
    line = max(ax.lines, key=lambda line: len(line.get_xdata()))
    assert line.get_ydata().tolist() == [42, 43, 45]
    box = ax.collections[0].get_datalim(ax.transData)
    assert (box.y0, box.y1) == pytest.approx((42 - 2**0.5, 45 + 2**0.5))
    assert texts(ax) == ["RoPE"]
