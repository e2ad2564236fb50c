"""The text everything is trained on: tiny Shakespeare, known by its checksum.

It is looked for at an explicit path, in ``$COURSE_CORPUS``, in the cache, and at several mirrors.
Where there is neither a copy nor a network, the course's own grammar writes a text instead, and
:attr:`Corpus.notice` says so: a page shows that sentence.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

from course.files import atomic_write_bytes, atomic_write_text, cache_dir
from course.grammar import generate
from course.mirrors import MIRRORS, DownloadError, fetch, mirrors

CORPUS_VARIABLE = "COURSE_CORPUS"
SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
N_BYTES = 1_115_394
FILE_NAME = "tinyshakespeare.txt"

DOWNLOAD_SECONDS = 6.0  # a page waits this long for a network that hangs
PATIENT_SECONDS = 120.0  # … and whoever asks for the download by hand, this long
REMEMBER_SECONDS = 3600.0  # a failed download is not tried again for so long, by any process
_GRACE = 4.0  # an attempt this much over its time, without a result, was killed
_MARKER = "download-attempt.json"


class CorpusError(ValueError):
    """The corpus is missing or is not the right one; the message says what to do."""


@dataclass(frozen=True)
class Corpus:
    """A text and where it is from.

    Attributes:
        text: the whole text.
        name: "tiny Shakespeare" or "built-in grammar".
        source: the path or address it came from.
        sha256: of its UTF-8 bytes, in hexadecimal.
        is_fallback: whether it only stands in for the real corpus.
    """

    text: str
    name: str
    source: str
    sha256: str
    is_fallback: bool

    @property
    def notice(self) -> str:
        """The sentence a page must show about this text; empty for the real corpus."""
        if not self.is_fallback:
            return ""
        return (
            "No copy of tiny Shakespeare was found or could be fetched, so what is trained here is "
            "trained on sentences from the course's own small grammar, and its numbers cannot be "
            "compared with the recorded and published ones; `python -m course corpus --download` "
            "fetches the real text when there is a network."
        )


def load_corpus(
    path: Path | str | None = None, *, fallback: bool = True, download: bool = True
) -> Corpus:
    """The corpus, from the first of: ``path``, ``$COURSE_CORPUS``, the cache, a download.

    A path given by the caller or the environment is taken at its word: if it is missing or wrong
    that is an error, whatever else could be found. A damaged copy in the cache is passed over with
    a warning. An automatic download takes 6 seconds at most, and after a failure none is tried for
    an hour (a marker in the cache folder tells all processes), so that a build of many notebooks
    waits once.

    Args:
        path: a file with the corpus.
        fallback: give text of the built-in grammar where nothing is found, instead of an error.
        download: whether the network may be asked.

    Raises:
        CorpusError: the file named is missing or has the wrong checksum (both are in the message),
            or nothing was found and ``fallback`` is false.
        OSError: ``$COURSE_CACHE`` names a folder that cannot be written.
    """
    if path is not None:
        return _read(Path(path), "the path given")
    if chosen := os.environ.get(CORPUS_VARIABLE):
        return _read(Path(chosen).expanduser(), f"${CORPUS_VARIABLE}")
    if cached := _from_cache():
        return cached
    trouble = "downloading was not asked for"
    if download:
        try:
            return download_corpus()
        except CorpusError as error:
            trouble = str(error)
    if fallback:
        return _built_in(trouble)
    raise CorpusError(f"tiny Shakespeare was not found: {trouble}\n{_what_to_do()}")


def download_corpus(seconds: float | None = None) -> Corpus:
    """Fetch the corpus into the cache.

    Args:
        seconds: how long it may take. By default as long as a page may wait, counted from the
            first process that tried, and not at all soon after a failure.

    Raises:
        CorpusError: no mirror gave a good copy in time, or one was tried in vain not long ago.
    """
    marker = cache_dir() / _MARKER
    left = _time_left(marker) if seconds is None else seconds
    try:
        data, url = fetch(mirrors(), _check, left)
    except DownloadError as error:
        _write_marker(marker, failed=str(error))
        if cached := _from_cache():  # another process was luckier
            return cached
        raise CorpusError(str(error)) from error
    except BaseException:  # interrupted: that says nothing about the network
        marker.unlink(missing_ok=True)
        raise
    marker.unlink(missing_ok=True)
    try:
        atomic_write_bytes(cache_dir() / FILE_NAME, data)
    except OSError as error:
        warnings.warn(f"the corpus could not be kept in {cache_dir()}: {error}", stacklevel=2)
    return Corpus(data.decode("utf-8"), "tiny Shakespeare", url, SHA256, False)


def _time_left(marker: Path) -> float:
    """How long an automatic download may take; says in ``marker`` that one has begun.

    Raises:
        CorpusError: none may be tried now.
    """
    try:
        note = json.loads(marker.read_text(encoding="utf-8"))
        age, failed = time.time() - float(note["started"]), note["failed"]
    except (OSError, ValueError, KeyError, TypeError):
        age, failed = -1.0, None
    if failed is not None and 0 <= age < REMEMBER_SECONDS:
        raise CorpusError(
            f"a download failed {age / 60:.0f} min ago and is not tried again for an hour; "
            f"`python -m course corpus --download` tries at once. It was: {failed}"
        )
    if failed is None and 0 <= age < DOWNLOAD_SECONDS + _GRACE:
        # Another process is at it. Both may try (they write the same bytes), up to one deadline.
        if age >= DOWNLOAD_SECONDS:
            raise CorpusError("a download by another process has had its time without success")
        return DOWNLOAD_SECONDS - age
    _write_marker(marker, failed=None)
    return DOWNLOAD_SECONDS


def _write_marker(marker: Path, failed: str | None) -> None:
    try:
        atomic_write_text(marker, json.dumps({"started": time.time(), "failed": failed}))
    except OSError as error:  # then each process waits for itself
        warnings.warn(f"{marker} could not be written: {error}", stacklevel=3)


def _from_cache() -> Corpus | None:
    path = cache_dir() / FILE_NAME
    if not path.exists():
        return None
    try:
        return _read(path, "the copy in the cache")
    except CorpusError as error:
        warnings.warn(f"passed over: {error}", stacklevel=3)
        return None


def _read(path: Path, what: str) -> Corpus:
    if not path.is_file():
        trouble = "is not a file" if path.exists() else "does not exist"
        raise CorpusError(f"{what}, {path}, {trouble}. {_what_to_do()}")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CorpusError(f"{what}, {path}, cannot be read: {error}") from error
    try:
        _check(data)
    except CorpusError as error:
        raise CorpusError(f"{what}, {path}: {error}. {_what_to_do()}") from None
    return Corpus(data.decode("utf-8"), "tiny Shakespeare", str(path), SHA256, False)


def _check(data: bytes) -> None:
    """Refuse anything but the corpus, with both checksums and the likely reason.

    Raises:
        CorpusError: the checksum is another.
    """
    found = hashlib.sha256(data).hexdigest()
    if found == SHA256:
        return
    if data[:1000].lstrip().lower().startswith((b"<!doctype", b"<html", b"<?xml")):
        guess = "it is an HTML page: a proxy, a login page or a web view of the file"
    elif hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest() == SHA256:
        guess = "its line ends were turned into CR LF; they must be LF"
    elif len(data) < N_BYTES:
        guess = f"it has {len(data):,} bytes of {N_BYTES:,}: it was cut short, or is another text"
    else:
        guess = f"it has {len(data):,} bytes, the corpus has {N_BYTES:,}"
    raise CorpusError(f"not tiny Shakespeare ({guess}); its SHA-256 is {found}, expected {SHA256}")


def _what_to_do() -> str:
    try:
        place = str(cache_dir() / FILE_NAME)
    except OSError:  # a cache folder that is wrong as well must not hide this error
        place = f"{FILE_NAME} in the cache folder"
    return (
        f"Put the file at {place}, or set {CORPUS_VARIABLE} to where it is, or "
        f"run `python -m course corpus --download`; it is {MIRRORS[0]}"
    )


def _built_in(trouble: str) -> Corpus:
    text = generate()
    digest = hashlib.sha256(text.encode("utf-8")).hexdigest()
    source = f"course.grammar, seed 0 ({trouble.splitlines()[0]})"
    return Corpus(text, "built-in grammar", source, digest, True)


def main(argv: list[str]) -> int:
    """``python -m course corpus``: where the text is and what it is; 0, or 2 for a wrong one."""
    parser = argparse.ArgumentParser(prog="python -m course corpus", description=main.__doc__)
    parser.add_argument("--path", type=Path, help="look at this file")
    parser.add_argument("--download", action="store_true", help="fetch it into the cache now")
    parser.add_argument("--vocab-size", type=int, default=1024, help="tokens to learn (1024)")
    options = parser.parse_args(argv)
    from course.tokenizer import load_tokens  # late: it imports this module, and torch

    try:
        if options.download and options.path is None:
            # A copy that is there already is not fetched twice, even one named by the environment.
            corpus = load_corpus(download=False)
            if corpus.is_fallback:
                corpus = download_corpus(PATIENT_SECONDS)
        else:
            corpus = load_corpus(options.path, download=False)
        tokens = load_tokens(corpus, options.vocab_size)
    except (OSError, ValueError) as error:
        print(f"course corpus: {error}", file=sys.stderr)
        return 2
    n_tokens = len(tokens.train) + len(tokens.held_out)
    print(f"corpus      {corpus.name}")
    print(f"from        {corpus.source}")
    print(f"SHA-256     {corpus.sha256}")
    print(f"characters  {len(corpus.text):,}")
    print(
        f"tokens      {n_tokens:,} (vocabulary of {options.vocab_size}, "
        f"{len(corpus.text) / n_tokens:.2f} characters a token)"
    )
    if corpus.notice:
        print(f"note        {corpus.notice}")
    return 0
