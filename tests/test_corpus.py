"""Where the corpus comes from, and everything that can be wrong with it. No test uses a network:
a server on this machine plays the mirrors, good and bad."""

import http.server
import json
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from course import corpus as corpus_module
from course.corpus import Corpus, CorpusError, download_corpus, load_corpus, main
from course.files import cache_dir
from course.grammar import generate
from course.mirrors import MIRRORS, DownloadError, fetch, mirrors

REPOSITORY = Path(__file__).parents[1]
GOOD = generate(30_000, seed=7).encode()  # plays tiny Shakespeare here
HTML = b"\n<!DOCTYPE html><html><body>Please log in</body></html>"


class Mirrors(http.server.ThreadingHTTPServer):
    """Answers by path; remembers what was asked."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.asked: list[str] = []
        self.closing = threading.Event()

    def url(self, *paths: str) -> str:
        return " ".join(f"http://127.0.0.1:{self.server_port}/{path}" for path in paths)


class Answers(http.server.BaseHTTPRequestHandler):
    server: Mirrors

    def do_GET(self):
        kind = self.path.strip("/").split("-")[0]
        self.server.asked.append(self.path.strip("/"))
        getattr(self, kind)()

    def send(self, data: bytes, status: int = 200, length: int | None = None, **headers: str):
        self.send_response(status)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def good(self):
        self.send(GOOD)

    def html(self):
        self.send(HTML)

    def short(self):
        self.send(GOOD[:1000])

    def truncated(self):
        self.send(GOOD[:1000], length=len(GOOD))

    def missing(self):
        self.send(b"not here", status=404)

    def redirect(self):
        self.send(b"", status=302, Location="/good")

    def flaky(self):  # busy the first time
        first = self.server.asked.count(self.path.strip("/")) == 1
        self.send(b"busy" if first else GOOD, status=503 if first else 200)

    def hang(self):
        self.server.closing.wait(30)

    def drip(self):
        self.send(b"", length=len(GOOD))
        while not self.server.closing.wait(0.05):
            self.wfile.write(b"F")
            self.wfile.flush()

    def endless(self):
        self.send(b"", length=1 << 40)
        while not self.server.closing.is_set():
            self.wfile.write(b"x" * 65536)

    def log_message(self, *_):
        pass

    def handle(self):
        with suppress(OSError):  # the other side may have left
            super().handle()


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


@contextmanager
def at_most(seconds: float):
    start = time.monotonic()
    yield
    assert time.monotonic() - start < seconds


def is_good(corpus: Corpus) -> bool:
    return (corpus.text.encode(), corpus.is_fallback, corpus.notice) == (GOOD, False, "")


# --- the order ---------------------------------------------------------------------------------


def test_a_path_comes_before_everything(good_file, monkeypatch, server):
    monkeypatch.setenv("COURSE_CORPUS", "/nowhere/at/all")
    corpus = load_corpus(good_file)
    assert is_good(corpus)
    assert (corpus.name, corpus.source) == ("tiny Shakespeare", str(good_file))
    assert corpus.sha256 == corpus_module.SHA256


def test_then_the_environment(good_file, monkeypatch):
    monkeypatch.setenv("COURSE_CORPUS", str(good_file))
    (cache_dir() / corpus_module.FILE_NAME).write_text("wrong")  # is not even looked at
    assert is_good(load_corpus())


def test_then_the_cache_without_a_network(monkeypatch, server):
    monkeypatch.setenv("COURSE_CORPUS_URLS", server.url("good"))
    (cache_dir() / corpus_module.FILE_NAME).write_bytes(GOOD)
    corpus = load_corpus()
    assert is_good(corpus)
    assert corpus.source == str(cache_dir() / corpus_module.FILE_NAME)
    assert server.asked == []


def test_then_a_download_which_is_kept(monkeypatch, server):
    monkeypatch.setenv("COURSE_CORPUS_URLS", server.url("good"))
    first = load_corpus()
    assert is_good(first)
    assert first.source == server.url("good")
    assert is_good(load_corpus())
    assert server.asked == ["good"]
    assert os.listdir(cache_dir()) == [corpus_module.FILE_NAME]  # no marker, no half file


def test_then_the_grammar_and_it_says_so():
    corpus = load_corpus()
    assert corpus.is_fallback
    assert corpus.name == "built-in grammar"
    assert corpus.text == generate()
    assert "small grammar" in corpus.notice
    assert "cannot be compared" in corpus.notice
    assert "python -m course corpus --download" in corpus.notice
    assert corpus.notice.count(". ") == 0  # one sentence
    assert corpus.sha256 == corpus_module.hashlib.sha256(generate().encode()).hexdigest()


def test_without_the_fallback_it_is_an_error_that_says_what_to_do():
    with pytest.raises(CorpusError) as caught:
        load_corpus(fallback=False)
    message = str(caught.value)
    assert "http://127.0.0.1:9/refused" in message
    assert str(cache_dir() / corpus_module.FILE_NAME) in message
    assert "COURSE_CORPUS" in message
    assert MIRRORS[0] in message


def test_the_network_is_not_touched_where_that_is_said(monkeypatch, server):
    monkeypatch.setenv("COURSE_CORPUS_URLS", server.url("good"))
    assert load_corpus(download=False).is_fallback
    with pytest.raises(CorpusError, match="not asked for"):
        load_corpus(download=False, fallback=False)
    assert server.asked == []


# --- wrong files -------------------------------------------------------------------------------

WRONG = {
    "HTML": (HTML, "HTML page"),
    "truncated": (GOOD[:-1], "29,999 bytes of 30,000"),
    "CR LF": (GOOD.replace(b"\n", b"\r\n"), "CR LF"),
    "longer": (GOOD + b"\n", "30,001 bytes, the corpus has 30,000"),
    "empty": (b"", "0 bytes of"),
    "one letter": (b"f" + GOOD[1:], "30,000 bytes"),
    "not text": (b"\xff\xfe\x00" * 11_000, "33,000 bytes"),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("given_by", ["path", "environment"])
def test_a_wrong_file_is_refused_with_both_checksums(case, given_by, tmp_path, monkeypatch):
    data, guess = WRONG[case]
    path = tmp_path / "wrong.txt"
    path.write_bytes(data)
    if given_by == "environment":
        monkeypatch.setenv("COURSE_CORPUS", str(path))
    with pytest.raises(CorpusError) as caught:
        load_corpus(path if given_by == "path" else None)  # though the grammar could stand in
    message = str(caught.value)
    assert guess in message
    assert str(path) in message
    assert corpus_module.SHA256 in message
    assert corpus_module.hashlib.sha256(data).hexdigest() in message


@pytest.mark.parametrize("kind", ["missing", "folder"])
def test_a_path_that_is_no_file_is_an_error(kind, tmp_path, monkeypatch):
    path = tmp_path if kind == "folder" else tmp_path / "no.txt"
    trouble = "is not a file" if kind == "folder" else "does not exist"
    with pytest.raises(CorpusError, match=f"{path}.*{trouble}"):
        load_corpus(path)
    monkeypatch.setenv("COURSE_CORPUS", str(path))
    with pytest.raises(CorpusError, match=f"COURSE_CORPUS.*{path}.*{trouble}"):
        load_corpus()


def test_a_cache_folder_that_is_wrong_as_well_hides_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(CorpusError, match=r"no\.txt, does not exist"):
        load_corpus(tmp_path / "no.txt")
    with pytest.raises(OSError, match="COURSE_CACHE="):
        load_corpus()


def test_a_damaged_copy_in_the_cache_is_passed_over_and_replaced(monkeypatch, server):
    monkeypatch.setenv("COURSE_CORPUS_URLS", server.url("good"))
    cached = cache_dir() / corpus_module.FILE_NAME
    cached.write_bytes(GOOD[:500])
    with pytest.warns(UserWarning, match=f"passed over.*{cached}.*{corpus_module.SHA256}"):
        assert is_good(load_corpus())
    assert cached.read_bytes() == GOOD


# --- mirrors -----------------------------------------------------------------------------------


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


# --- one build waits once ----------------------------------------------------------------------


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
            f"import sys; sys.path.insert(0, {str(REPOSITORY)!r})\n{code}",
        ]
        return subprocess.Popen(
            command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )

    with at_most(10):
        together = [start(), start()]
        assert [process.communicate()[0] for process in together] == ["True\n"] * 2
        assert start().communicate()[0] == "True\n"


# --- places that cannot be written -------------------------------------------------------------


def test_a_home_that_cannot_be_written_costs_nothing_but_a_warning(monkeypatch, server, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("COURSE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "file" / "home"))  # nothing can be made in a file
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("COURSE_CORPUS_URLS", server.url("good"))
    with pytest.warns(UserWarning, match="COURSE_CACHE"):
        assert is_good(load_corpus(fallback=False))
    assert is_good(load_corpus(download=False, fallback=False))  # it was kept, elsewhere


def test_a_cache_that_fills_up_costs_only_the_copy(monkeypatch, server):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(corpus_module, "atomic_write_bytes", full)
    monkeypatch.setattr(corpus_module, "atomic_write_text", full)
    monkeypatch.setenv("COURSE_CORPUS_URLS", server.url("good"))
    with pytest.warns(UserWarning, match="could not be") as notes:
        assert is_good(load_corpus(fallback=False))
    assert len(notes) == 2  # the marker, the copy


# --- the command -------------------------------------------------------------------------------


def test_the_command_shows_what_there_is(good_file, monkeypatch, capsys):
    monkeypatch.setenv("COURSE_CORPUS", str(good_file))
    assert main(["--vocab-size", "300"]) == 0
    shown = capsys.readouterr().out
    for part in ("tiny Shakespeare", str(good_file), corpus_module.SHA256, "30,000", "tokens"):
        assert part in shown


def test_the_command_says_that_there_is_only_the_grammar(capsys, monkeypatch, server):
    monkeypatch.setenv("COURSE_CORPUS_URLS", server.url("good"))
    assert main(["--vocab-size", "300"]) == 0
    assert "small grammar" in capsys.readouterr().out
    assert server.asked == []  # looking is not downloading


def test_the_command_downloads_once(monkeypatch, server, capsys):
    monkeypatch.setenv("COURSE_CORPUS_URLS", server.url("good"))
    assert main(["--download", "--vocab-size", "300"]) == 0
    assert server.url("good") in capsys.readouterr().out
    assert main(["--download", "--vocab-size", "300"]) == 0
    assert str(cache_dir()) in capsys.readouterr().out
    assert server.asked == ["good"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--download"], "127.0.0.1:9/refused"),
        (["--path", "/no/such/file"], "/no/such/file, does not exist"),
        (["--vocab-size", "12"], "vocab_size must be from 256"),
    ],
)
def test_the_command_exits_with_2_and_says_why(arguments, message, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
