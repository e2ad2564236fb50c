"""No corpus of this machine, no network: mirrors of the test's own."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from course import corpus as corpus_module
from tests.corpus.mirror import GOOD, Mirrors


@pytest.fixture
def server():
    with Mirrors() as mirror:
        thread = threading.Thread(target=mirror.serve_forever, args=(0.02,))
        thread.start()
        yield mirror
        mirror.closing.set()
        mirror.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """No corpus of this machine, no network, a cache of its own, and GOOD for the real text."""
    monkeypatch.delenv("COURSE_CORPUS", raising=False)
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("COURSE_CORPUS_URLS", "http://127.0.0.1:9/refused")
    monkeypatch.setattr(corpus_module, "SHA256", corpus_module.hashlib.sha256(GOOD).hexdigest())
    monkeypatch.setattr(corpus_module, "N_BYTES", len(GOOD))


@pytest.fixture
def good_file(tmp_path) -> Path:
    path = tmp_path / "input.txt"
    path.write_bytes(GOOD)
    return path
