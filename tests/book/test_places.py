"""A widget has its place, of its height, in the page as it is sent."""

from __future__ import annotations

import json
from pathlib import Path

from course_book import places
from course_book.clean import STATE, VIEW

SCRIPT = f'<script type="{VIEW}">{{"model_id": "one-w1", "version_major": 2}}</script>'


def test_a_view_stands_in_a_box_of_its_widgets_height_with_words_for_those_without_scripts(
    tmp_path: Path,
) -> None:
    state = {"one-w1": {"state": {"reserve": [609, 621]}}, "one-w2": {"state": {}}}
    notebook = tmp_path / "one.ipynb"
    notebook.write_text(json.dumps({"metadata": {"widgets": {STATE: {"state": state}}}}))
    heights = places.reserves(notebook)
    assert heights == {"one-w1": (609, 621), "one-w2": (0, 0)}
    body = places.boxes(f"<p>before</p>{SCRIPT}<p>after</p>", heights)
    box = body.removeprefix("<p>before</p>").removesuffix("<p>after</p>")
    assert box.startswith('<div class="widget-place" style="--narrow: 609px; --wide: 621px">')
    assert box.endswith("</div>")
    assert SCRIPT in box
    assert "JavaScript" in box[box.index("<noscript>") : box.index("</noscript>")]


def test_a_notebook_without_widgets_and_a_view_without_a_state(tmp_path: Path) -> None:
    notebook = tmp_path / "none.ipynb"
    notebook.write_text(json.dumps({"metadata": {}}))
    assert places.reserves(notebook) == {}
    assert "--narrow: 0px" in places.boxes(SCRIPT, {})
    assert places.boxes("<p>plain</p>", {}) == "<p>plain</p>"
