"""Running a command as another user of this machine, where this one is root."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from course.grading import sandbox
from tests.grading.lab import ROOT


def shut(folder: Path) -> bool:
    """Whether another user may not pass through a folder."""
    return folder.exists() and not folder.stat().st_mode & 0o001


def shown() -> list[str]:
    """Words for bubblewrap: the environment and this clone, read-only, past closed folders.

    Either may lie in a folder of mode 0700.
    """
    wanted = [*sandbox.readable_paths(), str(ROOT)]
    closed = {above for path in wanted for above in Path(path).parents if shut(above)}
    tops = {folder for folder in closed if not closed & set(folder.parents)}
    words: list[str] = []
    for top in sorted(map(str, tops)):
        words += ["--tmpfs", top, "--chmod", "0755", top]
    for path in wanted:
        for above in reversed(Path(path).parents[:-1]):
            if tops & set(above.parents):
                words += ["--dir", str(above)]
        words += ["--ro-bind", path, path]
    return words


def as_user(uid: int, gid: int, command: Sequence[str], *more: str) -> list[str]:
    """The command, run by that user without any capability.

    Args:
        more: further words for bubblewrap.
    """
    return ["bwrap", "--dev-bind", "/", "/", *shown(), *more, "setpriv", f"--reuid={uid}",
            f"--regid={gid}", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all",
            *command]  # fmt: skip


IS_ROOT = os.getuid() == 0
