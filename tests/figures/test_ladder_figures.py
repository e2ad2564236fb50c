"""The ladder's chart and table: what is recorded, what is published, what is not yet measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from course.experiments import Record, Records, load_records
from course.figures.ladder import SHORT, draw_ladder, draw_losses, ladder_table, smooth
from course.models import RUNGS


@pytest.fixture
def ladder(tmp_path, monkeypatch) -> Records:
    """The ladder without one record."""
    monkeypatch.setenv("COURSE_RECORDS", str(tmp_path))
    return load_records("ladder")


def measured(ladder: Records, name: str, values: list[float]):
    """A row with these held-out perplexities on record."""
    records = [
        Record(Path(f"{name}-s{seed}.json"), {"metrics": {"held_out": value}, "seed": seed})
        for seed, value in enumerate(values)
    ]
    return replace(ladder[name], records=tuple(records))


def test_every_rung_has_a_short_name_of_six_words_at_most():
    assert list(SHORT) == list(RUNGS)
    assert all(len(name.split()) <= 6 for name in SHORT.values())


def test_smooth_is_the_mean_of_the_last_few():
    assert smooth([4, 2, 6, 0], 2).tolist() == [4, 3, 4, 3]
    with pytest.raises(ValueError, match="width"):
        smooth([1.0], 0)


def test_losses_are_drawn_smoothed_and_named(ax):
    draw_losses(ax, {"no-context": [3.0, 1.0], "average": [4.0, 4.0]}, width=2)
    assert ax.lines[0].get_ydata().tolist() == [3.0, 2.0]
    assert [t.get_text() for t in ax.texts] == [SHORT["no-context"], SHORT["average"]]


def test_names_at_the_ends_do_not_overlap(ax):
    draw_losses(ax, {slug: [5.0, 1.0 + i * 1e-3] for i, slug in enumerate(SHORT)})
    places = sorted(t.xyann[1] for t in ax.texts)
    low, high = ax.get_ylim()
    assert np.diff(places).min() > 0.08 * (high - low)


def test_losses_of_nothing_are_refused(ax):
    with pytest.raises(ValueError, match="no loss"):
        draw_losses(ax, {})


def test_unmeasured_rungs_say_so_beside_the_published_mark(ax, ladder):
    draw_ladder(ax, list(ladder))
    assert [t.get_text() for t in ax.texts] == ["not yet measured"] * len(ladder)
    marks = [line.get_xdata()[0] for line in ax.lines]
    assert marks == [row.published for row in ladder]


def test_a_measured_rung_shows_mean_band_and_published(ax, ladder):
    draw_ladder(ax, [measured(ladder, "no-context", [59.0, 61.0])])
    assert [t.get_text() for t in ax.texts] == ["60.0"]
    band = ax.collections[0].get_datalim(ax.transData)
    assert band.x0 == pytest.approx(60 - 2**0.5)
    assert band.x1 == pytest.approx(60 + 2**0.5)


def test_a_rung_of_one_seed_has_no_band(ax, ladder):
    draw_ladder(ax, [measured(ladder, "no-context", [60.0])])
    assert [t.get_text() for t in ax.texts] == ["60.0"]
    assert not ax.collections


def test_the_chart_of_no_rung_is_refused(ax):
    with pytest.raises(ValueError, match="no rung"):
        draw_ladder(ax, [])


def test_table_puts_live_recorded_and_published_side_by_side(ladder):
    rows = [measured(ladder, "no-context", [59.0, 61.0]), ladder["average"]]
    made = ladder_table(rows, {"here": {"no-context": 84.99}}, caption="quick")
    assert made.header == ("held-out perplexity", "here", "recorded", "seeds", "published")
    assert made.rows[0] == (SHORT["no-context"], "85.0", "60.00 ± 1.41", "2", "59.71")
    assert made.rows[1] == (SHORT["average"], "", "not yet measured", "–", "≈ 248")


def test_table_with_a_column_of_parameters(ladder):
    made = ladder_table([ladder["no-context"]], parameters={"no-context": 263168})
    assert made.header[-1] == "parameters"
    assert made.rows[0][-1] == "263,168"


def test_table_marks_stale_records(ladder):
    row = replace(measured(ladder, "head", [46.0]), stale=True)
    assert ladder_table([row]).rows[0][1:] == ("46.00", "1 (stale)", "≈ 46.5")
