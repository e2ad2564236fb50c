"""The package as one file, offered beside each notebook for download."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from course_book.keys import file_hash, files_below, tree_hash


class WheelError(RuntimeError):
    """The wheel could not be built; the message has pip's words."""


def wheel_key(root: Path) -> str:
    """Hash of what goes into the wheel."""
    files = files_below(root / "course", {"__pycache__"})
    return f"{tree_hash(files, root)}-{file_hash(root / 'pyproject.toml')}"


def build_wheel(root: Path) -> Path:
    """``_build/wheel/attention_from_average-….whl`` of this tree; built only where it changed.

    Needs no network: the build backend is part of the environment.

    Raises
    ------
    WheelError
        If pip fails.
    """
    folder = root / "_build" / "wheel"
    stamp = folder / "key"
    key = wheel_key(root)
    ready = sorted(folder.glob("attention_from_average-*.whl"))
    if len(ready) == 1 and stamp.is_file() and stamp.read_text(encoding="utf-8") == key:
        return ready[0]
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "wheel", str(root), "--no-deps"]
    command += ["--no-build-isolation", "--quiet", "--disable-pip-version-check"]
    with tempfile.TemporaryDirectory(dir=folder) as new:
        done = subprocess.run(
            [*command, "--wheel-dir", new], capture_output=True, text=True, check=False
        )
        made = sorted(Path(new).glob("attention_from_average-*.whl"))
        if done.returncode or len(made) != 1:
            raise WheelError(
                "the package does not build (is hatchling installed? `make setup`):\n"
                f"{done.stderr.strip() or done.stdout.strip()}"
            )
        for old in ready:
            old.unlink()
        target = folder / made[0].name
        os.replace(shutil.copy2(made[0], folder / ".new.whl"), target)
    stamp.write_text(key, encoding="utf-8")
    return target
