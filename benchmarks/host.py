"""A host of pages on this machine that compresses text, as the hosts on the web do."""

from __future__ import annotations

import functools
import gzip
import io
from pathlib import Path
from typing import IO

from tests.widgets.harness import Quiet

TEXT = {".html", ".js", ".css", ".json", ".svg", ".txt"}


@functools.cache
def _compressed(path: Path, _: int) -> bytes:
    """Kept, as hosts keep it: what is measured is the way to the reader."""
    return gzip.compress(path.read_bytes())


class Compressing(Quiet):
    """For ``harness.serve``."""

    protocol_version = "HTTP/1.1"

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
