"""What a run would lose if it were killed now, kept outside the tree and replaced atomically."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path
from typing import Any

from course.experiments.records import move_aside
from course.files import atomic_write_bytes, cache_dir

__all__ = ["SAVE_SECONDS", "FileCheckpoint", "NoCheckpoint", "checkpoint_path"]

SAVE_SECONDS = 20.0  # a kill costs at most this much work, plus the step it fell into


def checkpoint_path(experiment: str, row: str, seed: int, key: str) -> Path:
    """Where the checkpoint of a run lies; ``key`` tells code, configuration and device apart."""
    return cache_dir() / "checkpoints" / experiment / f"{row}-s{seed}-{key[:16]}.pt"


class NoCheckpoint:
    """For a run too short to be worth saving, and for replays."""

    def load(self) -> None:
        """There is never one."""
        return None

    def save(self, state: dict[str, Any]) -> None:
        """Nothing is kept."""

    def due(self) -> bool:
        """Never."""
        return False


class FileCheckpoint:
    """A checkpoint in a file, saved at most every ``every`` seconds by whoever asks :meth:`due`."""

    def __init__(self, path: Path, every: float = SAVE_SECONDS) -> None:
        self.path = path
        self.every = every
        self._last = time.monotonic()
        self._warned = False

    def load(self) -> dict[str, Any] | None:
        """The saved state; one that cannot be read is moved aside, and the run starts anew."""
        import torch

        if not self.path.exists():
            return None
        try:
            # weights_only: a checkpoint is tensors and numbers, never code
            state = torch.load(self.path, map_location="cpu", weights_only=True)
        except Exception as error:  # whatever a damaged file makes the unpickler raise
            aside = move_aside(self.path)
            print(
                f"the checkpoint {self.path} cannot be read ({type(error).__name__}); it is kept "
                f"as {aside.name} and the run begins anew",
                file=sys.stderr,
            )
            return None
        return dict(state)

    def save(self, state: dict[str, Any]) -> None:
        """Replace the file by this state.

        A full disk does not end a run: the last checkpoint stays, and this is said once.
        """
        import torch

        buffer = io.BytesIO()
        torch.save(state, buffer)
        try:
            atomic_write_bytes(self.path, buffer.getvalue())
            self._warned = False
        except OSError as error:
            if not self._warned:
                print(
                    f"cannot save {self.path}: {error.strerror or error}; the run goes on, and "
                    "its last checkpoint stays as it was",
                    file=sys.stderr,
                )
            self._warned = True
        self._last = time.monotonic()

    def due(self) -> bool:
        """Whether ``every`` seconds have passed since the last save."""
        return time.monotonic() - self._last >= self.every

    def remove(self) -> None:
        """Delete the file: its record is written."""
        self.path.unlink(missing_ok=True)
