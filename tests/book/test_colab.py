"""Each notebook, alone in an empty folder with the wheel, over the versions that Colab has.

The work is that of ``.ci/colab.py``, which says what is tried and what has to come out. Here it
takes the torch of this Python, so that none is fetched; the weekly job takes Colab's.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import IN_CI, ROOT


def load() -> ModuleType:
    """``.ci/colab.py`` as a module."""
    spec = importlib.util.spec_from_file_location("ci_colab", ROOT / ".ci" / "colab.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


colab = load()
NOTEBOOKS = {path.relative_to(ROOT).as_posix(): path for path in colab.every_notebook()}


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> Iterator[dict[str, Future]]:
    """All the notebooks that are asked for, several at a time, each as a promise."""
    pytest.importorskip("torch", reason="torch is not installed here")
    try:
        base = colab.environment(ROOT / ".ci" / "colab.txt", torch="here")
    except colab.ColabError as error:
        reason = f"Colab's versions cannot be installed: {error}"
        if IN_CI:
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    asked = [item.callspec.params.get("name") for item in request.session.items
             if item.path == Path(__file__) and hasattr(item, "callspec")]  # fmt: skip
    names = [name for name in NOTEBOOKS if name in asked]
    with colab.checking([NOTEBOOKS[n] for n in names], base, os.cpu_count() or 1) as found:
        yield dict(zip(names, found, strict=True))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_alone_with_the_wheel_sets_itself_up_and_runs(
    name: str, outcomes: dict[str, Future]
) -> None:
    assert outcomes[name].result().wrong == ""


def test_these_are_all_the_notebooks() -> None:
    kinds = [colab.kind_of(path) for path in NOTEBOOKS.values()]
    assert kinds.count("exercise") == kinds.count("answer") == 13
    assert kinds.count("chapter") == len(list((ROOT / "book").glob("*.ipynb"))) >= 15


# ------------------------------------------------------------------ what it would notice

WHEEL = Path("/downloads/attention_from_average-1.0-py3-none-any.whl")


def cell(text: str = "", raised: str = "") -> dict:
    outputs = [{"output_type": "stream", "text": text}] if text else []
    if raised:
        outputs.append({"output_type": "error", "ename": raised, "traceback": [raised]})
    return {"cell_type": "code", "outputs": outputs}


SAID = cell(f"Installed the course from {WHEEL}\n")


@pytest.mark.parametrize(
    ("cells", "kind", "wrong"),
    [
        ([SAID, cell(), cell("1")], "chapter", ""),
        ([SAID, cell(), cell(raised="NotImplementedError")], "exercise", ""),
        ([cell(), cell()], "chapter", "the set-up cell said ''"),
        ([cell(SAID["outputs"][0]["text"] * 2), cell()], "chapter", "not one line"),
        ([SAID, SAID], "chapter", "did not keep quiet"),
        ([SAID, cell(), cell(raised="ImportError")], "exercise", "cell 3 raised ImportError"),
        ([SAID, cell(), cell(raised="NotImplementedError")], "answer", "cell 3 raised"),
        ([SAID, cell(), cell("1")], "exercise", "no cell asked for the learner's answer"),
    ],
)
def test_a_run_is_judged_by_what_its_cells_said(cells: list[dict], kind: str, wrong: str) -> None:
    found = colab.judge(cells, kind, 0, WHEEL)
    assert found.startswith(wrong) if not wrong else wrong in found
    assert bool(found) == bool(wrong)


def test_a_notebook_that_begins_with_another_cell_is_refused() -> None:
    with pytest.raises(colab.ColabError, match="not the set-up cell"):
        colab.set_up_at([{"cell_type": "code", "source": "import course"}])
