"""Build the book: ``python book/_ext/build.py`` (what ``make book`` calls).

Executes what is not up to date, then builds the pages with warnings as errors, and says where
they are. It can be interrupted and run again; where nothing changed it does nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from course_book import assets, downloads, pdf, toc, wheel
from course_book.clean import plain
from course_book.corpus import find_corpus
from course_book.keys import (
    PACKAGE_KEY_VARIABLE,
    file_hash,
    files_below,
    package_key,
    tree_hash,
)
from course_book.lock import building
from execute import chosen_parameters, execute, parser, report

from course.files import atomic_write_text

# Settings that change the pages: a build with others is another build.
_VARIABLES = (
    downloads.REPOSITORY_VARIABLE,
    downloads.BOOK_VARIABLE,
    downloads.BRANCH_VARIABLE,
    pdf.VARIABLE,
)
_ENTRY = """
import sys
from course.lean import leave_out_grammars
leave_out_grammars()
from jupyter_book.cli.main import main
sys.exit(main())
"""


def pages_key(root: Path, notebooks: list[Path], contents: Path) -> str:
    """Hash of everything the pages are made from."""
    sources = files_below(root / "book", {"__pycache__", ".ipynb_checkpoints"})
    sources += files_below(root / "benchmarks", {"__pycache__"})  # the page "speed" shows them
    released = files_below(root / "exercises", {"__pycache__", ".ipynb_checkpoints"})
    executed = root / "_build" / "executed"
    copies = [executed / n.relative_to(root) for n in notebooks]
    settings = [f"{name}={os.environ.get(name, '')}" for name in _VARIABLES]
    config = file_hash(root / "_config.yml", contents, root / "pyproject.toml")
    book, made = tree_hash([*sources, *released], root), tree_hash(copies, root)
    return "-".join([book, made, config, package_key(root), wheel.wheel_key(root), *settings])


def troubles(output: str) -> list[str]:
    """The warnings and errors in what Sphinx said; all of it where there is none."""
    found = [line for line in output.splitlines() if re.search(r"WARNING:|ERROR:|Error\b", line)]
    return found or output.splitlines()


def table_of_contents(root: Path, answers: bool) -> Path:
    """``_toc.yml``, or one in ``_build`` that has the model answers too."""
    if not answers:
        return root / "_toc.yml"
    plain = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    slugs = [slug for found in downloads.exercises(root).values() for slug in found]
    text = toc.as_yaml(toc.with_answers(plain, root, slugs))
    return atomic_write_text(root / toc.ANSWERS_FILE, text)


def run_logged(command: list[str], log: Path, folder: Path, environment: dict[str, str]) -> int:
    """Run a command with all it says in ``log``; nothing that it started outlives it.

    Into a file, not a pipe: KaTeX's server survives a Sphinx that fails, and would hold a pipe open
    for ever.
    """
    with log.open("wb") as said:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return process.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)


def build_pages(root: Path, notebooks: list[Path], contents: Path) -> int:
    """Run Jupyter Book on the executed copies; 0 where the pages are whole and without warnings."""
    build = root / "_build"
    stamp, unfinished = build / "pages.key", build / "pages.unfinished"
    key = pages_key(root, notebooks, contents)
    front = build / "html" / "index.html"
    if not unfinished.exists() and front.is_file():
        if stamp.is_file() and stamp.read_text(encoding="utf-8") == key:
            print("The pages are up to date.", file=sys.stderr)
            return 0
    elif unfinished.exists():
        # Sphinx warns of a page only when it reads it: after a failed build it must read them all
        shutil.rmtree(build / ".doctrees", ignore_errors=True)
    build.mkdir(exist_ok=True)
    unfinished.touch()
    stamp.unlink(missing_ok=True)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    options = ["-W", "-n", "--keep-going", "--toc", str(contents)]
    log = build / "pages.log"
    environment = {**os.environ, "PATH": path, PACKAGE_KEY_VARIABLE: package_key(root)}
    command = [sys.executable, "-c", _ENTRY, "build", str(root), *options]
    status = run_logged(command, log, root, environment)
    output = plain(log.read_text(encoding="utf-8", errors="replace"))
    log.write_text(output, encoding="utf-8")
    if status or not front.is_file():
        print("\n".join(troubles(output)), file=sys.stderr)
        print(f"\nThe pages were not built (all that Sphinx said: {log}).", file=sys.stderr)
        return status or 1
    stamp.write_text(key, encoding="utf-8")
    unfinished.unlink()
    return 0


def main(argv: list[str] | None = None) -> int:
    p = parser(__doc__)
    p.add_argument(
        "--solutions",
        action="store_true",
        default=os.environ.get("SOLUTIONS") == "1",
        help="with the model answers as a last part, for an instructor (or SOLUTIONS=1)",
    )
    p.add_argument(
        "--pdf",
        action="store_true",
        default=os.environ.get("PDF") == "1",
        help="print the whole book as well, with Chromium (or PDF=1)",
    )
    p.add_argument("--prepare", action="store_true", help="fetch KaTeX and the fonts, nothing else")
    args = p.parse_args(argv)
    root: Path = args.root.resolve()
    with building(root):
        return build(args, root)


def build(args: argparse.Namespace, root: Path) -> int:
    """All of it, in order; 0 where the book is whole."""
    try:
        assets.node_modules(root)
        if args.prepare:
            return 0
        wheel.build_wheel(root)
    except (assets.MissingTool, wheel.WheelError) as error:
        print(error, file=sys.stderr)
        return 1
    if args.pdf:
        os.environ[pdf.VARIABLE] = "1"
    contents = table_of_contents(root, args.solutions)
    notebooks = toc.notebooks_of(root, contents)
    state = find_corpus()
    if state.notice:
        print(state.notice, file=sys.stderr)
    outcomes = execute(
        notebooks,
        root,
        jobs=args.jobs,
        parameters=chosen_parameters(args),
        corpus=state,
        force=args.force,
        timeout=args.timeout,
    )
    status = report(outcomes) or build_pages(root, notebooks, contents)
    if status == 0:
        html = root / "_build" / "html"
        if args.pdf:
            try:
                print(f"\nTo print: {pdf.print_book(html)}")
            except assets.MissingTool as error:
                print(error, file=sys.stderr)
                return 1
        print(f"\nThe book: {(html / 'index.html').as_uri()}")
        print(f"Over HTTP: {Path(sys.executable).name} -m http.server --directory {html}")
    return status


if __name__ == "__main__":
    try:
        status = main()
    except KeyboardInterrupt:
        print("\nInterrupted; what is finished is kept. Run it again to go on.", file=sys.stderr)
        status = 130
    sys.exit(status)
