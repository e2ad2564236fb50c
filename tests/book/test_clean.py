"""What a page does not show of the machine it was made on."""

from __future__ import annotations

import sys

import pytest

from tests.book import minibook  # puts book/_ext on the path

from course_book import clean  # isort: skip

ROOT = minibook.REPOSITORY


def one_cell(*outputs: dict, widgets: dict | None = None) -> dict:
    cell = {"cell_type": "code", "metadata": {}, "source": "", "outputs": list(outputs)}
    metadata = {"widgets": {clean.STATE: {"state": widgets}}} if widgets is not None else {}
    return {"cells": [cell], "metadata": metadata}


def outputs_of(notebook: dict) -> list[dict]:
    return list(clean.clean(notebook, ROOT, "05-scaling")["cells"][0]["outputs"])


def stream(text: str, name: str = "stderr") -> dict:
    return {"output_type": "stream", "name": name, "text": text}


def test_a_finished_progress_bar_goes_and_a_warning_stays() -> None:
    bar = "\r  0%|          | 0/3 [00:00<?, ?it/s]\r100%|██████████| 3/3 [00:00<00:00, 9.1it/s]\n"
    pieces = [stream(bar[:25]), stream(bar[25:]), stream("UserWarning: mind the step\n")]
    (left,) = outputs_of(one_cell(*pieces))
    assert left["text"].strip() == "UserWarning: mind the step"


def test_a_cell_that_only_showed_a_bar_shows_nothing() -> None:
    assert outputs_of(one_cell(stream("50%|█████     | 1/2 [00:00<00:00, 3.0it/s]"))) == []


def test_standard_output_keeps_its_lines() -> None:
    (left,) = outputs_of(one_cell(stream("one\ntwo\n", "stdout")))
    assert left["text"] == "one\ntwo\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"{ROOT}/course/attention.py:3", "course/attention.py:3"),
        (f"File {ROOT}/course/block.py", "File ./course/block.py"),
        (f"{sys.prefix}/lib/x.py", "<environment>/lib/x.py"),
        ("/tmp/ipykernel_41/2718.py:1: UserWarning", "<cell>:1: UserWarning"),
        ("/houses/reader/notes.txt", "~/notes.txt"),
        ("/houses/readerless/of", "/houses/readerless/of"),
        ("a / b and 3/4", "a / b and 3/4"),
    ],
)
def test_paths_of_this_machine(text: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/houses/reader")
    assert clean.relative(text, ROOT) == shown


def test_only_anywidgets_keep_their_state_under_stable_names() -> None:
    model, slider = "a" * 32, "b" * 32
    view = {"output_type": "display_data", "metadata": {}}
    view["data"] = {clean.VIEW: {"model_id": model}, "text/plain": "ScaledSoftmax()"}
    state = {
        model: {"model_module": "anywidget", "state": {"layout": f"IPY_MODEL_{slider}"}},
        slider: {"model_module": "@jupyter-widgets/base", "state": {}},
    }
    made = clean.clean(one_cell(view, widgets=state), ROOT, "05-scaling")
    saved = made["metadata"]["widgets"][clean.STATE]["state"]
    assert list(saved) == ["05-scaling-w1"]
    shown = made["cells"][0]["outputs"][0]["data"]
    assert shown == {clean.VIEW: {"model_id": "05-scaling-w1"}}


def test_a_notebook_whose_widgets_no_page_can_draw_keeps_none() -> None:
    state = {"c" * 32: {"model_module": "@jupyter-widgets/controls", "state": {}}}
    made = clean.clean(one_cell(widgets=state), ROOT, "x")
    assert "widgets" not in made["metadata"]


def test_a_figure_has_no_date() -> None:
    svg = "<svg><metadata><dc:date>2026-01-01</dc:date></metadata><g/></svg>"
    output = {"output_type": "display_data", "metadata": {}, "data": {"image/svg+xml": [svg]}}
    (left,) = outputs_of(one_cell(output))
    assert left["data"]["image/svg+xml"] == "<svg><g/></svg>"
