"""The text everything is trained on: tiny Shakespeare, known by its checksum."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from course.files import cache_dir

CORPUS_VARIABLE = "COURSE_CORPUS"
SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"


class CorpusError(RuntimeError):
    """The corpus is missing or is not the right one; the message says what to do."""


@dataclass(frozen=True)
class Corpus:
    """A text and where it is from."""

    text: str
    name: str
    source: str
    sha256: str
    is_fallback: bool

    @property
    def notice(self) -> str:
        """What a page must say about this text: nothing for the real corpus."""
        return ""


def load_corpus(
    path: Path | str | None = None, *, fallback: bool = True, download: bool = True
) -> Corpus:
    """The corpus from ``path``, else ``$COURSE_CORPUS``, else the cache."""
    chosen = path or os.environ.get(CORPUS_VARIABLE) or cache_dir() / "tinyshakespeare.txt"
    if not Path(chosen).is_file():
        raise CorpusError(f"{chosen} does not exist")
    data = Path(chosen).read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != SHA256:
        raise CorpusError(f"{chosen} has SHA-256 {found}, not {SHA256}")
    return Corpus(data.decode("utf-8"), "tiny Shakespeare", str(chosen), found, False)
