"""The first code cell of every notebook: installs the course where it is missing.

The text is the same in every notebook (a test holds it so). The one line that differs in a
notebook *offered for download* is ``WHEEL_URL``: :func:`fill` writes the address of the wheel
into it when the book is built with a configured address (``build.py``).

Order: nothing at all where ``course`` can be imported; else the wheel lying beside the notebook
(works with no network, if what the course builds on is there); else the wheel at ``WHEEL_URL``.
The distribution itself never comes from a package index, only what it depends on may.
"""

from __future__ import annotations

SETUP_CELL = """\
import importlib, importlib.util, pathlib, subprocess, sys
WHEEL_URL = ""  # the book's build fills this in where it has a public address
if importlib.util.find_spec("course") is None:
    here = pathlib.Path.cwd()
    source = max(map(str, here.glob("attention_from_average-*.whl")), default=WHEEL_URL)
    if not source:
        raise ModuleNotFoundError(f"The package `course` is missing: put attention_from_average-*"
            f".whl (in the archive on this notebook's page) into {here} and run this cell again.")
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", source], check=True)
    importlib.invalidate_caches()
    print("Installed the course from", source)
"""

_EMPTY = 'WHEEL_URL = ""'


def fill(source: str, wheel_url: str) -> str:
    """Return the set-up cell ``source`` with ``wheel_url`` in its constant.

    Raises
    ------
    ValueError
        If ``source`` is not the common set-up cell, or the address holds a quote or a newline.
    """
    if source.strip() != SETUP_CELL.strip():
        raise ValueError("this is not the common set-up cell of book/_ext/setup_cell.py")
    if any(c in wheel_url for c in '"\\\n'):
        raise ValueError(f"not an address: {wheel_url!r}")
    return source.replace(_EMPTY, f'WHEEL_URL = "{wheel_url}"', 1)
