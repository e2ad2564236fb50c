"""Files that are either whole or not there, and a folder for what can be made again."""

from __future__ import annotations

import os
import tempfile
import warnings
from functools import lru_cache
from pathlib import Path

CACHE_VARIABLE = "COURSE_CACHE"


def atomic_write_bytes(path: Path | str, data: bytes) -> Path:
    """Write ``data`` to ``path`` so that a reader sees the old file or the new one, never half.

    The bytes go to a temporary file in the same folder, are flushed to the disk, and are renamed.
    On any failure (a full disk, an interruption) the temporary file is removed and ``path`` is as
    it was.

    Raises:
        OSError: the folder cannot be made or written, or the disk is full.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes a private file; the result should have the mode any new file would have.
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path


def atomic_write_text(path: Path | str, text: str) -> Path:
    """Write ``text`` as UTF-8; see :func:`atomic_write_bytes`."""
    return atomic_write_bytes(path, text.encode("utf-8"))


@lru_cache(maxsize=1)
def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def is_writable(folder: Path) -> bool:
    """Whether a file can really be made in ``folder`` (made first where it is missing)."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".probe-"):
            return True
    except OSError:
        return False


def cache_dir() -> Path:
    """The folder for what can be made again: the corpus, its tokens, checkpoints.

    ``$COURSE_CACHE`` where it is set; else ``attention-from-average`` under ``$XDG_CACHE_HOME`` or
    ``~/.cache``; where neither can be written (a read-only home), a folder of this user's in the
    system's temporary folder, with a warning that names the variable to set.

    Raises:
        OSError: ``$COURSE_CACHE`` is set, but that folder cannot be written.
    """
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        folder = Path(chosen).expanduser()
        if not is_writable(folder):
            raise OSError(
                f"{CACHE_VARIABLE}={chosen} cannot be written; set {CACHE_VARIABLE} to a folder "
                "that can be, or unset it"
            )
        return folder
    return _default_cache(os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME"))


@lru_cache(maxsize=8)
def _default_cache(xdg: str | None, home: str | None) -> Path:
    # Cached on the two variables it reads: the probe and the warning happen once a process.
    base = Path(xdg) if xdg else Path(home or tempfile.gettempdir()).expanduser() / ".cache"
    folder = base / "attention-from-average"
    if is_writable(folder):
        return folder
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    spare = Path(tempfile.gettempdir()) / f"attention-from-average-{user}"
    if not is_writable(spare):
        raise OSError(
            f"neither {folder} nor {spare} can be written; set {CACHE_VARIABLE} to one that can"
        )
    warnings.warn(
        f"{folder} cannot be written; using {spare} (set {CACHE_VARIABLE} to choose the folder)",
        stacklevel=3,
    )
    return spare
