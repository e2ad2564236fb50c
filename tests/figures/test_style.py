"""Words of every figure are as large as the style says, powers of ten are words."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import pytest

import course.figures
from course.figures.style import power_of_ten, use_style

WORDS = 10  # points; smaller ones are under 9 px on a phone of 360 px


def test_no_words_are_smaller_than_the_others():
    use_style()
    names = ["font.size", *(f"{part}.labelsize" for part in ("axes", "xtick", "ytick"))]
    names += ["axes.titlesize", "legend.fontsize"]
    assert {mpl.rcParams[name] for name in names} == {WORDS}
    for path in sorted(Path(course.figures.__file__).parent.glob("*.py")):
        sizes = re.findall(r"fontsize\W+(\d+)", path.read_text(encoding="utf-8"))
        assert all(int(size) >= WORDS for size in sizes), path.name


@pytest.mark.parametrize(
    ("value", "text"),
    [(1, "1"), (10, "10"), (1e3, "10³"), (1e-17, "10⁻¹⁷"), (1e10, "10¹⁰"), (30, "30"), (0, "0")],
)
def test_a_power_of_ten_is_a_word(value, text):
    assert power_of_ten(value, 0) == text
