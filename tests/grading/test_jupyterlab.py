"""nbgrader in the resolved JupyterLab, in a browser: create, validate, autograde, grade by hand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader.api import Gradebook

from tests.grading.lab import RIGHT, ROOT, WRONG, Lab, find

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.timeout(900)]
PATIENCE = 240_000  # milliseconds: a cold JupyterLab on a busy machine

SCRIPT = """<script>document.title = 'OWNED'</script>
<img src="x" onerror="document.title = 'OWNED'"> Hello from the answer."""


@contextmanager
def jupyterlab(root: Path, home: Path) -> Iterator[str]:
    """A JupyterLab in the course's folder, with a home of its own; its address."""
    names = {"HOME": ".", "JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data",
             "JUPYTER_RUNTIME_DIR": "runtime", "IPYTHONDIR": "ipython"}  # fmt: skip
    folders = {name: str(home / folder) for name, folder in names.items()}
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--port=0",
        "--IdentityProvider.token=", "--ServerApp.password=", f"--ServerApp.root_dir={root}",
        "--LabApp.news_url=", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    log = home / "lab.log"
    with log.open("w") as handle:
        env = {**os.environ, "PYTHONPATH": str(ROOT), **folders}
        process = subprocess.Popen(command, cwd=root, stdout=handle, stderr=handle, env=env)
    try:
        end = time.monotonic() + 180
        while not (found := list((home / "runtime").glob("jpserver-*.json"))):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, "JupyterLab did not start within three minutes"
            time.sleep(0.3)
        time.sleep(1)
        address = str(json.loads(found[0].read_text())["url"])
        with urllib.request.urlopen(address + "api/status", timeout=60):
            yield address
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory, browser: Any, parent: Any) -> Iterator[Any]:
    """A lab with two graded learners and one who is not, and its JupyterLab."""
    home = tmp_path_factory.mktemp("jupyter")
    lab = Lab(home / "course")
    lab.submit("ann", lab.notebook(RIGHT))
    hostile = lab.notebook(WRONG)
    find(hostile, "essay").source = SCRIPT
    hostile.cells.append(nbformat.v4.new_markdown_cell(SCRIPT))
    lab.submit("bob", hostile)
    assert lab.autograde()["success"]
    lab.submit("eve", lab.notebook(RIGHT))
    with jupyterlab(lab.root, home) as address:
        yield lab, address, browser


def test_create_assignment_shows_points_and_ids(course: Any) -> None:
    _, address, browser = course
    page = browser.new_page()
    page.goto(f"{address}lab/tree/solutions/tiny/tiny.ipynb?reset", timeout=PATIENCE)
    page.locator(".jp-CodeCell .jp-InputArea-editor").first.wait_for(timeout=PATIENCE)
    page.get_by_text("Create Assignment", exact=True).first.click(timeout=PATIENCE)
    panel = page.locator(".nbgrader-CreateAssignmentWidget, .nbgrader-NotebookPanelWidget").first
    panel.wait_for(timeout=PATIENCE)
    total = page.locator(".nbgrader-TotalPointsInput, input[type=number]").first
    assert total.input_value() == "12"
    fields = page.locator(".nbgrader-CellId:not(.nbgrader-mod-uneditable) input")
    ids = [field.input_value() for field in fields.all()]
    assert ids == ["answer", "visible", "hidden", "partial", "essay"]
    page.close()


def test_validate_tells_a_learner_what_fails(course: Any) -> None:
    lab, address, browser = course
    nbformat.write(lab.notebook(WRONG), lab.root / "mine.ipynb")
    page = browser.new_page()
    page.goto(f"{address}lab/tree/mine.ipynb?reset", timeout=PATIENCE)
    page.locator(".jp-CodeCell .jp-InputArea-editor").first.wait_for(timeout=PATIENCE)
    page.get_by_text("Validate", exact=True).first.click(timeout=PATIENCE)
    dialog = page.locator(".jp-Dialog")
    dialog.get_by_text("Validation Results").first.wait_for(timeout=PATIENCE)
    assert "The following cell failed" in dialog.inner_text()
    assert "one and one is two" in dialog.inner_text()
    page.close()


def test_formgrader_autogrades_in_the_sandbox(course: Any) -> None:
    lab, address, browser = course
    page = browser.new_page()
    page.goto(f"{address}formgrader/manage_submissions/tiny", timeout=PATIENCE)
    row = page.locator("tr", has=page.get_by_text("eve", exact=True))
    row.locator("td.autograde a").click(timeout=PATIENCE)
    page.get_by_text("Successfully autograded").first.wait_for(timeout=PATIENCE)
    assert lab.total("eve") == 10
    assert list((lab.root / "class/records/eve/tiny").glob("*.json"))
    page.close()


def test_formgrader_shows_answers_without_running_them_and_takes_scores(course: Any) -> None:
    lab, address, browser = course
    page = browser.new_page()
    page.goto(f"{address}formgrader/gradebook/tiny/tiny", timeout=PATIENCE)
    with Gradebook(lab.room.db_url) as gradebook:
        number = gradebook.find_submission_notebook("tiny", "tiny", "bob").id
    page.goto(f"{address}formgrader/submissions/{number}", timeout=PATIENCE)
    page.get_by_text("Hello from the answer.").first.wait_for(timeout=PATIENCE)
    page.wait_for_timeout(1000)
    assert page.title() != "OWNED"
    assert page.locator("#notebook-container script").count() == 0
    field = page.locator("input#essay")
    field.fill("1.5")
    field.press("Tab")
    end = time.monotonic() + 60
    score = None
    while score is None and time.monotonic() < end:
        time.sleep(0.3)
        with Gradebook(lab.room.db_url) as gradebook:
            score = gradebook.find_grade("essay", "tiny", "tiny", "bob").manual_score
    assert score == 1.5
    page.close()
