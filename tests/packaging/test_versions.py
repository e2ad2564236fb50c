"""One set of versions: pyproject.toml, constraints.txt, environment.yml and what is installed."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

import course

# The extras that make setup installs, and environment.yml with it.
EXTRAS = ("book", "grading", "dev")


def normal(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def direct(project: dict, *extras: str) -> list[Requirement]:
    """The requirements of the package itself and of some extras."""
    lists = [project["dependencies"], *(project["optional-dependencies"][e] for e in extras)]
    return [Requirement(line) for one in lists for line in one]


@pytest.fixture
def whole_environment() -> None:
    """For tests of what set-up installed: not where the course is tested without torch."""
    pytest.importorskip("torch", reason="this environment was made without torch")


def test_every_requirement_is_pinned_within_its_range(project, pins):
    for requirement in direct(project, *project["optional-dependencies"]):
        version = pins[normal(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement} and {version}"


def test_what_colab_brings_is_within_the_package_s_ranges(project, root):
    ranges = {normal(r.name): r.specifier for r in direct(project)}
    text = (root / ".ci" / "colab.txt").read_text(encoding="utf-8")
    lines = [line.split("==") for line in text.splitlines() if line and not line.startswith("#")]
    shared = [(name, v.replace("*", "0")) for name, v in lines if normal(name) in ranges]
    assert len(shared) >= 5
    for name, version in shared:
        assert ranges[normal(name)].contains(version), f"{name} {version} {ranges[name]}"


def test_the_package_pins_nothing_exactly(project):
    exact = [str(r) for r in direct(project) if any(s.operator == "==" for s in r.specifier)]
    assert exact == []


@pytest.mark.usefixtures("whole_environment")
def test_the_pins_are_complete_and_are_what_is_installed(project, pins):
    """Walk from the direct requirements through what each installed package asks for here."""
    pending = [(r, r.extras) for r in direct(project, *EXTRAS)]
    seen: set[tuple[str, frozenset[str]]] = set()
    wrong = []
    while pending:
        requirement, extras = pending.pop()
        key = (normal(requirement.name), frozenset(extras))
        if key in seen:
            continue
        seen.add(key)
        found = metadata.distribution(requirement.name)
        here = found.version.split("+")[0]
        if pins.get(key[0]) != here and not key[0].startswith(("nvidia-", "triton", "cuda-")):
            wrong.append(f"{key[0]}: installed {here}, pinned {pins.get(key[0])}")
        for line in found.requires or []:
            further = Requirement(line)
            if further.marker is None or any(
                further.marker.evaluate({"extra": extra}) for extra in (*extras, "")
            ):
                pending.append((further, further.extras))
    assert wrong == []
    assert len(seen) > 100


def test_constraints_hold_names_and_versions_only(root):
    lines = (root / "constraints.txt").read_text(encoding="utf-8").splitlines()
    body = [line for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!]+", line) for line in body)
    names = [normal(line.split("==")[0]) for line in body]
    assert sorted(names) == sorted(set(names))


def test_the_package_names_the_pythons_it_is_tested_with(project, root):
    allowed = SpecifierSet(project["requires-python"])
    said = {c.rsplit(" ", 1)[1] for c in project["classifiers"] if re.search(r":: 3\.\d+$", c)}
    assert {v for v in ("3.10", "3.11", "3.12", "3.13", "3.14") if Version(v) in allowed} == said
    tested = (root / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    assert all(version in tested for version in said)


def test_the_version_is_the_same_everywhere(root):
    citation = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", changes, re.M)
    assert newest is not None
    assert str(citation["version"]) == course.__version__ == newest[1]


@pytest.fixture(scope="module")
def conda(root: Path) -> dict:
    """environment.yml, read."""
    return yaml.safe_load((root / "environment.yml").read_text(encoding="utf-8"))


def pip_section(conda: dict) -> list[str]:
    """The lines that conda hands to pip."""
    (section,) = [part["pip"] for part in conda["dependencies"] if isinstance(part, dict)]
    return section


def test_environment_yml_holds_the_same_packages_at_the_same_versions(conda, project, pins):
    expected = sorted(
        f"{normal(r.name)}{''.join(f'[{e}]' for e in r.extras)}=={pins[normal(r.name)]}"
        for r in {(normal(r.name)): r for r in direct(project, *EXTRAS)}.values()
    )
    options = ["--constraint constraints.txt", "--editable ."]
    section = pip_section(conda)
    assert [line for line in section if line.startswith("-")] == options
    assert [line for line in section if not line.startswith("-")] == expected
    (python,) = [d for d in conda["dependencies"] if str(d).startswith("python=")]
    assert Version(python.split("=")[1]) in SpecifierSet(project["requires-python"])


@pytest.mark.usefixtures("whole_environment")
def test_environment_yml_s_pip_section_resolves(conda, root, tmp_path):
    """As conda does it: the section as a requirements file, pip run from the repository."""
    lines = [
        line.replace("constraints.txt", str(root / "constraints.txt"))
        for line in pip_section(conda)
    ]
    file = tmp_path / "condaenv.requirements.txt"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-build-isolation"]
    command += ["--disable-pip-version-check", "-r", str(file)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "Obtaining file://" in done.stdout
