"""The workflows, the CI script, the image and the hooks run the project's own commands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

WORKFLOWS = ("ci", "colab-weekly", "pages", "release")
# What a workflow may run besides make: the CI script, the project's scripts, git and GitHub's gh.
COMMAND = re.compile(
    r"make (?P<target>[a-z-]+)|bash \.ci/run|python \.ci/\w+\.py|\.venv/bin/python -m pip wheel|"
    r"\.venv/bin/python -m pip install -q -c constraints\.txt --no-build-isolation --editable|"
    r"test |git config |gh release create "
)


def workflow(root: Path, name: str) -> dict:
    """One workflow; YAML 1.1 reads the key `on` as True."""
    text = (root / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8")
    read = yaml.safe_load(text)
    return {("on" if key is True else key): value for key, value in read.items()}


def targets(root: Path) -> set[str]:
    """The targets of the Makefile."""
    text = (root / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):", text, re.M))


def test_these_are_all_the_workflows(root):
    assert sorted(p.stem for p in (root / ".github/workflows").iterdir()) == sorted(WORKFLOWS)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_runs_the_project_s_own_commands_with_pinned_actions(root, name):
    read = workflow(root, name)
    assert {"name", "on", "permissions", "jobs"} <= set(read)
    for job in read["jobs"].values():
        assert job["timeout-minutes"] <= 90
        steps = job["steps"]
        assert re.fullmatch(r"actions/checkout@v\d+", steps[0]["uses"])
        for step in steps:
            assert ("run" in step) != ("uses" in step)
            assert "continue-on-error" not in step
            if "uses" in step:
                assert re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"])
                continue
            for line in step["run"].splitlines():
                found = COMMAND.match(line)
                assert found, line
                if found["target"]:
                    assert found["target"] in targets(root), line


def test_the_scripts_that_workflows_name_exist(root):
    for name in WORKFLOWS:
        text = (root / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8")
        for path in re.findall(r"\.ci/[\w.]+", text):
            assert (root / path).is_file(), path


def test_ci_covers_every_python(root):
    jobs = workflow(root, "ci")["jobs"]
    assert jobs["full"]["container"]["image"].startswith("python:3.11")
    assert jobs["versions"]["strategy"]["matrix"]["python"] == ["3.12", "3.13"]
    assert "make test\n" in (root / ".ci" / "run").read_text(encoding="utf-8")


def test_the_pages_published_are_those_that_make_book_builds(root):
    steps = workflow(root, "pages")["jobs"]["publish"]["steps"]
    assert any(step.get("run") == "make book PDF=1" for step in steps)
    (upload,) = [step for step in steps if "upload-pages" in step.get("uses", "")]
    assert upload["with"]["path"] == "_build/html"


def test_the_ci_script_is_sound_bash_that_stops_at_an_error(root):
    path = root / ".ci" / "run"
    assert os.access(path, os.X_OK)
    assert subprocess.run(["bash", "-n", path], check=False).returncode == 0
    assert "\nset -euo pipefail\n" in path.read_text(encoding="utf-8")


def test_no_check_is_written_so_that_it_cannot_fail(root):
    places = [root / "Makefile", root / "Dockerfile", root / ".pre-commit-config.yaml"]
    places += [root / ".ci" / "run", *(root / ".github" / "workflows").iterdir()]
    silent = re.compile(r"\|\|\s*(true|:|exit 0)|continue-on-error|^\t-|--exit-zero", re.M)
    assert [p.name for p in places if silent.search(p.read_text(encoding="utf-8"))] == []


def test_the_image_copies_what_set_up_reads(root):
    text = (root / "Dockerfile").read_text(encoding="utf-8")
    assert text.count("\nFROM ") + text.startswith("FROM") == 1
    first, last = text.split("RUN make setup")
    copied = [name for line in re.findall(r"^COPY --chown=learner (.*)$", first, re.M)
              for name in line.split()[:-1]]  # fmt: skip
    assert {"pyproject.toml", "constraints.txt", ".ci/setup_env.py"} <= set(copied)
    assert [name for name in copied if not (root / name).is_file()] == []
    assert "COPY --chown=learner . ." in last


def test_the_hooks_run_the_environment_s_pinned_tools(root):
    config = yaml.safe_load((root / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [repo["repo"] for repo in config["repos"]] == ["local"]
    hooks = config["repos"][0]["hooks"]
    assert {"ruff-check", "ruff-format", "mypy", "notebooks-clean"} <= {h["id"] for h in hooks}
    for hook in hooks:
        assert hook["language"] == "system"
        program = Path(hook["entry"].split()[0])
        assert program.parts[:2] == (".venv", "bin")
        assert (Path(sys.executable).parent / program.name).exists(), program


def test_where_all_tests_run_under_ci_the_peers_are_installed_first(root):
    install = (
        "python -m pip install -q -c constraints.txt --no-build-isolation --editable '.[bench]'"
    )
    script = (root / ".ci" / "run").read_text(encoding="utf-8")
    assert script.index(install) < script.index("make test\n")
    checked = 0
    for name in WORKFLOWS:
        for job in workflow(root, name)["jobs"].values():
            steps = [step.get("run", "") for step in job["steps"]]
            if "make check" in steps:
                checked += 1
                assert steps[steps.index("make check") - 1] == f".venv/bin/{install}", name
    assert checked == 2
