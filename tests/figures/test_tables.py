"""Tables: plain markup with scopes, escaped text, refused rows."""

from __future__ import annotations

import pytest

from course.figures.tables import table


def test_html_has_scopes_caption_and_escaped_text():
    markup = table(["name", "a < b"], [["x & y", 1234567]], caption="1 < 2")._repr_html_()
    assert '<th scope="col" style="text-align:right">a &lt; b</th>' in markup
    assert '<th scope="row" style="text-align:left">x &amp; y</th>' in markup
    assert "<caption>1 &lt; 2</caption>" in markup
    assert "1,234,567" in markup


def test_figures_align_at_the_right_and_words_at_the_left():
    rows = [["x", "1.5 ± 0.2", "wet"], ["y", "not yet measured", "12"], ["z", "≈ 248", ""]]
    markup = table(["row", "n", "word"], rows)._repr_html_()
    assert '<td style="text-align:right">1.5 ± 0.2</td>' in markup
    assert '<td style="text-align:right">not yet measured</td>' in markup
    assert '<td style="text-align:left">12</td>' in markup
    assert '<th scope="col" style="text-align:left">word</th>' in markup


def test_a_heading_that_says_nothing_is_a_plain_cell():
    markup = table(["", "n"], [["", 1], ["x", 2]])._repr_html_()
    assert markup.count("<th") == len(["thead", "n", "x"])
    assert '<td style="text-align:left"></td>' in markup


def test_no_caption_no_element():
    assert "<caption>" not in table(["a"], [["b"]])._repr_html_()


def test_text_is_aligned():
    lines = repr(table(["row", "n"], [["first", 7], ["b", "1234"]])).splitlines()
    assert lines == ["row       n", "first     7", "b      1234"]


@pytest.mark.parametrize("rows", [[], [["a"]], [["a", "b", "c"]]])
def test_rows_that_do_not_fit_are_refused(rows):
    with pytest.raises(ValueError, match="row"):
        table(["one", "two"], rows)
