#!/usr/bin/env python3
"""Remove what was built; what was installed (.venv, _build/npm) and class/ stay."""

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEEP = {"npm", ".setup-lock"}  # installed by set-up: the next build needs no network
UNTOUCHED = {".git", ".venv", "class"}
CACHES = {
    ".hypothesis",
    ".import_linter_cache",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    "__pycache__",
}


def remove(path):
    """Delete a file or a folder; a link is deleted, never what it points to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(str(path))
    else:
        path.unlink()


def main():
    """Delete the build folder's contents and the caches of the tools."""
    build = ROOT / "_build"
    for path in list(build.iterdir()) if build.is_dir() else []:
        if path.name not in KEEP:
            remove(path)
    if (ROOT / "dist").exists():
        remove(ROOT / "dist")
    for top in sorted(ROOT.iterdir()):
        if top.name in CACHES:
            remove(top)
        elif top.name not in UNTOUCHED and top.is_dir() and not top.is_symlink():
            for path in sorted(top.rglob("*"), reverse=True):
                if path.name in CACHES and "node_modules" not in path.parts:
                    remove(path)
    print("clean: removed what was built; .venv, _build/npm and class/ are as they were")


if __name__ == "__main__":
    main()
