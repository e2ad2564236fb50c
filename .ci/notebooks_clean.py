#!/usr/bin/env python3
"""Notebooks are committed without outputs, execution counts or widget state; exit 1 where not.

    python .ci/notebooks_clean.py [--fix] [NOTEBOOK ...]

With no name: every notebook under book/, solutions/ and exercises/ that git tracks. --fix removes
what should not be there (and leaves the file to be added again).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TRACKED = ("book/*.ipynb", "solutions/*.ipynb", "exercises/*.ipynb")
# What a run leaves behind: the time of each cell, the state of the widgets, the papermill report.
LEFTOVERS = ("widgets", "papermill")
CELL_LEFTOVERS = ("execution", "papermill", "ExecuteTime", "collapsed", "scrolled")


def strip(notebook: dict) -> list[str]:
    """Remove what a run left in the notebook, in place; returns what was found, in words."""
    found = []
    for key in LEFTOVERS:
        if notebook.get("metadata", {}).pop(key, None) is not None:
            found.append(f"metadata {key}")
    for number, cell in enumerate(notebook["cells"]):
        for key in CELL_LEFTOVERS:
            if cell.get("metadata", {}).pop(key, None) is not None:
                found.append(f"cell {number}: metadata {key}")
        if cell["cell_type"] == "code":
            if cell.get("outputs"):
                found.append(f"cell {number}: outputs")
            if cell.get("execution_count") is not None:
                found.append(f"cell {number}: execution count")
            cell["outputs"], cell["execution_count"] = [], None
    return found


def tracked() -> list[Path]:
    """The notebooks that git tracks, wherever they lie under the three folders."""
    command = ["git", "ls-files", "-z", "--", *TRACKED]
    out = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in out.split("\0") if name and (ROOT / name).exists()]


def main() -> int:
    """Check, or mend, the notebooks; names each thing found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fix", action="store_true", help="remove what should not be there")
    parser.add_argument("notebooks", nargs="*", type=Path)
    arguments = parser.parse_args()
    paths = arguments.notebooks or tracked()
    wrong = 0
    for path in paths:
        try:
            notebook = json.loads(path.read_text(encoding="utf-8"))
            found = strip(notebook)
        except (OSError, ValueError, KeyError, TypeError) as error:
            print(f"{path}: not a notebook: {error!r}", file=sys.stderr)
            wrong += 1
            continue
        if found:
            wrong += 1
            print(f"{path}: {'; '.join(found)}", file=sys.stderr)
            if arguments.fix:
                part = path.with_name(path.name + ".part")
                text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
                part.write_text(text, encoding="utf-8")
                os.replace(part, path)
    if wrong and not arguments.fix:
        print("mend with: python .ci/notebooks_clean.py --fix", file=sys.stderr)
    print(f"{len(paths)} notebooks, {wrong} not clean", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
