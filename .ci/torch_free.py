#!/usr/bin/env python3
"""Run the unit tests that need no torch under the other Pythons that this machine has.

    python .ci/torch_free.py [PYTHON ...]

With no name: Python 3.12 and 3.13, on the PATH or among pyenv's versions. Each gets an environment
of its own under _build with every tested version but torch; a test that needs torch is skipped
there, with that reason. Exit status 77 where there is no other Python to be found.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "_build" / "test-reports"
OTHERS = ("3.12", "3.13")
EXTRAS = ("book", "grading", "dev", "bench")  # CI lets no test of a peer be skipped
NONE_FOUND = 77


def runs(python: Path | str, version: str) -> bool:
    """Whether `python` starts and is of this version (pyenv's shims may be there and not start)."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.strip() == version


def others() -> list[tuple[str, Path]]:
    """(version, interpreter) of each other Python here; the newest patch release of each."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    found = []
    for version in OTHERS:
        named = shutil.which(f"python{version}")
        number = [int(part) for part in version.split(".")]
        installed = [
            path / "bin" / "python"
            for path in pyenv.glob(f"{version}.*")
            if re.fullmatch(r"\d+\.\d+\.\d+", path.name)
            and [int(part) for part in path.name.split(".")][:2] == number
        ]
        candidates = [Path(named)] if named else []
        candidates += sorted(installed, key=lambda p: int(p.parts[-3].split(".")[2]), reverse=True)
        for candidate in candidates:
            if candidate.exists() and runs(candidate, version):
                found.append((version, candidate))
                break
    return found


def requirements() -> list[str]:
    """Every direct requirement of the course and its extras, but torch."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = [project["dependencies"], *(project["optional-dependencies"][e] for e in EXTRAS)]
    return [line for one in lists for line in one if not re.match(r"torch\b", line)]


def test(version: str, python: Path) -> int:
    """Make the environment, run the tests in it; returns pytest's exit status."""
    print(f"\n--- Python {version}, without torch ({python})", flush=True)
    folder = ROOT / "_build" / f"python{version}"
    own = folder / "bin" / "python"
    if not own.exists() or not runs(own, version):
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    # Uncompiled: most of what is installed is never imported by these tests.
    pip = [own, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-compile"]
    subprocess.run([*pip, "-c", ROOT / "constraints.txt", *requirements()], check=True)
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "--editable", ROOT], check=True)
    report = REPORTS / f"others-{version}.xml"
    select = "not (slow or book or browser or grading)"
    command = [own, "-m", "pytest", "-q", f"--junitxml={report}", "-m", select, "-r", "fE"]
    return subprocess.run([*command, "-p", "no:cacheprovider"], cwd=ROOT, check=False).returncode


def main() -> int:
    """Test each Python; exit 1 when one fails, 77 when there is none."""
    named = []
    for path in sys.argv[1:]:
        version = next((v for v in OTHERS if runs(path, v)), None)
        if version is None:
            print(f"{path} is none of Python {', '.join(OTHERS)}", file=sys.stderr)
            return 2
        named.append((version, Path(path)))
    found = named or others()
    if not found:
        print(f"none of Python {', '.join(OTHERS)} is on this machine", file=sys.stderr)
        return NONE_FOUND
    results = [test(version, python) for version, python in found]
    return 1 if any(results) else 0


if __name__ == "__main__":
    sys.exit(main())
