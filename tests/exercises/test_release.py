"""Solutions and releases: regenerated identically, nothing hidden in them, every answer right."""

import ast
import contextlib
import importlib.util
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from course.checks import registry

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS, EXERCISES = ROOT / "solutions", ROOT / "exercises"
SLUGS = list(registry.SLUGS)
# Ids of released cells: gradebooks know them. Add new ones, never change one.
GRADE_IDS = json.loads((Path(__file__).parent / "grade_ids.json").read_text())


def cells(folder, slug):
    return json.loads((folder / slug / f"{slug}.ipynb").read_text())["cells"]


def source(cell):
    return "".join(cell["source"])


def meta(cell):
    return cell["metadata"].get("nbgrader", {})


def load(path):
    spec = importlib.util.spec_from_file_location("regenerate", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def regenerate():
    pytest.importorskip("nbgrader")
    return load(SOLUTIONS / "regenerate.py")


def test_private_solutions_release_into_the_course_one_stands_in(tmp_path, monkeypatch):
    (tmp_path / "private").mkdir()
    (tmp_path / "course" / "book").mkdir(parents=True)
    (tmp_path / "course" / "nbgrader_config.py").write_text("")
    moved = tmp_path / "private" / "regenerate.py"
    moved.write_text((SOLUTIONS / "regenerate.py").read_text())
    monkeypatch.chdir(tmp_path / "course" / "book")
    module = load(moved)
    assert (tmp_path / "private", tmp_path / "course" / "exercises") == (
        module.SOURCE,
        module.RELEASE,
    )
    monkeypatch.chdir(tmp_path)
    assert load(SOLUTIONS / "regenerate.py").RELEASE == EXERCISES


def test_thirteen_assignments_and_no_others():
    for folder in (SOLUTIONS, EXERCISES):
        found = {p.parent.name for p in folder.glob("*/*.ipynb")}
        assert found == set(SLUGS)
    assert len(SLUGS) == 13


@pytest.mark.parametrize("slug", SLUGS)
def test_an_exercise_calls_its_chapter_by_the_chapter_s_own_title(slug):
    named = re.search(r'\*Goes with chapter (\d+), "(.*?)"\.\*', source(cells(SOLUTIONS, slug)[0]))
    (chapter,) = (ROOT / "book").glob(f"{int(named[1]):02}-*.ipynb")
    first = source(json.loads(chapter.read_text(encoding="utf-8"))["cells"][0])
    assert first.splitlines()[0] == f"# {named[2]}"


@pytest.mark.timeout(600)
def test_the_release_is_what_the_solutions_give(regenerate):
    fresh = regenerate.generate(regenerate.slugs())
    for name, text in fresh.items():
        assert (EXERCISES / name).read_text() == text, (
            f"run python solutions/regenerate.py ({name})"
        )
    there = {
        p.relative_to(EXERCISES).as_posix()
        for p in EXERCISES.rglob("*")
        if p.is_file() and ".ipynb_checkpoints" not in p.parts
    }
    assert there == set(fresh)


def test_checking_changes_nothing_and_notices_an_edit(regenerate, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(regenerate, "RELEASE", tmp_path)
    assert regenerate.main(["masked-matmul"]) == 0
    released = tmp_path / "masked-matmul" / "masked-matmul.ipynb"
    before = released.read_text()
    assert regenerate.main(["--check", "masked-matmul"]) == 0
    released.write_text(before.replace("averaging", "AVERAGING"))
    edited = released.read_text()
    assert regenerate.main(["--check", "masked-matmul"]) == 1
    assert "differs" in capsys.readouterr().out
    assert released.read_text() == edited
    assert regenerate.main(["masked-matmul"]) == 0
    assert released.read_text() == before
    assert regenerate.main(["nothing"]) == 2


@pytest.mark.parametrize("slug", SLUGS)
def test_a_release_holds_no_answer_and_no_hidden_test(slug):
    text = (EXERCISES / slug / f"{slug}.ipynb").read_text()
    assert "BEGIN" not in text
    hidden = []
    for cell in cells(SOLUTIONS, slug):
        for region in re.findall(
            r"### BEGIN (?:HIDDEN TESTS|SOLUTION)\n(.*?)\s*### END", source(cell), re.S
        ):
            # A call of the public checks is the same in the visible part of the cell.
            hidden += [
                line.strip()
                for line in region.splitlines()
                if len(line.strip()) > 30 and "checks=[" not in line
            ]
    assert hidden
    released = "\n".join(source(c) for c in cells(EXERCISES, slug) if c["cell_type"] == "code")
    assert not [line for line in hidden if line in released]


@pytest.mark.parametrize("slug", SLUGS)
def test_graded_cells_keep_their_ids_and_give_the_exercises_points(slug):
    graded = {
        meta(c)["grade_id"]: meta(c)["points"]
        for c in cells(SOLUTIONS, slug)
        if meta(c).get("grade")
    }
    assert graded == GRADE_IDS[slug]
    automatic = sum(
        meta(c)["points"]
        for c in cells(SOLUTIONS, slug)
        if meta(c).get("grade") and not meta(c)["solution"]
    )
    assert automatic == registry.get(slug).max_score
    ids = [meta(c)["grade_id"] for c in cells(SOLUTIONS, slug) if meta(c)]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("slug", SLUGS)
def test_a_notebook_has_contract_hints_self_check_and_no_outputs(slug):
    notebook = cells(SOLUTIONS, slug)
    prose = "\n".join(source(c) for c in notebook if c["cell_type"] == "markdown")
    assert prose.startswith("# Exercise: ")
    assert "## The contract" in prose
    assert registry.SLUGS[slug].split("-")[0].lstrip("0") in re.search(
        r"chapter (\d+)", prose
    ).group(1)
    for level in (1, 2, 3):
        assert prose.count(f"<details><summary>Hint {level}: ") == 1
    names = registry.get(slug).names
    for name in names:
        assert name in prose
    code = [source(c) for c in notebook if c["cell_type"] == "code"]
    assert f'self_check("{slug}", {", ".join(names)})' in "\n".join(code)
    assert all(not c.get("outputs") for c in notebook)
    assert len({c["id"] for c in notebook}) == len(notebook)
    # The checks named by the test cells are all there are.
    tested = set(
        re.findall(
            r'"([a-z0-9-]+)"', " ".join(re.findall(r"checks=\[(.*?)\]", "\n".join(code), re.S))
        )
    )
    by_name = {p.name for p in registry.get(slug).properties if not len(names) > 1}
    assert tested == by_name


@pytest.mark.parametrize("slug", SLUGS)
def test_an_exercise_uses_nothing_that_a_later_chapter_builds(slug):
    """Of the course only the checks; the block may have chapter 6's attention, if it likes."""
    modules = set()
    for cell in cells(EXERCISES, slug) + cells(SOLUTIONS, slug):
        if cell["cell_type"] != "code" or "setup" in cell["metadata"].get("tags", []):
            continue
        for node in ast.walk(ast.parse(source(cell))):
            if isinstance(node, ast.ImportFrom):
                modules.add(node.module)
            elif isinstance(node, ast.Import):
                modules |= {alias.name for alias in node.names}
    earlier = {"course.attention"} if slug == "block" else set()
    own = {m for m in modules if m.startswith("course.") and not m.startswith("course.checks")}
    assert own <= earlier
    rest = {m for m in modules if not m.startswith("course.")}
    assert rest <= {"math", "random", "torch", "torch.nn.functional"}


def run(slug, folder, without=()):
    """Run a notebook's code cells here; what each graded one earned."""
    space, earned = {"__name__": "notebook"}, {}
    for cell in cells(folder, slug):
        if cell["cell_type"] != "code" or "self_check(" in source(cell):
            continue
        if "setup" in cell["metadata"].get("tags", []):
            continue
        tree = ast.parse(source(cell))
        last = tree.body[-1]
        value = None
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                exec(compile(ast.Module(tree.body[:-1], []), slug, "exec"), space)
                if isinstance(last, ast.Expr):
                    value = eval(compile(ast.Expression(last.value), slug, "eval"), space)
                else:
                    exec(compile(ast.Module([last], []), slug, "exec"), space)
            except NotImplementedError:
                value = 0.0
        if meta(cell).get("grade"):
            earned[meta(cell)["grade_id"]] = value
    return earned


@pytest.mark.parametrize("slug", SLUGS)
def test_the_model_answer_earns_every_point_hidden_tests_included(slug):
    earned = run(slug, SOLUTIONS)
    assert earned == {k: float(v) for k, v in GRADE_IDS[slug].items() if k in earned}
    assert sum(earned.values()) == registry.get(slug).max_score


@pytest.mark.parametrize("slug", ["average", "head", "gpt"])
def test_the_release_as_it_is_earns_nothing(slug):
    assert set(run(slug, EXERCISES).values()) == {0.0}


def test_the_wheel_and_the_package_carry_no_solutions():
    tracked = subprocess.run(
        ["git", "ls-files", "course"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert "solutions" not in tracked
    assert "bank/" not in tracked
    ran = subprocess.run(
        [sys.executable, "-c", "import course.checks, sys; print('torch' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert ran.stdout.strip() == "False"
