"""Set-up: the Python it asks for, what it does twice, and what an interruption leaves."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import time

import pytest


@pytest.fixture
def setup(script, tmp_path, monkeypatch):
    """setup_env.py over a small clone in a temporary folder; `ran` lists the commands it ran."""
    module = script("setup_env")
    for name, value in {
        "pyproject.toml": "[project]\n",
        "constraints.txt": "torch==2.13.0\n",
        "book/package.json": "{}",
        "book/package-lock.json": "{}",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(value, encoding="utf-8")
    bin_folder = tmp_path / ".venv" / "bin"
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(module, "BIN", bin_folder)
    monkeypatch.setattr(module, "PYTHON", bin_folder / "python")
    monkeypatch.setattr(module, "NPM", tmp_path / "_build" / "npm")
    monkeypatch.setattr(module, "installed_torch", lambda: "2.13.0+cpu")
    monkeypatch.setattr(module, "pip_works", lambda: (bin_folder / "python").exists())
    module.ran = []

    def run(command, **options):
        line = " ".join(str(part) for part in command)
        module.ran.append(line)
        if getattr(module, "fail_at", None) and module.fail_at in line:
            raise module.SetupError("interrupted")
        if "venv" in line.split():
            bin_folder.mkdir(parents=True)
            (bin_folder / "python").symlink_to(sys.executable)
            (bin_folder / "npm").symlink_to(sys.executable)
        if line.endswith("npm ci --no-audit --no-fund"):
            (tmp_path / "_build" / "npm" / "node_modules").mkdir()

    monkeypatch.setattr(module, "run", run)
    return module


def test_it_can_be_read_by_an_old_python(root):
    text = (root / ".ci" / "setup_env.py").read_text(encoding="utf-8")
    assert ast.parse(text, feature_version=(3, 6)).body


def test_a_second_run_does_nothing(setup):
    assert setup.set_up("", "") is True
    assert len(setup.ran) == 5  # venv, the build backend, the course, pip check, npm ci
    setup.ran.clear()
    assert setup.set_up("", "") is False
    assert setup.ran == []


def test_changed_pins_install_again_but_make_no_new_environment(setup):
    setup.set_up("", "")
    setup.ran.clear()
    (setup.ROOT / "constraints.txt").write_text("torch==2.13.0\nx==1\n", encoding="utf-8")
    assert setup.set_up("", "") is True
    assert len(setup.ran) == 3
    assert all("-m pip" in line for line in setup.ran)


@pytest.mark.parametrize("fail_at", ["--editable", "pip check", "npm ci"])
def test_an_interrupted_run_goes_on_where_it_stopped(setup, fail_at):
    setup.fail_at = fail_at
    with pytest.raises(setup.SetupError):
        setup.set_up("", "")
    setup.fail_at = None
    setup.ran.clear()
    assert setup.set_up("", "") is True
    assert any(fail_at in line for line in setup.ran)
    assert not any(" -m venv " in line for line in setup.ran)
    assert setup.set_up("", "") is False


def test_a_half_made_environment_is_made_again(setup):
    (setup.VENV / "bin").mkdir(parents=True)
    (setup.VENV / "bin").rmdir()
    assert setup.set_up("", "") is True
    assert " -m venv --clear " in setup.ran[0]


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="elsewhere torch has no +cpu build"
)
def test_torch_cpu_replaces_another_build_and_keeps_the_right_one(setup, monkeypatch):
    setup.set_up("", "")
    setup.ran.clear()
    assert setup.set_up("", "cpu") is False
    monkeypatch.setattr(setup, "installed_torch", lambda: "2.13.0")
    monkeypatch.setattr(setup.subprocess, "call", lambda *a, **k: 0)
    assert setup.set_up("", "cpu") is True
    assert setup.ran[0].endswith("torch==2.13.0+cpu")
    # Where pip finds no such build, uv is asked, which knows where PyTorch's own index is.
    setup.ran.clear()
    monkeypatch.setattr(setup.subprocess, "call", lambda *a, **k: 1)
    assert setup.set_up("", "cpu") is True
    assert setup.ran[0].endswith(" uv")
    assert setup.ran[1].endswith("--torch-backend cpu torch==2.13.0")


def test_an_unknown_build_of_torch_is_refused(setup):
    with pytest.raises(setup.SetupError, match=r"TORCH=gpu is unknown.*2\.13\.0"):
        setup.set_up("", "gpu")


def test_a_python_outside_the_range_is_named(setup, monkeypatch):
    monkeypatch.setattr(setup, "version_of", lambda python: (3, 10))
    with pytest.raises(setup.SetupError, match=r"PYTHON=python3.10 is Python 3.10; .* 3\.11"):
        setup.find_python("python3.10")
    with pytest.raises(setup.SetupError, match=r"python3 here is Python 3\.10"):
        setup.find_python("")
    monkeypatch.setattr(setup, "version_of", lambda python: None)
    with pytest.raises(setup.SetupError, match="does not run"):
        setup.find_python("/no/such/python")


def test_a_fitting_python_is_found_beside_an_old_python3(setup, monkeypatch):
    versions = {"/bin/python3": (3, 9), "/bin/python3.12": (3, 12)}
    monkeypatch.setattr(setup, "version_of", versions.get)
    names = {"python3": "/bin/python3", "python3.12": "/bin/python3.12"}
    monkeypatch.setattr(setup.shutil, "which", names.get)
    assert setup.find_python("") == "/bin/python3.12"


def test_another_python_than_the_environment_s_is_refused(setup, monkeypatch):
    setup.set_up("", "")
    here = sys.version_info[:2]
    other = (3, 12) if here != (3, 12) else (3, 13)
    monkeypatch.setattr(
        setup, "version_of", lambda python: other if python == "python-other" else here
    )
    with pytest.raises(setup.SetupError, match=r"delete \.venv"):
        setup.set_up("python-other", "")


@pytest.mark.skipif(os.name == "nt", reason="there is no make on Windows, and no lock")
def test_two_set_ups_of_one_clone_wait_for_each_other(root, tmp_path):
    (tmp_path / ".ci").mkdir()
    text = (root / ".ci" / "setup_env.py").read_text(encoding="utf-8")
    (tmp_path / ".ci" / "setup_env.py").write_text(text, encoding="utf-8")
    code = "import setup_env, sys, time; l = setup_env.hold_lock(); print('held', flush=True); "
    folder = tmp_path / ".ci"
    first = subprocess.Popen(
        [sys.executable, "-c", code + "time.sleep(1.5)"], cwd=folder, stdout=subprocess.PIPE
    )
    assert first.stdout.readline() == b"held\n"
    start = time.monotonic()
    second = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    assert time.monotonic() - start > 0.7
    assert "another set-up of this clone is running" in second.stdout
    first.wait(10)
    first.stdout.close()
