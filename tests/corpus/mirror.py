"""A server on this machine that plays the mirrors, good and bad, and what it plays."""

from __future__ import annotations

import http.server
import threading
import time
from contextlib import contextmanager, suppress

from course.corpus import Corpus
from course.grammar import generate

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


@contextmanager
def at_most(seconds: float):
    start = time.monotonic()
    yield
    assert time.monotonic() - start < seconds


def is_good(corpus: Corpus) -> bool:
    return (corpus.text.encode(), corpus.is_fallback, corpus.notice) == (GOOD, False, "")
