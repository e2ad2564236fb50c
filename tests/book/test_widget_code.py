"""The widgets' code beside the pages: cut where files meet, put together as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from course_book import widget_code

from course.widgets.from_average import FromAverage
from course.widgets.quiz import Quiz

KNOWN = {"_esm": {"frame": "FRAME;\n", "own": "OWN;\n"}, "_css": {"frame": ".frame{}\n"}}


def _put_together(state: dict[str, Any], parts: widget_code.Parts, trait: str) -> str:
    named = state[trait]
    return "".join(parts[name][trait] for name in named["parts"])


def test_a_text_is_cut_where_the_files_meet_and_loses_nothing() -> None:
    text = "/* palette */FRAME;\n\nOWN;\n// end"
    pieces = widget_code.cut(text, KNOWN["_esm"])
    assert pieces == [("frame", "/* palette */FRAME;\n\n"), ("own", "OWN;\n// end")]
    assert widget_code.cut("another's", KNOWN["_esm"]) == []


def test_two_widgets_share_the_frame_and_get_back_their_code_to_the_letter() -> None:
    kinds = {"a": Quiz, "b": FromAverage}
    states = {
        name: {"state": {"_esm": str(kind._esm), "_css": str(kind._css), "strings": {"reset": "R"}}}
        for name, kind in kinds.items()
    }
    kept, parts = widget_code.taken_out(states, widget_code.files())
    for name, kind in kinds.items():
        state = kept[name]["state"]
        assert _put_together(state, parts, "_esm") == str(kind._esm)
        assert _put_together(state, parts, "_css") == str(kind._css)
        assert state["strings"] == {"reset": "R"}
    (frame,) = [name for name in parts if name.startswith("frame.")]
    assert [kept[name]["state"]["_esm"]["parts"][0] for name in kinds] == [frame, frame]


def test_code_that_is_not_the_courses_stays_in_the_state() -> None:
    states = {"x": {"state": {"_esm": "export default {}", "_css": ""}}}
    assert widget_code.taken_out(states, KNOWN) == (states, {})


def test_a_part_is_a_script_and_goes_when_no_page_names_it(tmp_path: Path) -> None:
    part = {"_esm": "const a = '</script>';\n"}
    (path,) = widget_code.write({"frame.1": part}, tmp_path)
    text = (tmp_path / path).read_text(encoding="utf-8")
    assert text.startswith('(self.widgetParts??={})["frame.1"]=')
    assert json.loads(text.partition("]=")[2].rstrip(";\n")) == part
    page = tmp_path / "book" / "one.html"
    page.parent.mkdir()
    page.write_text(f'<script src="../{path}?v=1"></script>', encoding="utf-8")
    widget_code.drop_unused(tmp_path)
    assert (tmp_path / path).is_file()
    page.write_text("", encoding="utf-8")
    widget_code.drop_unused(tmp_path)
    assert not (tmp_path / path).exists()
