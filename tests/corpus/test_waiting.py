"""A network that hangs is waited for once, whatever runs beside and after it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from course import corpus as corpus_module
from course.corpus import CorpusError, download_corpus, load_corpus
from course.files import cache_dir
from course.mirrors import DownloadError
from tests.conftest import ROOT
from tests.corpus.mirror import GOOD, at_most, is_good


def test_a_network_that_hangs_is_waited_for_once(monkeypatch, server):
    monkeypatch.setattr(corpus_module, "DOWNLOAD_SECONDS", 0.5)
    monkeypatch.setattr(corpus_module, "generate", lambda: "A short text.")
    monkeypatch.setenv("COURSE_CORPUS_URLS", server.url("hang"))
    with at_most(4):  # 13 notebooks, not 13 × 0.5 s = 6.5 s
        assert all(load_corpus().is_fallback for _ in range(13))
    assert server.asked == ["hang"]
    with pytest.raises(CorpusError, match=r"failed 0 min ago .* --download"):
        load_corpus(fallback=False)


def test_processes_that_begin_together_share_one_deadline(monkeypatch, server):
    monkeypatch.setattr(corpus_module, "DOWNLOAD_SECONDS", 20.0)
    monkeypatch.setenv("COURSE_CORPUS_URLS", server.url("hang"))
    marker = cache_dir() / corpus_module._MARKER
    marker.write_text(json.dumps({"started": time.time() - 19.5, "failed": None}))
    with at_most(6):
        assert load_corpus().is_fallback
    marker.write_text(json.dumps({"started": time.time() - 21, "failed": None}))
    with at_most(5), pytest.raises(CorpusError, match="another process"):
        load_corpus(fallback=False)


@pytest.mark.parametrize(
    "note",
    [
        json.dumps({"started": time.time() - 7200, "failed": "long ago"}),
        json.dumps({"started": time.time() - 60, "failed": None}),  # killed while it tried
        json.dumps({"started": time.time() + 9999, "failed": "a clock that was wrong"}),
        "half a ma",
        "[]",
        '{"started": "soon", "failed": null}',
    ],
    # Names of their own: two workers must collect the same tests, and the times differ.
    ids=["old", "killed", "from the future", "cut short", "a list", "no number"],
)
def test_an_old_or_broken_marker_stops_nothing(note, monkeypatch, server):
    monkeypatch.setenv("COURSE_CORPUS_URLS", server.url("good"))
    (cache_dir() / corpus_module._MARKER).write_text(note)
    assert is_good(load_corpus(fallback=False))


def test_asked_for_by_hand_it_tries_at_once(monkeypatch, server):
    assert load_corpus().is_fallback  # fails, and is remembered
    monkeypatch.setenv("COURSE_CORPUS_URLS", server.url("good"))
    assert load_corpus().is_fallback
    assert is_good(download_corpus(10))
    assert is_good(load_corpus())


def test_the_copy_another_process_got_is_taken(monkeypatch, server):
    cached = cache_dir() / corpus_module.FILE_NAME

    def unlucky(*_):
        cached.write_bytes(GOOD)
        raise DownloadError("no luck")

    monkeypatch.setattr(corpus_module, "fetch", unlucky)
    assert is_good(load_corpus(fallback=False))


def test_an_interruption_is_not_remembered_as_a_failure(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(corpus_module, "fetch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        load_corpus()
    assert os.listdir(cache_dir()) == []


@pytest.mark.slow
def test_builds_on_a_network_that_hangs_wait_less_than_ten_seconds(server, tmp_path):
    """The real deadline, the real checksum, two processes at once, then a third."""
    environment = os.environ | {"COURSE_CORPUS_URLS": server.url("hang", "hang-2")}
    code = "from course.corpus import load_corpus; print(load_corpus().is_fallback)"

    def start():
        command = [
            sys.executable,
            "-c",
            f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}",
        ]
        return subprocess.Popen(
            command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )

    with at_most(10):
        together = [start(), start()]
        assert [process.communicate()[0] for process in together] == ["True\n"] * 2
        assert start().communicate()[0] == "True\n"
