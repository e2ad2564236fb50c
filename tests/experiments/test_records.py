"""A record is whole or not there; a damaged one is named, moved aside and never lost."""

from __future__ import annotations

import errno
import json
import math

import numpy as np
import pytest

from course.experiments import records as module
from course.experiments.records import (
    RecordError,
    move_aside,
    read_record,
    record_path,
    records_dir,
    records_of,
    thin,
    write_record,
)


def data(**changes):
    """The least a record holds."""
    return {
        "schema": 1,
        "experiment": "ladder",
        "row": "head",
        "seed": 0,
        "budget": "full",
        "config": {"steps": 3},
        "config_hash": "c",
        "metrics": {"held_out": 46.5},
        "first_losses": [7.0, 6.5, 6.0],
        "loss_curve": {"step": [3], "loss": [6.5]},
        "curves": {},
        "seconds": 1.5,
        "machine": {"device": "cpu"},
        "versions": {},
        "git": {},
        "code": {"hash": "h", "evaluation": "e", "modules": {}},
        "notes": [],
        "verified": [],
        "arrays": None,
        **changes,
    }


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "ladder" / "head-s0.json"
    arrays = {"maps": np.arange(6, dtype=np.float16).reshape(2, 3), "words": np.array(["a", "bc"])}
    record = write_record(path, data(metrics={"held_out": math.inf, "train": 2.0}), arrays)
    assert (record.experiment, record.row, record.seed, record.device) == (
        "ladder",
        "head",
        0,
        "cpu",
    )
    assert record.metrics == {"held_out": math.inf, "train": 2.0}
    assert record.curves["loss"] == {"step": [3], "loss": [6.5]}
    found = record.arrays()
    assert np.array_equal(found["maps"], arrays["maps"])
    assert found["words"].tolist() == ["a", "bc"]
    # JSON as the standard has it: no bare Infinity
    json.loads(path.read_text(), parse_constant=lambda name: pytest.fail(f"bare {name}"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"schema": 1, "experi', "damaged"),
        (b"\xff\xfe\x00", "damaged"),
        ("[]", "schema 'list'"),
        ('{"schema": 99}', "schema 99"),
        (json.dumps({**data(), "metrics": None}), "field 'metrics'"),
        (json.dumps({k: v for k, v in data().items() if k != "seed"}), "field 'seed'"),
    ],
)
def test_a_damaged_record_is_refused_by_name(tmp_path, content, said):
    path = tmp_path / "head-s0.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(RecordError, match=said) as error:
        read_record(path)
    assert str(path) in str(error.value)


def test_damaged_files_are_all_kept(tmp_path):
    path = tmp_path / "head-s0.json"
    for content in ("one", "two"):
        path.write_text(content)
        move_aside(path)
    assert not path.exists()
    assert sorted(p.read_text() for p in tmp_path.iterdir()) == ["one", "two"]


def test_arrays_that_are_not_the_record_s_own_are_refused(tmp_path):
    path = tmp_path / "head-s0.json"
    record = write_record(path, data(), {"x": np.ones(3)})
    arrays = path.with_suffix(".npz")
    arrays.write_bytes(arrays.read_bytes()[:-1] + b"?")
    with pytest.raises(RecordError, match="SHA-256"):
        record.arrays()
    arrays.unlink()
    with pytest.raises(RecordError, match="--rows head --seeds 0 --force"):
        record.arrays()


@pytest.mark.parametrize("which", ["atomic_write_text", "atomic_write_bytes"])
def test_a_full_disk_changes_nothing(tmp_path, monkeypatch, which):
    path = tmp_path / "head-s0.json"
    write_record(path, data(seconds=1.0), {"x": np.ones(3)})
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.suffix == ".json"}

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, which, full)
    with pytest.raises(RecordError, match=r"No space left on device.*checkpoint is kept"):
        write_record(path, data(seconds=2.0), {"x": np.ones(3)})
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.suffix == ".json"} == before


def test_budgets_live_apart(tmp_path, monkeypatch):
    assert records_dir("full") == tmp_path / "records"
    assert records_dir("quick") == tmp_path / "cache" / "quick-records"
    assert record_path("ladder", "head", 2, "quick").name == "head-s2.json"
    with pytest.raises(ValueError, match="medium"):
        records_dir("medium")
    monkeypatch.delenv("COURSE_RECORDS")
    assert records_dir("full").parts[-3:] == ("course", "experiments", "records")


def test_records_are_listed_by_row_and_number(tmp_path):
    folder = tmp_path / "records" / "ladder"
    folder.mkdir(parents=True)
    for name in (
        "head-s10.json",
        "head-s2.json",
        "average-s0.json",
        "head-s0.npz",
        "notes.json",
        "head-s1.json.damaged-1",
    ):
        (folder / name).write_text("")
    assert [p.name for p in records_of("ladder")] == [
        "average-s0.json",
        "head-s2.json",
        "head-s10.json",
    ]
    assert records_of("nothing") == []


def test_a_thinned_curve_keeps_the_mean_and_the_end():
    losses = [float(i) for i in range(1000)]
    curve = thin(losses, points=7)
    assert curve["step"][-1] == 1000
    assert len(curve["step"]) == 7
    widths = np.diff([0, *curve["step"]])
    assert np.dot(widths, curve["loss"]) / 1000 == pytest.approx(np.mean(losses), rel=1e-4)
    assert thin([]) == {}
