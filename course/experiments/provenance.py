"""Where a record comes from: machine, versions, commit, time."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
import tarfile
from pathlib import Path
from typing import Any

from course.parallel import available_cores

__all__ = ["extract_package", "git_state", "machine", "now", "versions"]

_PACKAGE = Path(__file__).resolve().parents[1]


def now() -> str:
    """The time in UTC, to the second, as ISO 8601."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def machine(device: str) -> dict[str, Any]:
    """Device and its name, processor, cores and threads, system."""
    import torch

    kind = device.partition(":")[0]
    name = torch.cuda.get_device_name(device) if kind == "cuda" else _processor()
    return {
        "device": kind,
        "device_name": name,
        "cpu": _processor(),
        "cores": available_cores(),
        "threads": torch.get_num_threads(),
        "system": platform.system(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """Versions of Python and of the libraries a result may depend on."""
    import numpy
    import torch

    return {
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": numpy.__version__,
    }


def git_state() -> dict[str, Any]:
    """The commit the package's folder is at, and whether tracked or new files differ from it.

    New records do not make a tree dirty: they are what a run writes.  Outside a repository (an
    installed package) the commit is None.
    """
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return {"commit": None, "dirty": None}
    changed = _git(
        "status",
        "--porcelain",
        "--",
        str(_PACKAGE),
        f":(exclude){_PACKAGE / 'experiments' / 'records'}",
    )
    return {"commit": commit, "dirty": bool(changed)}


def extract_package(commit: str | None, folder: Path) -> bool:
    """Put the package as it was at a commit into ``folder``; False where git cannot give it."""
    top = _git("rev-parse", "--show-toplevel")
    if commit is None or top is None:
        return False
    archive = folder / "course.tar"
    if _git("-C", top, "archive", f"--output={archive}", commit, "course") is None:
        return False
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return True


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(_PACKAGE), *arguments],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
