"""Where the corpus comes from, and everything that can be wrong with it. No test uses a network."""

from __future__ import annotations

import os

import pytest

from course import corpus as corpus_module
from course.corpus import CorpusError, load_corpus, main
from course.files import cache_dir
from course.grammar import generate
from course.mirrors import MIRRORS
from tests.corpus.mirror import GOOD, HTML, is_good

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
