"""Mirrors that fail, stall or lie, and the deadline over all of them."""

from __future__ import annotations

import socket
import threading

import pytest

from course import corpus as corpus_module
from course.corpus import CorpusError, load_corpus
from course.files import cache_dir
from course.mirrors import MIRRORS, DownloadError, fetch, mirrors
from tests.corpus.mirror import GOOD, at_most, is_good


@pytest.mark.parametrize("bad", ["missing", "html", "short", "truncated", "endless"])
def test_a_bad_mirror_is_passed_over(bad, monkeypatch, server):
    monkeypatch.setenv("COURSE_CORPUS_URLS", server.url(bad, "good"))
    with at_most(6):
        corpus = load_corpus(fallback=False)
    assert is_good(corpus)
    assert corpus.source == server.url("good")


def test_many_bad_mirrors_then_a_good_one(monkeypatch, server):
    urls = server.url("missing", "html", "short", "redirect")
    monkeypatch.setenv("COURSE_CORPUS_URLS", f"http://127.0.0.1:9/ not-an-address {urls}")
    assert is_good(load_corpus(fallback=False))


@pytest.mark.parametrize("silent", ["hang", "drip"])
def test_a_silent_mirror_does_not_hold_up_the_next(silent, server):
    urls = server.url(silent, "good").split()
    with at_most(6):
        assert fetch(urls, corpus_module._check, 20, patience=0.2) == (GOOD, urls[1])


def test_a_busy_mirror_is_asked_again(monkeypatch, server):
    monkeypatch.setenv("COURSE_CORPUS_URLS", server.url("flaky"))
    assert is_good(load_corpus(fallback=False))
    assert server.asked == ["flaky", "flaky"]


def test_a_mirror_without_the_file_is_asked_once(server):
    with pytest.raises(DownloadError, match="404"):
        fetch([server.url("missing")], corpus_module._check, 5)
    assert server.asked == ["missing"]


def test_a_failure_names_every_mirror_and_both_checksums(monkeypatch, server):
    kinds = ("missing", "html", "short", "truncated")
    monkeypatch.setenv("COURSE_CORPUS_URLS", server.url(*kinds))
    with pytest.raises(CorpusError) as caught:
        load_corpus(fallback=False)
    message = str(caught.value)
    assert all(server.url(kind) in message for kind in kinds)
    assert "HTTP Error 404" in message
    assert "HTML page" in message
    assert corpus_module.SHA256 in message
    assert corpus_module.hashlib.sha256(GOOD[:1000]).hexdigest() in message
    assert not (cache_dir() / corpus_module.FILE_NAME).exists()


@pytest.mark.parametrize("silent", ["hang", "drip"])
def test_the_deadline_holds_for_all_mirrors_together(silent, server):
    with at_most(5), pytest.raises(DownloadError, match=r"no answer in 1 s|timed out"):
        fetch(server.url(silent, f"{silent}-2", f"{silent}-3").split(), lambda _: None, 0.8)


def test_the_deadline_holds_for_a_name_server_that_hangs(monkeypatch):
    asleep = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: asleep.wait(20) and [])
    with at_most(5), pytest.raises(DownloadError, match="no answer"):
        fetch(["http://corpus.invalid/"], lambda _: None, 0.5)
    asleep.set()


def test_the_environment_can_name_a_mirror_of_ones_own(monkeypatch):
    monkeypatch.setenv("COURSE_CORPUS_URLS", " http://a/1  http://b/2 ")
    assert mirrors() == ("http://a/1", "http://b/2")
    monkeypatch.setenv("COURSE_CORPUS_URLS", "")
    assert mirrors() == MIRRORS
