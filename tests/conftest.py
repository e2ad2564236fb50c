"""What every test may use: the corpus, the tools a machine may lack, hypothesis settings.

Set ``COURSE_CORPUS`` to tiny Shakespeare's ``input.txt`` for the tests that need the real text; the
others run on the built-in grammar. Under ``CI=true`` a missing tool is a failure, not a skip.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from course.lean import leave_out_grammars

leave_out_grammars()  # before a test loads nbformat

# A shell starts its background jobs with SIGINT ignored, and their children inherit that; the tests
# of an interruption need it felt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent
IN_CI = os.environ.get("CI") == "true"

# Names a tool goes by on the systems we know, and how to get it.
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OTHER_NAMES = {"chromium": CHROMIUM}
PACKAGES = {
    "bwrap": "bubblewrap",
    "initdb": "postgresql",
    "pg_ctl": "postgresql",
    "postgres": "postgresql",
}

os.environ.setdefault("MPLBACKEND", "Agg")
# Programs of this environment (nbgrader, alembic, node) before those of the system.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def pytest_configure(config: pytest.Config) -> None:
    """Threads, a cache folder of this run's own, and hypothesis's settings."""
    # Before torch is imported: pytest-xdist's workers inherit it, and each takes its share.
    workers = getattr(config.option, "numprocesses", None) or 1
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))
    # No test reads what an older version of the code left in the cache.
    if "COURSE_CACHE" not in os.environ:
        folder = tempfile.mkdtemp(prefix="course-tests-")
        os.environ["COURSE_CACHE"] = folder
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        config.add_cleanup(lambda: os.environ.pop("COURSE_CACHE", None))
    try:
        from hypothesis import settings
    except ModuleNotFoundError:
        return
    # A slow machine is no failure; in CI the same examples every time.
    settings.register_profile("course", deadline=None, derandomize=IN_CI, print_blob=True)
    settings.load_profile("course")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything under tests/grading carries the marker `grading`."""
    for item in items:
        if item.path.is_relative_to(ROOT / "tests" / "grading"):
            item.add_marker(pytest.mark.grading)


# Under a Python for which no torch is installed, what needs it is skipped, with that reason.
WITHOUT_TORCH = importlib.util.find_spec("torch") is None
NEEDS_TORCH = re.compile(r"No module named 'torch['.]")


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """A test file that cannot be imported without torch counts as skipped."""
    outcome = yield
    report = outcome.get_result()
    if WITHOUT_TORCH and report.failed and NEEDS_TORCH.search(str(report.longrepr)):
        report.outcome, report.result = "skipped", []
        report.longrepr = (str(collector.path), 0, "Skipped: torch is not installed here")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """So does a test that imports torch while it runs."""
    outcome = yield
    report = outcome.get_result()
    error = call.excinfo.value if call.excinfo else None
    if WITHOUT_TORCH and isinstance(error, ImportError) and NEEDS_TORCH.search(str(error)):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, "Skipped: torch is not installed here")


def find_tool(name: str) -> Path | None:
    """Where a program is, under any of the names it goes by; PostgreSQL hides its own."""
    for other in OTHER_NAMES.get(name, (name,)):
        found = shutil.which(other)
        if found:
            return Path(found)
    hidden = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return hidden[-1] if hidden else None


def require_tool(name: str) -> Path:
    """The path of a program; without it the test is skipped, or fails under ``CI=true``."""
    found = find_tool(name)
    if found is not None:
        return found
    reason = f"{name} is not on this machine (apt-get install {PACKAGES.get(name, name)})"
    if IN_CI:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(name="require_tool", scope="session")
def _require_tool() -> Callable[[str], Path]:
    """The function :func:`require_tool`, for tests that ask for it by name."""
    return require_tool


@pytest.fixture(scope="session")
def corpus_path() -> Path:
    """Tiny Shakespeare on disk, from ``COURSE_CORPUS``; the test is skipped where it is not there.

    Tests that can run on the built-in grammar should, and not ask for this.
    """
    given = os.environ.get("COURSE_CORPUS")
    if not given:
        pytest.skip("COURSE_CORPUS is not set: this test needs the tiny Shakespeare text")
    path = Path(given)
    if not path.is_file():
        pytest.fail(f"COURSE_CORPUS={given} is not a file", pytrace=False)
    return path


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One headless Chromium for all tests of a process: Playwright allows no second one."""
    from tests.widgets.harness import chromium

    with chromium() as running:
        yield running
