"""What is committed: clean notebooks, small files, and nothing of the machine it was made on."""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

# The top level is as short as the README's map says; folders and files, tracked ones only.
TOP = {
    ".ci", ".dockerignore", ".github", ".gitignore", ".pre-commit-config.yaml", "CHANGELOG.md",
    "CITATION.cff", "CONTRIBUTING.md", "Dockerfile", "LICENSE", "LICENSE-CONTENT", "Makefile",
    "README.md", "_config.yml", "_toc.yml", "benchmarks", "book", "constraints.txt", "course",
    "environment.yml", "exercises", "nbgrader_config.py", "pyproject.toml", "solutions", "tests",
}  # fmt: skip
# Package indexes go by whatever the reader's clients are set to; none is named here.
INDEXES = re.compile(r"\b(pypi|pythonhosted|npmjs|debian)\.org\b")
CONTAINER_HOME = "/home/learner/"  # nobody's: where the Dockerfile puts the course
HOMES = re.compile(r"(?<![\w.])/(home|Users|root|work|private|var/folders)/[\w.-]+/")


@pytest.fixture(scope="module")
def texts(tracked, root) -> dict[str, str]:
    """Every tracked file that is text."""
    found = {}
    for path in tracked:
        try:
            found[path.relative_to(root).as_posix()] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    return found


def test_the_top_level_is_what_the_readme_maps(tracked, root, texts):
    top = {path.relative_to(root).parts[0] for path in tracked}
    assert top - TOP == set()
    hidden = {".dockerignore", ".gitignore", ".pre-commit-config.yaml", ".github"}
    mapped = {name.strip("/").split("/")[0] for name in re.findall(
        r"^([\w./-]+)  +\S", texts["README.md"].split("## The tree")[1], re.M)}  # fmt: skip
    assert mapped - {".github"} <= TOP
    assert TOP - hidden - mapped == {"README.md", "LICENSE", "LICENSE-CONTENT"}


def test_readme_names_the_two_commands_and_links_to_what_is_there(texts, root):
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        links = re.findall(r"\]\((?!https?:)([^)#]+)\)", texts[name])
        assert [link for link in links if not (root / link).exists()] == []
    assert "make book" in texts["README.md"]
    assert "make test" in texts["README.md"]


def test_no_file_names_this_machine_or_where_this_clone_lies(texts, root):
    own = {str(root), str(Path.home()) + "/"}
    if len(platform.node()) > 8:  # a machine called "laptop" may well be a word of the prose
        own.add(platform.node())
    wrong = [
        f"{name}: {word}"
        for name, text in texts.items()
        for word in own
        if len(word) > 6 and word in text
    ]
    assert wrong == []


def test_no_file_holds_a_path_of_somebody_s_home_or_a_package_index(texts, root):
    wrong = [
        f"{name}:{text.count(chr(10), 0, found.start()) + 1}: {found[0]}"
        for name, text in texts.items()
        for pattern in (HOMES, INDEXES)
        for found in pattern.finditer(text)
        if found[0] != CONTAINER_HOME and name != "tests/packaging/test_tree.py"
    ]
    assert wrong == []
    dockerfile = (root / "Dockerfile").read_text(encoding="utf-8")
    assert f"WORKDIR {CONTAINER_HOME}" in dockerfile


def test_no_index_that_pip_is_set_to_here_is_named(texts):
    command = [sys.executable, "-m", "pip", "config", "list"]
    settings = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    hosts = set(re.findall(r"https?://([\w.-]+\.[\w.-]+)", settings))
    assert [(n, h) for n, text in texts.items() for h in hosts if h in text] == []


def test_the_course_has_one_title(texts):
    title = "Attention from an average"
    assert f"\ntitle: {title}\n" in texts["_config.yml"]
    other = re.compile(r"attention from (?:an )?average", re.IGNORECASE)
    assert [(n, f) for n, text in texts.items() for f in other.findall(text) if f != title] == []


def test_nothing_large_is_committed(tracked, root):
    sizes = {p.relative_to(root).as_posix(): p.stat().st_size for p in tracked}
    assert {name: size for name, size in sizes.items() if size > 1_000_000} == {}


def test_nothing_third_party_or_built_is_committed(tracked, root):
    parts = {part for path in tracked for part in path.relative_to(root).parts[:-1]}
    assert parts & {"node_modules", "_build", ".venv", "class", "__pycache__"} == set()
    suffixes = {path.suffix for path in tracked}
    assert suffixes & {".woff", ".woff2", ".ttf", ".whl", ".pyc", ".apkg", ".db"} == set()


def notebook(**cell: object) -> dict:
    """A notebook of one code cell."""
    code = {"cell_type": "code", "source": "1", "metadata": {}, "outputs": [], **cell}
    return {"cells": [{"execution_count": None, **code}], "metadata": {}, "nbformat": 4}


@pytest.mark.parametrize(
    "cell",
    [
        {"outputs": [{"output_type": "stream", "name": "stdout", "text": "1"}]},
        {"execution_count": 3},
        {"metadata": {"execution": {"iopub.status.busy": "now"}}},
    ],
)
def test_a_notebook_with_outputs_is_noticed_and_mended(script, tmp_path, monkeypatch, cell):
    module = script("notebooks_clean")
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps(notebook(**cell)), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["notebooks_clean", str(path)])
    assert module.main() == 1
    monkeypatch.setattr(sys, "argv", ["notebooks_clean", "--fix", str(path)])
    assert module.main() == 1  # what was mended has to be looked at and added again
    assert json.loads(path.read_text(encoding="utf-8")) == notebook()
    assert module.main() == 0


def test_a_file_that_is_no_notebook_is_named(script, tmp_path, monkeypatch, capsys):
    path = tmp_path / "a.ipynb"
    path.write_text("<<<<<<< HEAD", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["notebooks_clean", str(path)])
    assert script("notebooks_clean").main() == 1
    assert "a.ipynb: not a notebook" in capsys.readouterr().err


def test_the_committed_notebooks_are_clean(script, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["notebooks_clean"])
    assert script("notebooks_clean").main() == 0
