#!/usr/bin/env python3
"""Run every notebook as Colab would: alone in an empty folder, over Colab's versions, no clone.

    python .ci/colab.py [--torch recorded|here] [--jobs 2] [NOTEBOOK ...]

An environment in _build/colab holds Colab's versions and not the course. Each notebook gets a
fresh environment on top of it and a folder with nothing in it but the notebook and the wheel; pip
may ask no index. Its set-up cell has to install that wheel, say so in one line, and, run a second
time, do and say nothing. Where readers download the notebook, its set-up cell is also run with the
wheel's address written into it and no file beside it, the wheel being served on this machine.

What has to come out, by where the notebook lies:

- `book/`, a chapter, and `solutions/`, a model answer with all its tests: no cell raises.
- `exercises/`, as handed out: cells are run to the end as a learner would; those that need the
  answer raise the NotImplementedError that stands there for it, and nothing raises anything else.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from setup_cell import SETUP_CELL, fill  # noqa: E402

HOME = ROOT / "_build" / "colab"
RUNNER = ("hatchling", "ipykernel", "nbclient", "nbformat")  # Colab has its own
CELL_SECONDS = 600
# What runs inside the environment: every cell, also after one that raised.
EXECUTE = """
import os, sys, nbclient, nbformat
source, target, seconds = sys.argv[1:]
notebook = nbformat.read(source, as_version=4)
client = nbclient.NotebookClient(
    notebook, timeout=int(seconds), startup_timeout=180, kernel_name="python3", allow_errors=True,
    resources={"metadata": {"path": os.path.dirname(source)}},
)
client.execute()
nbformat.write(notebook, target)
"""
ANSI = re.compile(r"\x1b\[[0-9;]*m")


class ColabError(RuntimeError):
    """The environment could not be made, or a notebook did not do what it should."""


def run(*command: object, **options: object) -> None:
    """A command that has to succeed, shown first."""
    print("$", *command, flush=True)
    done = subprocess.run([str(part) for part in command], check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise ColabError(f"`{command[0]} … {command[-1]}` exited {done.returncode}")


# ------------------------------------------------------------------ the environment


def needed_by(name: str) -> list[metadata.Distribution]:
    """A distribution of this Python and all that it needs here."""
    from packaging.requirements import Requirement

    pending, found = [name], {}
    while pending:
        one = metadata.distribution(pending.pop())
        if one.metadata["Name"] in found:
            continue
        found[one.metadata["Name"]] = one
        for line in one.requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                pending.append(requirement.name)
    return list(found.values())


def borrow(name: str, site: Path) -> None:
    """Link a distribution of this Python, with what it needs, into another environment's."""
    for one in needed_by(name):
        tops = {Path(str(file)).parts[0] for file in one.files or ()} - {"..", "__pycache__"}
        for top in tops:
            source = Path(str(one.locate_file(top)))
            if source.exists() and not (site / top).exists():
                (site / top).symlink_to(source)


def site_of(home: Path) -> Path:
    """Where an environment's packages are."""
    (site,) = home.glob("lib/python*/site-packages")
    return site


def environment(constraints: Path, torch: str = "recorded", home: Path = HOME) -> Path:
    """Colab's versions, without the course; made where it is missing or out of date.

    Args:
        constraints: the versions.
        torch: "recorded", the version there; "here", the one of this Python, by links.
        home: the environment's folder.

    Raises:
        ColabError: pip cannot install it.
    """
    asked = [line for line in constraints.read_text("utf-8").splitlines() if line[:1] not in "#"]
    version = metadata.version("torch") if torch == "here" else ""
    key = "\n".join([sys.version, sys.prefix, torch, version, *asked, *RUNNER])
    key = hashlib.sha256(key.encode()).hexdigest()
    stamp = home / "ready"
    if stamp.is_file() and stamp.read_text("utf-8") == key:
        return home
    run(sys.executable, "-m", "venv", "--clear", home)
    names = [re.split(r"[=<>~!]", line)[0] for line in asked]
    if torch == "here":
        borrow("torch", site_of(home))
        names.remove("torch")
    limits = home / "constraints.txt"
    kept = [line for line in asked if not (torch == "here" and line.startswith("torch"))]
    limits.write_text("\n".join(kept) + "\n", encoding="utf-8")
    pip = [home / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    # What the course asks for, but never the course: it must come by its set-up cell alone.
    others = [r for r in requirements() if re.split(r"[=<>~!]", r)[0] not in {*names, "torch"}]
    run(*pip, "install", "--quiet", "-c", limits, *names, *others, *RUNNER)
    run(*pip, "check")
    stamp.write_text(key, encoding="utf-8")
    return home


def build_wheel(base: Path, folder: Path) -> Path:
    """The course's wheel, made by the environment's Python from this clone into ``folder``."""
    pip = [base / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    run_quietly([*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", folder, ROOT])
    (wheel,) = folder.glob("attention_from_average-*.whl")
    return wheel


def requirements() -> list[str]:
    """What the package asks for."""
    import tomllib

    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found: list[str] = tomllib.loads(text)["project"]["dependencies"]
    return found


def fresh(base: Path, folder: Path) -> Path:
    """A new environment that sees the packages of ``base``; returns its Python."""
    home = folder / "environment"
    run_quietly([base / "bin" / "python", "-m", "venv", "--without-pip", home])
    (site_of(home) / "base.pth").write_text(f"{site_of(base)}\n", encoding="utf-8")
    return home / "bin" / "python"


def run_quietly(
    command: Sequence[object], cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """A command in an environment without this clone; its words kept.

    Raises:
        ColabError: it fails.
    """
    dropped = ("PYTHONPATH", "VIRTUAL_ENV", "JUPYTER_PATH", "MPLBACKEND", "PYTHONHOME")
    around = {key: value for key, value in os.environ.items() if key not in dropped}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env={**around, **variables},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise ColabError(ANSI.sub("", done.stderr or done.stdout)[-4000:])
    return done


def account(folder: Path) -> dict[str, str]:
    """Variables that keep the user's own settings, kernels and indexes out of it."""
    made = {
        name: str(folder / name.lower())
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    }
    return {**made, "PIP_NO_INDEX": "1", "PIP_ROOT_USER_ACTION": "ignore", "PYTHONNOUSERSITE": "1"}


# ------------------------------------------------------------------ one notebook


@dataclass(frozen=True)
class Outcome:
    """What became of a notebook; ``wrong`` is empty where it did all it should."""

    name: str
    seconds: float
    wrong: str


def kind_of(notebook: Path) -> str:
    """chapter, answer or exercise, by the folder it lies in."""
    folders = {"book": "chapter", "solutions": "answer", "exercises": "exercise"}
    for part in reversed(notebook.resolve().parts[:-1]):
        if part in folders:
            return folders[part]
    return "chapter"


def set_up_at(cells: Sequence[dict]) -> int:
    """The number of the set-up cell.

    Raises:
        ColabError: there is none, or code comes before it.
    """
    code = [n for n, cell in enumerate(cells) if cell["cell_type"] == "code"]
    if not code or "".join(cells[code[0]]["source"]).strip() != SETUP_CELL.strip():
        raise ColabError("the first code cell is not the set-up cell")
    return code[0]


def said(cell: dict) -> str:
    """What a cell printed or showed."""
    texts = [o.get("text") or o.get("data", {}).get("text/plain", "") for o in cell["outputs"]]
    return "".join("".join(text) for text in texts)


def errors(cells: Sequence[dict]) -> list[tuple[int, str, str]]:
    """The exceptions a run left: cell number, class, the traceback."""
    return [
        (n, output["ename"], ANSI.sub("", "\n".join(output["traceback"])))
        for n, cell in enumerate(cells, start=1)
        for output in cell.get("outputs", ())
        if output["output_type"] == "error"
    ]


def judge(cells: Sequence[dict], kind: str, at: int, wheel: Path) -> str:
    """What a run got wrong, or "". The set-up cell is at ``at``, and again just after it."""
    words = said(cells[at])
    if words != f"Installed the course from {wheel}\n":
        return f"the set-up cell said {words!r}, not one line that names {wheel}"
    if cells[at + 1]["outputs"]:
        return f"run again, the set-up cell did not keep quiet: {cells[at + 1]['outputs']}"
    raised = errors(cells)
    allowed = {"NotImplementedError"} if kind == "exercise" else set()
    for number, name, trace in raised:
        if name not in allowed:
            return f"cell {number} raised {name}:\n{trace}"
    if kind == "exercise" and not raised:
        return "no cell asked for the learner's answer: a NotImplementedError was to come"
    return ""


def by_file(notebook: Path, base: Path, wheel: Path) -> str:
    """Run a whole notebook, alone with the wheel; returns what went wrong, or ""."""
    with tempfile.TemporaryDirectory(prefix="colab-") as scratch:
        folder = Path(scratch).resolve() / "downloads"
        folder.mkdir()
        beside = Path(shutil.copy(wheel, folder))
        data = json.loads(notebook.read_text(encoding="utf-8"))
        at = set_up_at(data["cells"])
        again = {**data["cells"][at], "id": "set-up-again"}
        data["cells"].insert(at + 1, again)
        copy = folder / notebook.name
        copy.write_text(json.dumps(data), encoding="utf-8")
        python = fresh(base, folder.parent)
        done = folder.parent / "done.ipynb"
        script = folder.parent / "execute.py"
        script.write_text(EXECUTE, encoding="utf-8")
        # No kernel of the account's: "python3" is the Python that runs this.
        around = account(folder.parent) | {"PATH": f"{python.parent}:{os.environ['PATH']}"}
        run_quietly([python, script, copy, done, CELL_SECONDS], cwd=folder, **around)
        cells = json.loads(done.read_text(encoding="utf-8"))["cells"]
        return judge(cells, kind_of(notebook), at, beside)


def by_address(notebook: Path, base: Path, url: str) -> str:
    """Run a notebook's set-up cell twice, with the wheel's address in it and no file beside it."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    cell = fill("".join(cells[set_up_at(cells)]["source"]), url)
    with tempfile.TemporaryDirectory(prefix="colab-") as scratch:
        folder = Path(scratch).resolve() / "downloads"
        folder.mkdir()
        python = fresh(base, folder.parent)
        after = "import course\nprint(course.__path__[0])\n"
        around = account(folder.parent) | {"PIP_NO_COMPILE": "1"}  # it is imported once
        done = run_quietly([python, "-c", f"{cell}\n{cell}\n{after}"], cwd=folder, **around)
        lines = done.stdout.splitlines()
        right = len(lines) == 2 and Path(lines[1]).is_relative_to(folder.parent)
        if right and lines[0] == f"Installed the course from {url}":
            return ""
        return f"with the address {url} in it the set-up cell said {done.stdout!r}"


def check(notebook: Path, base: Path, wheel: Path, url: str) -> Outcome:
    """Both ways for one notebook; a model answer lies at no address."""
    start = time.monotonic()
    try:
        wrong = by_file(notebook, base, wheel)
        if not wrong and kind_of(notebook) != "answer":
            wrong = by_address(notebook, base, url)
    except (ColabError, ValueError) as error:
        wrong = str(error) or repr(error)
    name = "/".join(notebook.parts[-2:] if kind_of(notebook) == "chapter" else notebook.parts[-3:])
    return Outcome(name, time.monotonic() - start, wrong)


# ------------------------------------------------------------------ all of them


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A file server that says nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A folder's address while this lasts."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def every_notebook(root: Path = ROOT) -> list[Path]:
    """The chapters, the exercises as handed out, and the model answers."""
    patterns = ("book/*.ipynb", "exercises/*/*.ipynb", "solutions/*/*.ipynb")
    return [path for pattern in patterns for path in sorted(root.glob(pattern))]


@contextmanager
def checking(notebooks: Sequence[Path], base: Path, jobs: int) -> Iterator[list[Future[Outcome]]]:
    """Check notebooks, ``jobs`` at a time; an outcome to wait for each, in their order."""
    with tempfile.TemporaryDirectory(prefix="colab-wheel-") as folder:
        wheel = build_wheel(base, Path(folder))
        with served(wheel.parent) as address, ThreadPoolExecutor(jobs) as pool:
            url = f"{address}/{wheel.name}"
            yield [pool.submit(check, path, base, wheel, url) for path in notebooks]
            pool.shutdown(cancel_futures=True)


def main() -> int:
    """Make the environment, check each notebook, and name those that failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--constraints", type=Path, default=ROOT / ".ci" / "colab.txt")
    parser.add_argument("--torch", choices=("recorded", "here"), default="recorded")
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1))
    parser.add_argument("notebooks", nargs="*", type=Path)
    arguments = parser.parse_args()
    notebooks = [path.resolve() for path in arguments.notebooks] or every_notebook()
    failed = []
    try:
        base = environment(arguments.constraints, arguments.torch)
        with checking(notebooks, base, arguments.jobs) as outcomes:
            for one in (outcome.result() for outcome in outcomes):
                state = "FAILED" if one.wrong else "passed"
                print(f"{one.name:<50} {state} {one.seconds:6.1f} s", flush=True)
                if one.wrong:
                    failed.append(one.name)
                    print(one.wrong, file=sys.stderr, flush=True)
    except ColabError as error:
        print(f"colab: {error}", file=sys.stderr)
        return 1
    print(f"{len(notebooks) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed or not notebooks else 0


if __name__ == "__main__":
    sys.exit(main())
