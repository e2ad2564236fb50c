"""A host of pages on this machine that compresses text, as the hosts on the web do."""

from __future__ import annotations

import functools
import gzip
import http.server
import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

TEXT = {".html", ".js", ".css", ".json", ".svg", ".txt"}


@functools.cache
def _compressed(path: Path, _: int) -> bytes:
    """Kept, as hosts keep it: what is measured is the way to the reader."""
    return gzip.compress(path.read_bytes())


class _Compressing(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the comparison speaks for itself."""

    def send_head(self) -> io.BytesIO | IO[bytes] | None:  # type: ignore[override]
        path = Path(self.translate_path(self.path))
        if path.suffix not in TEXT or not path.is_file():
            return super().send_head()
        data = _compressed(path, path.stat().st_mtime_ns)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        return io.BytesIO(data)


@contextmanager
def serve_compressed(folder: Path) -> Iterator[str]:
    """Serve ``folder`` for the length of a ``with``; gives the address."""
    handler = functools.partial(_Compressing, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
