"""Building the whole book: everything, nothing changed, one chapter changed.

Against plain ``jupyter-book build`` of the same chapters with its own cache of executed notebooks.
Each is built in a copy of the repository's committed files. Every part is kept as it is measured:
an interrupted run goes on with the next.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from functools import partial
from pathlib import Path

from benchmarks.comparison import ROOT, CannotMeasure, Comparison, Context
from benchmarks.results import Goal, Row
from benchmarks.watch import watch
from course.parallel import available_cores

ENTRY = "import sys; from jupyter_book.cli.main import main; sys.exit(main())"
# Jupyter Book as its own documentation sets it up, with its cache.
PLAIN_CONFIG = """\
title: Plain
execute:
  execute_notebooks: cache
  timeout: 1800
only_build_toc_files: true
"""
EDITED = "05-scaling"
STEPS = ("cold", "unchanged", "edited")


def copy(folder: Path) -> Path:
    """The committed files of the repository, with KaTeX and the fonts where they are here."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = folder / "files.tar"
    subprocess.run(["git", "-C", ROOT, "archive", f"--output={archive}", "HEAD"], check=True)
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    archive.unlink()
    npm = ROOT / "_build" / "npm"
    if not (npm / "node_modules").is_dir():
        raise CannotMeasure("KaTeX and the fonts are not here: python .ci/setup_env.py --npm-only")
    (folder / "_build").mkdir()
    (folder / "_build" / "npm").symlink_to(npm)
    return folder


def reduce(root: Path, chapters: list[str]) -> None:
    """A book of these chapters only (for --quick)."""
    listed = "".join(f"\n  - file: book/{name}" for name in chapters)
    text = f"format: jb-book\nroot: book/notation\nparts:\n- caption: All\n  chapters:{listed}\n"
    (root / "_toc.yml").write_text(text, encoding="utf-8")


def edit(root: Path, chapter: str) -> None:
    """A sentence more in the chapter's first cell of text."""
    path = root / "book" / f"{chapter}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cell = next(c for c in notebook["cells"] if c["cell_type"] == "markdown")
    cell["source"] = "".join(cell["source"]) + "\n\nA sentence more.\n"
    path.write_text(json.dumps(notebook, indent=1), encoding="utf-8")


def own_seconds(root: Path, chapter: str) -> float:
    """How long the chapter itself ran, as its executed copy says."""
    path = root / "_build" / "executed" / "book" / f"{chapter}.ipynb"
    metadata = json.loads(path.read_text(encoding="utf-8"))["metadata"]
    return float(metadata["course_book"]["seconds"])


def step(root: Path, plain: bool, which: str, chapter: str, quick: bool) -> list[float]:
    """Seconds and peak MiB of one build; the chapter's own seconds and all chapters' (or 0)."""
    if which == "cold":
        copy(root)
        if quick:
            reduce(root, [chapter])
        if plain:
            (root / "_config.yml").write_text(PLAIN_CONFIG, encoding="utf-8")
    elif not (root / "_toc.yml").is_file():
        raise CannotMeasure(
            "the cold build's folder is gone: python -m benchmarks book-build --fresh"
        )
    elif which == "edited":
        edit(root, chapter)
    own = {"PYTHONPATH": str(root), "COURSE_CACHE": str(root / "_build" / "cache")}
    command = [sys.executable, "-c", ENTRY, "build", "."]
    taken = watch(command if plain else [sys.executable, "book/_ext/build.py"], root, own)
    if plain:
        return [taken.seconds, taken.peak_mb, 0.0, 0.0]
    executed = (root / "_build" / "executed" / "book").glob("*.ipynb")
    total = sum(own_seconds(root, path.stem) for path in executed)
    return [taken.seconds, taken.peak_mb, own_seconds(root, chapter), total]


def run(context: Context) -> list[Row]:
    # Quick: the chapter whose text leads to no formula or figure of another.
    chapter = context.pick(EDITED, "01-average")
    if not (ROOT / "book" / f"{chapter}.ipynb").is_file():
        raise CannotMeasure(f"there is no chapter {chapter} to edit")
    sides = context.pick({"course": False, "jupyter-book": True}, {"course": False})
    taken: dict[str, dict[str, list[float]]] = {}
    for which in STEPS:
        taken[which] = {}
        for name, plain in sides.items():
            context.say(f"{which}: {name}")
            root = context.folder / ("plain" if plain else "ours")
            work = partial(step, root, plain, which, chapter, context.quick)
            taken[which][name] = context.part(f"{which}-{name}", work)
    own = taken["edited"]["course"][2]
    total = taken["cold"]["course"][3]
    slow = f"the notebooks themselves run for {total:.0f} s in all, on {available_cores()} cores"
    read = "the rest is Sphinx: reading what changed, and writing the pages that the change reaches"
    goals = {
        "cold": Goal("quick budget", taken["cold"]["course"][0], below=540.0, why=slow, unit="s"),
        "unchanged": Goal("nothing to do", taken["unchanged"]["course"][0], below=15.0, why=read,
                          unit="s"),
        "edited": Goal("beyond the chapter's own time", taken["edited"]["course"][0] - own,
                       below=10.0, why=read, unit="s"),
    }  # fmt: skip
    titles = {"cold": "everything", "unchanged": "nothing changed", "edited": f"{chapter} changed"}
    rows = []
    for which in STEPS:
        details = {f"{name}: peak MiB": values[1] for name, values in taken[which].items()}
        if which == "edited":
            details[f"{chapter}'s own s"] = own
        values = {name: [value[0]] for name, value in taken[which].items()}
        rows.append(Row(titles[which], "s", values, [goals[which]], details))
    return rows


COMPARISON = Comparison(
    name="book-build",
    title="Building the book",
    against="plain jupyter-book build with its cache, on the same notebooks",
    run=run,
    seconds=1500,
    peers=("psutil",),
    default=False,
    rounds=1,
    notes=("One build of each kind a side: quick budget, pages with warnings as errors (ours).",),
)
