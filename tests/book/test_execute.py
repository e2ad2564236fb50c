"""The runner: what it runs, what it keeps, what it says where a notebook fails."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.book import minibook
from tests.book.minibook import PARAMETERS, SETUP, code, md

pytestmark = [pytest.mark.book, pytest.mark.timeout(900)]

RAISES = "def head(x):\n    raise ValueError(f'no head for {x}')\n\nhead(41 + 1)"


def copy_of(root: Path, name: str) -> dict:
    text = (root / "_build" / "executed" / "book" / name).read_text(encoding="utf-8")
    return dict(json.loads(text))


def results(notebook: dict) -> list[str]:
    """The plain text of all results."""
    return [
        "".join(output["data"]["text/plain"])
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if output["output_type"] == "execute_result"
    ]


def test_a_notebook_that_raises_is_named_with_cell_source_and_traceback(book: Path) -> None:
    minibook.notebook(book / "book" / "01-bad.ipynb", md("# Bad"), SETUP, PARAMETERS, code(RAISES))
    done = minibook.execute(book)
    assert done.returncode == 1
    assert "book/01-bad.ipynb, cell 4:" in done.stdout
    assert "    raise ValueError(f'no head for {x}')" in done.stdout
    assert "ValueError: no head for 42" in done.stdout
    assert "1 of 2 notebooks failed: book/01-bad.ipynb" in done.stdout
    # the other one is done; what the failed one had reached can be looked at
    assert results(copy_of(book, "intro.ipynb")) == ["42"]
    assert not (book / "_build" / "executed" / "book" / "01-bad.ipynb").exists()
    reached = copy_of(book, "01-bad.failed.ipynb")
    assert reached["cells"][3]["outputs"][0]["ename"] == "ValueError"


def test_a_kernel_that_dies_is_named_too(book: Path) -> None:
    minibook.notebook(
        book / "book" / "01-dies.ipynb", md("# Dies"), code("1"), code("import os\nos._exit(3)")
    )
    done = minibook.execute(book, "book/01-dies.ipynb")
    assert done.returncode == 1
    assert "book/01-dies.ipynb, cell 3:" in done.stdout
    assert "os._exit(3)" in done.stdout


def test_what_is_up_to_date_is_not_run_again_and_what_changed_is(book: Path) -> None:
    assert minibook.execute(book).returncode == 0
    copy = book / "_build" / "executed" / "book" / "intro.ipynb"
    first = copy.stat().st_mtime_ns

    again = minibook.execute(book)
    assert again.returncode == 0
    assert "1 notebooks, all up to date." in again.stdout
    assert copy.stat().st_mtime_ns == first

    # another seed is another result; so is a change of the package
    assert "Running 1 notebooks" in minibook.execute(book, "--seed", "1").stdout
    module = book / "course" / "averaging.py"
    module.write_text(module.read_text(encoding="utf-8") + "\nX = 1\n", encoding="utf-8")
    assert "Running 1 notebooks" in minibook.execute(book, "--seed", "1").stdout


def test_an_interrupted_run_keeps_what_is_finished_and_goes_on(book: Path) -> None:
    minibook.notebook(
        book / "book" / "01-slow.ipynb",
        md("# Slow"),
        code(
            "import time, pathlib\nwhile not pathlib.Path('go').exists():\n    time.sleep(0.1)\n5"
        ),
    )
    script = str(minibook.REPOSITORY / "book" / "_ext" / "execute.py")
    running = subprocess.Popen(
        [sys.executable, script, "--root", str(book), "--jobs", "2"],
        cwd=book,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # its own group, so that the signal reaches it as Ctrl-C does
    )
    copy = book / "_build" / "executed" / "book" / "intro.ipynb"
    end = time.monotonic() + 240
    while not copy.exists() and time.monotonic() < end:
        time.sleep(0.2)
    first = copy.stat().st_mtime_ns
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=120)
    assert running.returncode == 130, said
    assert "what is finished is kept" in said

    (book / "book" / "go").touch()
    done = minibook.execute(book)
    assert done.returncode == 0, done.stdout
    assert "Running 1 notebooks (1 up to date)" in done.stdout
    assert copy.stat().st_mtime_ns == first
    assert results(copy_of(book, "01-slow.ipynb")) == ["5"]


def test_parameters_reach_the_notebook_and_leave_no_trace(book: Path) -> None:
    minibook.notebook(
        book / "book" / "intro.ipynb",
        md("# P"),
        PARAMETERS,
        code("budget, device, seed"),
        code("import os\nos.getcwd(), os.environ['IPYTHONDIR'], os.environ['MPLCONFIGDIR']"),
        code("import sys, warnings\nwarnings.warn('mind the step')\nprint(sys.prefix)"),
    )
    options = ("--budget", "full", "--seed", "7", "--device", "cpu")
    assert minibook.execute(book, *options).returncode == 0
    executed = copy_of(book, "intro.ipynb")
    assert len(executed["cells"]) == 5, "no cell was added"
    assert results(executed)[0] == "('full', 'cpu', 7)"
    text = json.dumps(executed)
    for path in (str(book), sys.prefix, str(Path.home()), "ipykernel_"):
        assert f"{path}/" not in text or path == "/", path
    assert "mind the step" in text
    assert not any("execution" in cell["metadata"] for cell in executed["cells"])
    assert "papermill" not in executed["metadata"]


def test_two_clones_at_once_do_not_disturb_each_other(book: Path, tmp_path: Path) -> None:
    other = minibook.make(tmp_path / "other", "format: jb-book\nroot: book/intro\n")
    for root, number in ((book, 1), (other, 2)):
        constants = root / "course" / "which_clone.py"
        constants.write_text(f"NUMBER = {number}\n", encoding="utf-8")
        minibook.notebook(
            root / "book" / "intro.ipynb",
            md("# Which"),
            code("from course.which_clone import NUMBER\nNUMBER"),
        )
    script = str(minibook.REPOSITORY / "book" / "_ext" / "execute.py")
    both = [
        subprocess.Popen(
            [sys.executable, script, "--root", str(root)], cwd=root, stderr=subprocess.DEVNULL
        )
        for root in (book, other)
    ]
    assert [running.wait(timeout=240) for running in both] == [0, 0]
    assert results(copy_of(book, "intro.ipynb")) == ["1"]
    assert results(copy_of(other, "intro.ipynb")) == ["2"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["book/none.ipynb"], "book/none.ipynb: no notebook there"),
        (["../elsewhere"], "is not inside"),
        (["--jobs", "0"], "--jobs must be at least 1, not 0"),
        (["--budget", "huge"], "invalid choice: 'huge'"),
    ],
)
def test_bad_input_is_named(book: Path, options: list[str], said: str) -> None:
    done = minibook.execute(book, *options)
    assert done.returncode == 2
    assert said in done.stdout
