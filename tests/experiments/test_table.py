"""Tables of records: mean, spread, published figure; honest about what is missing or stale."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from course.experiments.hashing import code_hash, config_hash
from course.experiments.records import record_path, write_record
from course.experiments.registry import get, module_of
from course.experiments.table import Stat, load_records

from .test_records import data

ROOT = Path(__file__).resolve().parents[2]


def put(row: str, seed: int, held_out: float, **changes) -> None:
    """Write a record of the ladder that counts as current."""
    experiment = get("ladder")
    config = experiment.config(experiment.row(row), "full")
    path = record_path("ladder", row, seed)
    code = {"hash": code_hash(module_of(experiment)).hash, "evaluation": "e", "modules": {}}
    write_record(
        path,
        data(
            row=row,
            seed=seed,
            config=config,
            config_hash=config_hash(config),
            code=code,
            metrics={"held_out": held_out, "parameters": 5},
            loss_curve={"step": [1, 2], "loss": [float(seed), 2.0]},
            **changes,
        ),
        {},
    )


def test_rows_keep_their_order_and_say_what_is_missing():
    put("head", 0, 46.0)
    put("head", 1, 48.0)
    table = load_records("ladder")
    assert [row.name for row in table] == [row.name for row in get("ladder").rows]
    head = table["head"]
    assert (head.mean, head.n, head.published, head.approximate) == (47.0, 2, 46.5, True)
    assert head.sd == pytest.approx(math.sqrt(2))
    assert head["parameters"].mean == 5
    assert not head.stale
    empty = table["average"]
    assert (empty.mean, empty.sd, empty.n, empty.published) == (None, None, 0, 248.0)
    with pytest.raises(KeyError, match="no recorded 'held_out'"):
        empty["held_out"]
    with pytest.raises(KeyError, match="no row 'attic'; it has no-context"):
        table["attic"]
    with pytest.raises(KeyError, match="no experiment 'attic'"):
        load_records("attic")


def test_the_table_prints_spread_published_and_what_is_missing():
    put("head", 0, 46.0)
    put("head", 1, 48.0)
    put("one-block", 0, 38.123)
    text = load_records("ladder").text()
    head = next(line for line in text.splitlines() if line.startswith("one head plus"))
    assert "47.00 ± 1.41" in head
    assert "≈ 46.50" in head
    assert "38.12 " in text
    assert text.count("not yet measured") == 8


def test_the_page_marks_stale_rows():
    put("head", 0, 46.0)
    put("four-heads", 0, 43.0, git={"commit": "x", "dirty": False})
    path = record_path("ladder", "four-heads", 0)
    content = json.loads(path.read_text())
    content["code"]["hash"] = "of other code"
    path.write_text(json.dumps(content))
    page = load_records("ladder")._repr_html_()
    assert page.count('<tr class="stale">') == 1
    assert "1 (stale)" in page
    assert page.count("<tr") == 11
    assert '<th scope="row">no context: token → linear</th>' in page


def test_curves_are_averaged_over_seeds():
    put("head", 0, 46.0)
    put("head", 2, 48.0)
    curve = load_records("ladder")["head"].curve("loss")
    assert curve.x == (1, 2)
    assert curve.mean == (1.0, 2.0)
    assert (curve.low, curve.high, curve.n) == ((0.0, 2.0), (2.0, 2.0), 2)
    with pytest.raises(KeyError, match="no recorded curve 'entropy'"):
        load_records("ladder")["head"].curve("entropy")


def test_a_diverged_seed_makes_an_infinite_mean():
    stat = Stat.of([1.0, math.inf])
    assert stat.mean == math.inf
    assert Stat.of([2.0]).sd == 0.0
    assert Stat.of([2.0]).format() == "2.00"
    assert Stat.of([1234.0, 1234.0]).format(0) == "1,234"


def test_plain_data_is_json():
    put("head", 0, 46.0)
    table = json.loads(json.dumps(load_records("ladder").as_dict()))
    row = next(row for row in table["rows"] if row["row"] == "head")
    assert row["metrics"]["held_out"] == {"mean": 46.0, "sd": 0.0, "n": 1, "values": [46.0]}
    assert row["published"] == {"held_out": 46.5}


def test_reading_records_needs_no_torch():
    code = (
        "import sys; from course.experiments import load_records; "
        "[load_records(n).text() for n in ('ladder', 'pronouns', 'cost')]; "
        "assert not {'torch', 'matplotlib', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
