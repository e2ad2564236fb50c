"""The libraries the course is measured against: the optional extra ``bench``.

They are installed into the environment that runs this, by name, under the versions of
``constraints.txt``, so that nothing the course is tested with changes.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from importlib import util

from benchmarks.comparison import ROOT, CannotMeasure


def missing(names: Sequence[str]) -> list[str]:
    """Those of these that cannot be imported."""
    return [name for name in names if util.find_spec(name) is None]


def require(names: Sequence[str]) -> None:
    """Raises CannotMeasure: one of them is not installed; says how to get it."""
    absent = missing(names)
    if absent:
        raise CannotMeasure(
            f"{', '.join(absent)} not installed here: python -m benchmarks --install, or "
            f"pip install -c constraints.txt {' '.join(absent)}"
        )


def install(names: Sequence[str]) -> None:
    """Install what is missing, by pip, within the tested versions.

    Raises:
        CannotMeasure: pip could not.
    """
    absent = missing(names)
    if not absent:
        return
    command = [sys.executable, "-m", "pip", "install", "-c", str(ROOT / "constraints.txt"), *absent]
    print("$ " + " ".join(command), file=sys.stderr, flush=True)
    if subprocess.run(command, check=False).returncode:
        raise CannotMeasure(f"pip could not install {', '.join(absent)}; it says why above")
