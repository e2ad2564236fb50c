#!/usr/bin/env python3
"""Run every notebook as Colab would: the course's wheel over Colab's versions, no clone in sight.

    python .ci/colab.py [--constraints .ci/colab.txt] [NOTEBOOK ...]

The environment is made in _build/colab from the Python that runs this (Colab's is 3.13); each
notebook is copied to a folder of its own outside the clone and run by papermill in quick mode.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "_build" / "colab"
PYTHON = HOME / "bin" / "python"
RUNNER = ["papermill", "ipykernel", "hatchling"]  # what runs the notebooks; Colab has its own


def run(*command: object, **options: object) -> None:
    """A command that has to succeed, shown first."""
    print("$", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, **options)  # type: ignore[call-overload]


def install(constraints: Path) -> None:
    """Make the environment: the wheel, what it asks for at Colab's versions, and papermill."""
    run(sys.executable, "-m", "venv", "--clear", HOME)
    pip = [PYTHON, "-m", "pip", "--disable-pip-version-check"]
    run(*pip, "install", "--quiet", "-c", constraints, "ipython", *RUNNER)
    run(*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", HOME / "dist", ROOT)
    (wheel,) = (HOME / "dist").glob("attention_from_average-*.whl")
    run(*pip, "install", "--quiet", "-c", constraints, wheel)
    run(*pip, "check")
    run(*pip, "list", "--format", "freeze", "--exclude-editable")


def execute(notebook: Path) -> str:
    """Run one notebook away from the clone; returns "" or the end of what went wrong."""
    with tempfile.TemporaryDirectory(prefix="colab-") as folder:
        copy = Path(shutil.copy(notebook, folder))
        command = [PYTHON, "-m", "papermill", copy, copy.with_suffix(".out.ipynb")]
        command += ["--cwd", folder, "--no-progress-bar", "-p", "budget", "quick"]
        done = subprocess.run(
            [str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False
        )
    return "" if done.returncode == 0 else done.stderr[-4000:] or f"exit {done.returncode}"


def main() -> int:
    """Install, run each notebook, and name those that failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--constraints", type=Path, default=ROOT / ".ci" / "colab.txt")
    parser.add_argument("notebooks", nargs="*", type=Path)
    arguments = parser.parse_args()
    notebooks = arguments.notebooks or sorted((ROOT / "book").glob("*.ipynb"))
    if not notebooks:
        print("colab: no notebook in book/", file=sys.stderr)
        return 1
    install(arguments.constraints.resolve())
    failed = []
    for notebook in notebooks:
        start = time.monotonic()
        wrong = execute(notebook.resolve())
        state = "FAILED" if wrong else "passed"
        print(f"{notebook.name:<32} {state} {time.monotonic() - start:6.1f} s", flush=True)
        if wrong:
            failed.append(notebook.name)
            print(wrong, file=sys.stderr, flush=True)
    print(f"{len(notebooks) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
