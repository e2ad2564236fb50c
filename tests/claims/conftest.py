"""The ledger of these tests reads no records but their own."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def own_records(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_RECORDS", str(tmp_path / "records"))
