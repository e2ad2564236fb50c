"""The records in the package: whole, of the full budget, from clean trees, current, small."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from course.corpus import SHA256
from course.experiments.records import read_record
from course.experiments.registry import EXPERIMENTS
from course.experiments.status import status

RECORDS = Path(__file__).resolve().parents[2] / "course" / "experiments" / "records"
PATHS = sorted(RECORDS.glob("*/*.json"))


@pytest.fixture(autouse=True)
def the_package_s_own(monkeypatch):
    """These tests are about the records that are committed."""
    monkeypatch.delenv("COURSE_RECORDS", raising=False)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_committed_record_says_where_it_is_from(path):
    record = read_record(path)
    data = record.data
    assert (record.experiment, f"{record.row}-s{record.seed}") == (path.parent.name, path.stem)
    assert data["budget"] == "full"
    experiment = EXPERIMENTS[record.experiment]
    assert record.row in {row.name for row in experiment.rows}
    assert len(data["git"]["commit"]) == 40
    assert data["git"]["dirty"] is False
    assert data["machine"]["device"] in ("cpu", "cuda", "mps")
    assert data["machine"]["cpu"]
    assert data["seconds"] > 0
    if data["corpus"] is not None:
        assert data["corpus"]["sha256"] == SHA256
        assert data["corpus"]["tokens"] == 459_760
    if experiment.trains:
        assert len(data["first_losses"]) == 20
        assert data["loss_curve"]["step"][-1] == data["config"]["steps"]
        assert all(math.isfinite(loss) for loss in data["first_losses"])
    assert set(experiment.metrics[0].name.split()) <= set(record.metrics)
    for array in record.arrays().values():
        assert array.dtype != object


def test_no_array_is_without_its_record():
    for path in RECORDS.glob("*/*.npz"):
        assert path.with_suffix(".json") in PATHS


def test_all_records_together_are_small():
    size = sum(path.stat().st_size for path in RECORDS.rglob("*") if path.is_file())
    assert size < 5 * 2**20


def test_no_record_is_stale_or_damaged_without_an_accepted_reason():
    bad = [
        (s.name, s.reason)
        for s in status()
        if s.state == "damaged" or (s.state == "stale" and not s.accepted)
    ]
    assert not bad, "records verify, or refresh, or a reason in accepted.json"


def test_accepted_reasons_are_of_records_that_are_stale():
    stale = {s.name for s in status() if s.state == "stale"}
    assert {s.name for s in status() if s.accepted} <= stale


@pytest.mark.slow
def test_a_cheap_row_run_again_gives_the_recorded_result(monkeypatch, tmp_path):
    """The same machine and versions give the same bits; another one a value within the spread."""
    from course.experiments.runner import Settings, run_row
    from course.experiments.status import _same_setup
    from course.experiments.table import Stat

    rows = [p for p in PATHS if p.parent.name == "pronouns" and p.stem.startswith("average-s")]
    if not rows:
        pytest.skip("the row pronouns/average is not recorded yet")
    recorded = [read_record(path) for path in rows]
    first = recorded[0]
    monkeypatch.setenv("COURSE_RECORDS", str(tmp_path / "records"))
    outcome = run_row("pronouns", "average", first.seed, Settings(device="cpu", progress=False))
    assert outcome.status == "recorded", outcome.message
    (path,) = (tmp_path / "records").rglob("*.json")
    again = read_record(path)
    if _same_setup(first):
        assert again.metrics == first.metrics
        assert again.data["loss_curve"] == first.data["loss_curve"]
    else:
        spread = Stat.of([record.metrics["right"] for record in recorded])
        assert again.metrics["right"] == pytest.approx(spread.mean, abs=3 * max(spread.sd, 0.05))
