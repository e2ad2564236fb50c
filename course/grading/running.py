"""Run a request in the sandbox of this process, plain data in and out.

Nothing of nbgrader is loaded: this is what a pool's processes or a cluster's machines import.
"""

from __future__ import annotations

import atexit
import base64
import functools
import hashlib
import platform
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import course
from course.grading.conductor import Cell, Conductor
from course.grading.limits import Limits
from course.grading.names import Names
from course.grading.parent import WarmParent
from course.grading.sandbox import SandboxError

# One for each thread: a cluster's worker runs several requests at once, and a warm parent talks to
# one at a time.
_parents: dict[tuple[int, bool], WarmParent] = {}


def shared_parent(*, isolated: bool) -> WarmParent:
    """The warm parent of this thread, started on its first call and ended with the process.

    Raises:
        SandboxError: isolation is asked for and cannot be had.
    """
    key = (threading.get_ident(), isolated)
    if key not in _parents:
        _parents[key] = WarmParent(isolated=isolated)
        atexit.register(close_parents)
    return _parents[key]


def close_parents() -> None:
    """End the warm parents of this process."""
    while _parents:
        _parents.popitem()[1].close()


def _close_mine() -> None:
    for key in [k for k in _parents if k[0] == threading.get_ident()]:
        _parents.pop(key).close()


@functools.cache
def grading_code() -> str:
    """A hash of the checks and of the grader."""
    root = Path(course.__file__).parent
    total = hashlib.sha256()
    for folder in ("checks", "grading"):
        for path in sorted((root / folder).rglob("*.py")):
            total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


@functools.cache
def versions() -> dict[str, str]:
    """What a grade depends on beside the code."""
    found = {p: version(p) for p in ("torch", "numpy", "nbgrader", "ipython")}
    return {"python": platform.python_version(), "course": course.__version__, **found}


def run(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Run a request (`course.grading.execution.request`).

    A sandbox that has died (the machine ran out of memory, say) is started again once.

    Raises:
        SandboxError: isolation is asked for and cannot be had, or the sandbox failed twice.
    """
    start = time.monotonic()
    try:
        outcomes = _run(asked)
    except SandboxError:
        _close_mine()
        outcomes = _run(asked)
    return {"outcomes": outcomes, "seed": asked["seed"],
            "seconds": round(time.monotonic() - start, 3), "versions": dict(versions()),
            "isolation": "bwrap" if asked["isolated"] else "none",
            "grading_code": grading_code()}  # fmt: skip


def _run(asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    conductor = Conductor(shared_parent(isolated=asked["isolated"]), Limits(**asked["limits"]))
    outcomes = conductor.run(
        [Cell(**c) for c in asked["cells"]], Names(**asked["names"]), asked["seed"],
        files={n: base64.b64decode(d) for n, d in asked["files"].items()},
        test_files={n: base64.b64decode(d) for n, d in asked["test_files"].items()},
    )  # fmt: skip
    return [asdict(o) for o in outcomes]
