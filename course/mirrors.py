"""One file from several places on the network: the first good copy wins, within a deadline."""

from __future__ import annotations

import http.client
import os
import queue
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Sequence

URLS_VARIABLE = "COURSE_CORPUS_URLS"
MIRRORS = (
    "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
    "https://cdn.jsdelivr.net/gh/karpathy/char-rnn@master/data/tinyshakespeare/input.txt",
    "https://storage.googleapis.com/download.tensorflow.org/data/shakespeare.txt",
    "https://raw.githubusercontent.com/jcjohnson/torch-rnn/master/data/tiny-shakespeare.txt",
)

_ATTEMPTS = 2  # at each mirror, where the first failure may have been bad luck
_PAUSE = 0.5  # seconds before trying a mirror again
_MOST_BYTES = 8 << 20  # more than this is not the file, whatever it is
_AGENT = "attention-from-average (course; downloads its corpus once)"


class DownloadError(RuntimeError):
    """No mirror gave a good copy; the message has a line for each."""


def mirrors() -> tuple[str, ...]:
    """Where to look: the addresses in ``$COURSE_CORPUS_URLS`` (spaces between), else `MIRRORS`."""
    return tuple(os.environ.get(URLS_VARIABLE, "").split()) or MIRRORS


def fetch(
    urls: Sequence[str],
    check: Callable[[bytes], None],
    seconds: float,
    *,
    patience: float = 1.5,
) -> tuple[bytes, str]:
    """The first answer of ``urls`` that passes ``check``, and its address.

    The mirrors are tried in order. The next one starts when one has failed, or has said nothing
    for ``patience`` seconds (without being given up). Each attempt has a thread of its own, since
    neither a name server that does not answer nor a server that sends a byte a minute obeys a
    socket's time-out: past the deadline they are left behind.

    Args:
        urls: addresses in order of preference.
        check: called with the bytes; raises ValueError for a wrong file.
        seconds: the deadline over everything; this function never takes longer.
        patience: how long one mirror may be silent before the next is asked as well.

    Raises:
        DownloadError: no mirror gave a good copy in time; says what happened at each.
    """
    answers: queue.SimpleQueue[tuple[str, int, bytes | Exception]] = queue.SimpleQueue()
    over = threading.Event()
    deadline = time.monotonic() + seconds
    waiting = deque((url, 1) for url in urls)
    troubles: dict[str, str] = {}
    running = 0
    try:
        while waiting or running:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            if waiting:
                url, attempt = waiting.popleft()
                troubles.setdefault(url, f"no answer in {seconds:.0f} s")
                threading.Thread(
                    target=_get, args=(url, attempt, left, answers, over), daemon=True
                ).start()
                running += 1
            try:
                url, attempt, answer = answers.get(timeout=min(patience, left) if waiting else left)
            except queue.Empty:
                continue
            running -= 1
            if isinstance(answer, bytes):
                try:
                    check(answer)
                    return answer, url
                except ValueError as error:
                    answer = error
            troubles[url] = str(answer) or type(answer).__name__
            if attempt < _ATTEMPTS and _may_pass(answer):
                waiting.append((url, attempt + 1))
    finally:
        over.set()
    lines = [f"  {url}: {trouble}" for url, trouble in troubles.items()]
    raise DownloadError("\n".join(["no mirror gave a good copy:", *lines]))


def _get(
    url: str,
    attempt: int,
    seconds: float,
    answers: queue.SimpleQueue[tuple[str, int, bytes | Exception]],
    over: threading.Event,
) -> None:
    """Put the bytes at ``url``, or what went wrong, into ``answers``."""
    if attempt > 1:
        over.wait(_PAUSE)
    answer: bytes | Exception
    try:
        request = urllib.request.Request(url, headers={"User-Agent": _AGENT})
        with urllib.request.urlopen(request, timeout=seconds) as response:
            parts: list[bytes] = []
            size = 0
            while not over.is_set() and (part := response.read1(1 << 16)):
                parts.append(part)
                size += len(part)
                if size > _MOST_BYTES:
                    raise ValueError(f"it sends more than {_MOST_BYTES} bytes")
        answer = b"".join(parts)
    except (OSError, ValueError, http.client.HTTPException) as error:
        answer = error
    answers.put((url, attempt, answer))


def _may_pass(error: Exception) -> bool:
    """Whether another try may go better: not for a wrong file or a refusal."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code >= 500 or error.code in (408, 429)
    return not isinstance(error, ValueError)
