"""Byte-level byte-pair encoding, learned from scratch, and the corpus as token ids.

A text is split into words by GPT-2's pattern, each word is its UTF-8 bytes (ids 0 to 255), and
training repeats one step: the pair of neighbouring tokens met most often becomes a new token.

As in :mod:`course.merges`, tokens are kept as *strings whose characters are token ids*, so that to
merge a pair everywhere is ``str.replace``.

Sources: Sennrich et al. 2016, "Neural machine translation of rare words with subword units",
algorithm 1 (counts weighted by word frequency); Radford et al. 2019 (bytes, the split pattern).
"""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import regex

from course.corpus import Corpus, load_corpus
from course.files import atomic_write_bytes, atomic_write_text, cache_dir
from course.merges import N_BYTES, learn_merges

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor

# GPT-2's pattern. No two of its first four alternatives can begin at the same character, so their
# order is free: letters stand first because they are the common case, which halves the time.
SPLIT_PATTERN = r" ?\p{L}++|'(?:[sdmt]|ll|ve|re)| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s+(?!\S)|\s+"
FORMAT = "attention-from-average byte-level BPE, version 1"

_SPLIT = regex.compile(SPLIT_PATTERN)
_BETWEEN_WORDS = "\U0010ffff"  # the one character that is never a token id
_MAX_VOCAB = ord(_BETWEEN_WORDS)
_MAX_REMEMBERED = 1 << 18  # words; a long-running program must not grow without end


class Tokenizer:
    """A byte-level BPE vocabulary: 256 byte tokens, then one token a merge.

    Args:
        merges: the pairs of ids in the order they were learned; pair ``i`` makes token
            ``256 + i`` and may only use ids below that.

    Raises:
        ValueError: a merge uses an id that is not there yet, or a pair comes twice.
    """

    def __init__(self, merges: Iterable[tuple[int, int]] = ()) -> None:
        self.merges: list[tuple[int, int]] = [(int(a), int(b)) for a, b in merges]
        if self.vocab_size > _MAX_VOCAB:
            raise ValueError(f"vocab_size {self.vocab_size} is over the limit of {_MAX_VOCAB}")
        self._bytes = [bytes([i]) for i in range(N_BYTES)]
        for a, b in self.merges:
            new = len(self._bytes)
            if not (0 <= a < new and 0 <= b < new):
                raise ValueError(f"merge {new - N_BYTES} joins ids {a} and {b}, not both < {new}")
            self._bytes.append(self._bytes[a] + self._bytes[b])
        if len(set(self.merges)) < len(self.merges):
            twice = Counter(self.merges).most_common(1)[0]
            raise ValueError(f"merge {twice[0]} is listed {twice[1]} times")
        self._rules = [(chr(a) + chr(b), chr(N_BYTES + i)) for i, (a, b) in enumerate(self.merges)]
        self._words: dict[str, str] = {}  # word → its tokens, for words met before

    @classmethod
    def train(cls, text: str, vocab_size: int = 1024) -> Tokenizer:
        """Learn ``vocab_size - 256`` merges on ``text``; the same text gives the same merges.

        Each step merges the pair with the highest count (each word counted as often as it occurs);
        of pairs with equal counts, the one met first in the text.

        Raises:
            ValueError: ``vocab_size`` is below 256, or ``text`` has too few pairs to reach it
                (the message says which size it does reach), or ``text`` has a lone surrogate.
        """
        if not N_BYTES <= vocab_size <= _MAX_VOCAB:
            raise ValueError(f"vocab_size must be from {N_BYTES} to {_MAX_VOCAB}, got {vocab_size}")
        _check_unicode(text)
        frequency = Counter(_SPLIT.findall(text))
        words = [_as_tokens(word) for word in frequency]
        merges = learn_merges(words, list(frequency.values()), vocab_size - N_BYTES)
        if len(merges) < vocab_size - N_BYTES:
            raise ValueError(
                f"vocab_size {vocab_size} needs {vocab_size - N_BYTES} merges, but this text of "
                f"{len(text)} characters has only {len(merges)} to learn: use a longer text or "
                f"vocab_size <= {N_BYTES + len(merges)}"
            )
        tokenizer = cls(merges)
        # Training leaves every word of the text fully merged: exactly what encoding it would give.
        tokenizer._words.update(zip(frequency, words, strict=True))
        return tokenizer

    @property
    def vocab_size(self) -> int:
        """How many tokens there are: 256 + the number of merges."""
        return N_BYTES + len(self.merges)

    def encode(self, text: str) -> list[int]:
        """The ids of ``text``.

        Raises:
            ValueError: ``text`` holds a lone surrogate, which no UTF-8 text can.
        """
        return [ord(token) for token in self._encode(text)]

    def encode_array(self, text: str) -> np.ndarray:
        """The ids of ``text`` as an ``int64`` array ``(n_tokens,)``; see :meth:`encode`."""
        # One UTF-32 code unit is one character, that is one token id.
        units = self._encode(text).encode("utf-32-le", "surrogatepass")
        return np.frombuffer(units, dtype="<u4").astype(np.int64)

    def _encode(self, text: str) -> str:
        _check_unicode(text)
        words = _SPLIT.findall(text)
        if len(self._words) > _MAX_REMEMBERED:
            self._words = {}  # a new one: another thread may be reading the old
        known = self._words
        unknown = [word for word in dict.fromkeys(words) if word not in known]
        if unknown:
            # All new words in one string: each merge, in the order learned, is one replacement.
            joined = _BETWEEN_WORDS.join(map(_as_tokens, unknown))
            for pair, token in self._rules:
                joined = joined.replace(pair, token)
            known.update(zip(unknown, joined.split(_BETWEEN_WORDS), strict=True))
        return "".join([known[word] for word in words])

    def decode(self, ids: Iterable[int] | np.ndarray, errors: str = "strict") -> str:
        """The text of ``ids`` (a sequence, array or tensor of shape ``(n_tokens,)``).

        A token may end in the middle of a character, so ids that a model made need not be a text:
        ``errors="replace"`` writes U+FFFD there, ``"strict"`` (the default) refuses.

        Raises:
            TypeError: the ids are not whole numbers.
            ValueError: an id is not in the vocabulary, the shape is not ``(n_tokens,)``, or the
                bytes are not UTF-8 and ``errors`` is ``"strict"``.
        """
        if errors not in ("strict", "replace"):
            raise ValueError(f'errors must be "strict" or "replace", got {errors!r}')
        table = self._bytes
        data = b"".join([table[i] for i in self._checked(ids)])
        try:
            return data.decode("utf-8", errors)
        except UnicodeDecodeError as error:
            raise ValueError(
                f"these ids are not a UTF-8 text: byte {error.start} of {len(data)} is "
                f'0x{data[error.start]:02x} ({error.reason}); errors="replace" decodes them anyway'
            ) from None

    def token_bytes(self, token: int) -> bytes:
        """The bytes that one token stands for.

        Raises:
            TypeError, ValueError: ``token`` is not an id of this vocabulary.
        """
        return self._bytes[self._checked([token])[0]]

    def _checked(self, ids: Iterable[int] | np.ndarray) -> list[int]:
        # A tensor on any device has tolist; numpy alone could not read one from a GPU.
        array = np.asarray(ids.tolist() if hasattr(ids, "tolist") else list(ids))
        if array.ndim != 1:
            raise ValueError(f"ids must have the shape (n_tokens,), got {array.shape}")
        if array.size and array.dtype.kind not in "iu":
            raise TypeError(f"ids must be whole numbers, got {array.dtype}: {array[0]!r}, …")
        wrong = np.flatnonzero((array < 0) | (array >= self.vocab_size))
        if wrong.size:
            raise ValueError(
                f"id {array[wrong[0]]} at place {wrong[0]} is not in the vocabulary "
                f"(0 to {self.vocab_size - 1})"
            )
        checked: list[int] = array.tolist()
        return checked

    def save(self, path: Path | str) -> Path:
        """Write the merges as JSON, whole or not at all."""
        merges = ",\n".join(json.dumps(pair) for pair in self.merges)
        head = json.dumps({"format": FORMAT, "split_pattern": SPLIT_PATTERN})[1:-1]
        sizes = f'"vocab_size": {self.vocab_size}, "merges": [\n{merges}\n]'
        return atomic_write_text(path, f"{{{head}, {sizes}}}\n")

    @classmethod
    def load(cls, path: Path | str) -> Tokenizer:
        """Read what :meth:`save` wrote.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is not a whole, consistent tokenizer of this format.
        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            if not isinstance(data, dict) or data.get("format") != FORMAT:
                raise ValueError(f"its format is not {FORMAT!r}")
            if data.get("split_pattern") != SPLIT_PATTERN:
                raise ValueError(f"it splits by another pattern: {data.get('split_pattern')!r}")
            tokenizer = cls(_checked_pair(pair) for pair in data["merges"])
            if (said := data.get("vocab_size")) != tokenizer.vocab_size:
                raise ValueError(f"vocab_size {said} but {len(tokenizer.merges)} merges")
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is not a saved tokenizer: {error}") from error
        return tokenizer

    def __eq__(self, other: object) -> bool:
        return self.merges == other.merges if isinstance(other, Tokenizer) else NotImplemented

    def __repr__(self) -> str:
        return f"Tokenizer(vocab_size={self.vocab_size})"


def _checked_pair(pair: Any) -> tuple[int, int]:
    if not (isinstance(pair, list) and len(pair) == 2 and all(type(i) is int for i in pair)):
        raise ValueError(f"{pair!r} is not a pair of ids")
    return pair[0], pair[1]


def _as_tokens(word: str) -> str:
    return word.encode("utf-8").decode("latin-1")  # latin-1 maps byte b to the character chr(b)


def _check_unicode(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"character {error.start} of the text is the lone surrogate "
            f"U+{ord(text[error.start]):04X}, which UTF-8 cannot hold: the text was decoded wrongly"
        ) from None


@dataclass(frozen=True)
class TokenizedCorpus:
    """A corpus as ids, split in order: the first nine tenths to train on, the rest held out.

    ``train`` and ``held_out`` are ``int64`` tensors of shape ``(n_tokens,)``.
    """

    corpus: Corpus
    tokenizer: Tokenizer
    train: Tensor
    held_out: Tensor


def load_tokens(corpus: Corpus | None = None, vocab_size: int = 1024) -> TokenizedCorpus:
    """The corpus (by default :func:`~course.corpus.load_corpus`'s) with a tokenizer learned on it.

    Merges and ids are cached under the corpus's checksum. A cache file that is damaged, or does not
    decode to this very text, is made again with a warning.

    Raises:
        ValueError: the corpus is wrong (CorpusError), or too small for ``vocab_size``.
    """
    import torch  # late: the tokenizer itself needs no torch

    corpus = corpus or load_corpus()
    tokenizer, ids = _load_ids(corpus, vocab_size)
    tokens = torch.from_numpy(ids)
    n_train = len(ids) * 9 // 10
    return TokenizedCorpus(corpus, tokenizer, tokens[:n_train], tokens[n_train:])


def _load_ids(corpus: Corpus, vocab_size: int) -> tuple[Tokenizer, np.ndarray]:
    path = cache_dir() / f"tokens-{corpus.sha256[:16]}-{vocab_size}.npz"
    if path.exists() and (cached := _read_tokens(path, corpus.text, vocab_size)):
        return cached
    tokenizer = Tokenizer.train(corpus.text, vocab_size)
    ids = tokenizer.encode_array(corpus.text)
    _write_tokens(path, tokenizer, ids)
    return tokenizer, ids


def _read_tokens(path: Path, text: str, vocab_size: int) -> tuple[Tokenizer, np.ndarray] | None:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            tokenizer = Tokenizer(arrays["merges"].tolist())
            ids = arrays["ids"].astype(np.int64)
        if tokenizer.vocab_size != vocab_size or tokenizer.decode(ids) != text:
            raise ValueError("it does not decode to the corpus")
    except (OSError, EOFError, ValueError, TypeError, KeyError, zipfile.BadZipFile) as error:
        warnings.warn(f"{path} is damaged ({error}) and is made again", stacklevel=4)
        return None
    return tokenizer, ids


def _write_tokens(path: Path, tokenizer: Tokenizer, ids: np.ndarray) -> None:
    file = io.BytesIO()
    merges = np.array(tokenizer.merges, dtype=np.uint32).reshape(-1, 2)
    np.savez_compressed(file, merges=merges, ids=ids.astype(np.uint32))
    try:
        atomic_write_bytes(path, file.getvalue())
    except OSError as error:
        warnings.warn(f"the tokens could not be kept in {path}: {error}", stacklevel=4)
