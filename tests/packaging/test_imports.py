"""What a part of the package may import, and what importing it may bring along."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

COURSE = Path(__file__).resolve().parents[2] / "course"
# Floors at or below experiments import these and the standard library, nothing else.
LIGHT = {"torch", "numpy", "regex", "tqdm", "course"}
# Optional, imported where it is used, and named in the error where it is missing.
OPTIONAL = {"parallel.py": {"distributed"}}
HEAVY = (
    "matplotlib",
    "ipywidgets",
    "anywidget",
    "nbgrader",
    "IPython",
    "jupyter_client",
    "distributed",
)


def floors() -> list[list[str]]:
    """The floors of pyproject.toml, highest first."""
    text = (COURSE.parent / "pyproject.toml").read_text(encoding="utf-8")
    (contract,) = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    return [re.findall(r"\w+", layer) for layer in contract["layers"]]


def light_modules() -> set[str]:
    """The names of the modules and packages at or below `experiments`."""
    names = floors()
    first = names.index(["experiments"])
    return {name for floor in names[first:] for name in floor}


def sources() -> list[Path]:
    """Every Python file of the package."""
    return sorted(COURSE.rglob("*.py"))


def part_of(path: Path) -> str:
    """The module or package directly under course that a file belongs to."""
    return path.relative_to(COURSE).parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> set[str]:
    """The first names of everything a file imports, wherever in it."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


def hidden_imports(tree: ast.AST) -> list[str]:
    """The ways of importing that import-linter does not see, or that the package does not use."""
    found = []
    for node in ast.walk(tree):
        where = f"line {getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import):
            found += [
                f"{where}: import {a.name}" for a in node.names if a.name.startswith("course.")
            ]
        elif isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            if node.level:
                found.append(f"{where}: a relative import")
            if node.module == "importlib" and "import_module" in names:
                found.append(f"{where}: importlib.import_module")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = f"{node.value.id}.{node.attr}"
            dunder = node.attr.startswith("__")
            if name == "importlib.import_module" or (node.value.id == "course" and not dunder):
                found.append(f"{where}: {name}")
        elif isinstance(node, ast.Name) and node.id == "__import__":
            found.append(f"{where}: __import__")
    return found


@pytest.mark.parametrize(
    "text",
    [
        "import course.figures",
        "import course\ncourse.figures.style",
        "import importlib\nimportlib.import_module('course.figures')",
        "from importlib import import_module",
        "from . import figures",
        "__import__('course.figures')",
    ],
)
def test_each_hidden_way_of_importing_is_noticed(text):
    assert hidden_imports(ast.parse(text))


def test_the_package_imports_openly():
    """But for the two on top, which may import anything, and do by name: all lies below them."""
    found = {
        str(path.relative_to(COURSE)): hidden_imports(ast.parse(path.read_text(encoding="utf-8")))
        for path in sources()
        if part_of(path) not in ("__main__", "grading")
    }
    assert {path: hits for path, hits in found.items() if hits} == {}
    assert len(found) > 10


def test_up_to_experiments_only_torch_numpy_regex_and_tqdm_are_imported():
    light = light_modules()
    wrong = {}
    for path in sources():
        if part_of(path) in light:
            names = imported(ast.parse(path.read_text(encoding="utf-8")))
            place = str(path.relative_to(COURSE))
            strange = names - LIGHT - set(sys.stdlib_module_names) - OPTIONAL.get(place, set())
            if strange:
                wrong[place] = sorted(strange)
    assert wrong == {}


def in_new_python(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter, from the repository's root."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=COURSE.parent, capture_output=True, text=True, check=False)


def test_import_course_loads_nothing_heavy():
    done = in_new_python(
        "import sys, course\n"
        "print(sorted({m.split('.')[0] for m in sys.modules} - set(sys.stdlib_module_names)))"
    )
    assert done.returncode == 0, done.stderr
    loaded = set(ast.literal_eval(done.stdout)) - {"course", "__main__"}
    assert loaded & {"torch", "numpy", *HEAVY} == set()


def test_up_to_experiments_everything_imports_without_the_heavy_packages():
    pytest.importorskip("torch", reason="torch is not installed here")
    code = f"""
import importlib, pkgutil, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {HEAVY!r}:
            raise ModuleNotFoundError(f"{{name}} is blocked", name=name)

sys.meta_path.insert(0, Blocker())
import course
light = {sorted(light_modules())!r}
names = [m.name for m in pkgutil.walk_packages(course.__path__, "course.", onerror=lambda n: None)
         if m.name.split(".")[1] in light]
for name in names:
    importlib.import_module(name)
print(len(names))
"""
    done = in_new_python(code)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[-1]) >= 10
