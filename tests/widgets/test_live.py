"""With a kernel: JupyterLab's own page, and the versions of the libraries that Colab has."""

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

from course.widgets import ScaledSoftmax
from tests.widgets import harness
from tests.widgets.cases import CASES

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.timeout(2400)]

# As last recorded in Colab; nothing else of the course is needed to show a widget.
COLAB = ["ipywidgets==7.7.1", "anywidget==0.9.21", "ipython==7.34.0", "ipykernel", "numpy"]

LINKED = """\
import ipywidgets
from course.widgets import ScaledSoftmax
widget = ScaledSoftmax(d_k=64)
slider = ipywidgets.IntSlider(value=64, min=4, max=1024, description="d_k")
link = ipywidgets.{how}((slider, "value"), (widget, "d_k"))
ipywidgets.VBox([slider, widget])"""


@contextmanager
def jupyterlab(folder: Path) -> Iterator[str]:
    """A JupyterLab on this machine, with a home of its own; gives its address."""
    env = {
        **os.environ,
        "PYTHONPATH": str(harness.ROOT),
        "HOME": str(folder),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "IPYTHONDIR": str(folder / "ipython"),
    }
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--port=0",
        "--IdentityProvider.token=", "--ServerApp.password=", f"--ServerApp.root_dir={folder}",
        "--LabApp.news_url=", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    with (folder / "lab.log").open("w") as log:
        process = subprocess.Popen(command, env=env, stdout=log, stderr=log)
    try:
        for _ in range(240):
            found = list((folder / "runtime").glob("jpserver-*.json"))
            if found:
                address = json.loads(found[0].read_text(encoding="utf-8"))["url"]
                with urllib.request.urlopen(address + "api/status", timeout=10):
                    break
            assert process.poll() is None, (folder / "lab.log").read_text(encoding="utf-8")
            time.sleep(0.5)
        else:
            raise AssertionError("JupyterLab did not start within two minutes")
        yield address
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.parametrize("how", ["jslink", "link"])
def test_in_jupyterlab_it_is_tied_to_an_ordinary_slider(
    how: str, tmp_path: Path, browser: Any
) -> None:
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell(LINKED.format(how=how)),
            nbformat.v4.new_code_cell("print(widget.d_k, slider.value)"),
        ],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(notebook, tmp_path / "live.ipynb")
    with jupyterlab(tmp_path) as address:
        page = browser.new_context(viewport={"width": 1300, "height": 1300}).new_page()
        page.goto(f"{address}lab/tree/live.ipynb?reset")
        page.locator(".jp-CodeCell .jp-InputArea-editor").first.click(timeout=90_000)
        page.wait_for_timeout(1500)
        root = page.locator('.course-widget[data-widget="ScaledSoftmax"][data-ready]').first
        for attempt in range(4):  # the kernel may still be starting
            page.locator(".jp-CodeCell .jp-InputArea-editor").first.click()
            page.keyboard.press("Control+Enter")
            try:
                root.wait_for(timeout=20_000)
                break
            except Exception:
                assert attempt < 3, page.locator(".jp-Cell-outputArea").all_inner_texts()
        widget = harness.Widget(page, root)
        twin = ScaledSoftmax(d_k=64)
        widget.assert_as_python(twin)

        # The ordinary slider moves the picture …
        handle = page.locator(
            ".widget-slider .noUi-handle, .jupyter-widget-slider .noUi-handle"
        ).first
        handle.focus()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        page.wait_for_timeout(800)
        assert widget.traits(["d_k"])["d_k"] == 67
        widget.assert_as_python(twin)

        # … and the picture the slider; JupyterLab does not take its arrow keys.
        widget.drag(widget.control("d_k"), 1.0)
        page.wait_for_timeout(800)
        number = page.locator(".widget-readout").first
        assert number.inner_text().replace(",", "") == "1024"
        widget.control("d_k").focus()
        page.keyboard.press("ArrowLeft")
        page.wait_for_timeout(800)
        assert number.inner_text().replace(",", "") == "861"
        widget.assert_as_python(twin)

        # The kernel knows, too.
        page.locator(".jp-CodeCell .jp-InputArea-editor").nth(1).click()
        page.keyboard.press("Control+Enter")
        said = page.locator(".jp-OutputArea-output pre").last
        said.filter(has_text="861").wait_for(timeout=20_000)
        assert said.inner_text().split() == ["861", "861"]
        page.context.close()


def test_with_colabs_versions_the_page_is_alive(
    tmp_path: Path, browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = tmp_path / "colab"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True, timeout=120)
    python = environment / "bin" / "python"
    install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *COLAB]
    subprocess.run(install, check=True, timeout=1500)
    spec = tmp_path / "share" / "kernels" / "colab"
    spec.mkdir(parents=True)
    kernel = {
        "argv": [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "colab",
        "language": "python",
        "env": {"PYTHONPATH": str(harness.ROOT)},
    }
    spec.joinpath("kernel.json").write_text(json.dumps(kernel), encoding="utf-8")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share"))
    versions = (
        "import anywidget, IPython, ipywidgets\n"
        "print(ipywidgets.__version__, anywidget.__version__, IPython.__version__)"
    )
    cells = [versions, harness.IMPORTS, *[case.code for case in CASES]]
    notebook = harness.execute(cells, tmp_path, kernel="colab")
    assert notebook["cells"][0]["outputs"][0]["text"] == ["7.7.1 0.9.21 7.34.0\n"]
    slugs = [case.slug for case in CASES]
    harness.split(harness.as_the_book(notebook), slugs, tmp_path / "source")
    pages = harness.build_html(tmp_path / "source")
    with harness.serve(pages) as site:
        for case in CASES:
            with harness.Page(browser) as page:
                widget = page.open(f"{site}/{case.slug}.html", case.name)
                twin = case.make()
                widget.work(case.moves[0])
                widget.assert_as_python(twin)
                fresh = case.make()  # the move was felt: some trait is not as it was
                names = harness.PUBLIC(twin)
                assert any(getattr(twin, n) != getattr(fresh, n) for n in names), case.slug
