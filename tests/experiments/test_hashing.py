"""The code hash: an edit that cannot change a result changes nothing, one that can does."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from course.experiments.hashing import (
    PLUMBING,
    code_hash,
    config_hash,
    definitions_hash,
    tree_hash,
)
from course.experiments.registry import EXPERIMENTS, module_of

ROOT = Path(__file__).resolve().parents[2]
SOURCE = '''"""Doc."""
X = 1


def f(a: int, *, b=2) -> int:
    """Doc of f."""
    return a + b + X  # a comment


class C:
    """Doc of C."""

    def g(self):
        """Doc of g."""
        return f"{self!r:>{X}} {f(1)}"
'''


def test_the_hash_is_the_same_under_every_python():
    # Counted once under 3.11; ast.dump would give another text under 3.12 and 3.13.
    assert tree_hash(SOURCE) == "23ae46cc06f7046d106e4f43222df43d8dc528c2a1e27c016ae27aac4d42df41"


@pytest.mark.parametrize(
    "edit",
    [
        ("# a comment", "# another one"),
        ('"""Doc of f."""', '"""Rewritten."""'),
        ('    """Doc of C."""\n\n', '    """Doc of C, at\n    length."""\n\n'),
        ("return a + b + X", "return (a + b\n            + X)"),
    ],
)
def test_docstrings_comments_and_layout_do_not_count(edit):
    assert edit[0] in SOURCE
    assert tree_hash(SOURCE.replace(*edit)) == tree_hash(SOURCE)


@pytest.mark.parametrize(
    "edit", [("a + b", "a - b"), ("X = 1", "X = 2"), ("b=2", "b=3"), ("def g", "def h")]
)
def test_code_counts(edit):
    assert tree_hash(SOURCE.replace(*edit)) != tree_hash(SOURCE)


def test_a_constant_none_is_not_the_absence_of_a_value():
    assert tree_hash("x = None") != tree_hash("x = ()")
    assert tree_hash("def f():\n    return None") != tree_hash("def f():\n    return")


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / "course" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A package ``course`` in which an experiment imports a model through a re-export."""
    write(
        tmp_path,
        {
            "__init__.py": '"""Doc."""\n__version__ = "1"\n',
            "files.py": "x = 1\n",
            "attention.py": "def scale(d):\n    return d ** -0.5\n",
            "other.py": "y = 1\n",
            "models/__init__.py": "from course.models.gpt import GPT\nfrom course.other import y\n"
            '__all__ = ["GPT", "y"]\n',
            "models/gpt.py": "from course.attention import scale\n\n\nclass GPT:\n"
            "    s = scale(4)\n",
            "experiments/__init__.py": "",
            "experiments/one.py": "from course import files\n\nEXPERIMENT = 'labels'\n\n\n"
            "def run():\n    from course.models import GPT\n    return measure()"
            "\n\n\ndef measure():\n    return helper()\n\n\n"
            "def helper():\n    return 1\n",
        },
    )
    return tmp_path


def test_imports_are_followed_inside_functions_and_through_reexports(small):
    found = code_hash("course.experiments.one", small)
    assert set(found) == {"course.experiments.one", "course.models.gpt", "course.attention"}


@pytest.mark.parametrize(
    ("name", "before", "after", "counts"),
    [
        ("attention.py", "-0.5", "-0.25", True),
        ("attention.py", "def scale", "# note\ndef scale", False),
        ("other.py", "1", "2", False),  # re-exported beside what is used
        ("files.py", "1", "2", False),  # plumbing
        ("experiments/one.py", "'labels'", "'other labels'", False),
        ("experiments/one.py", "return 1", "return 2", True),
    ],
)
def test_what_makes_a_record_stale(small, name, before, after, counts):
    hash_before = code_hash("course.experiments.one", small).hash
    path = small / "course" / name
    path.write_text(path.read_text().replace(before, after) + "\n", encoding="utf-8")
    assert (code_hash("course.experiments.one", small).hash != hash_before) is counts


def test_a_package_file_with_code_of_its_own_counts_whole(small):
    path = small / "course" / "models" / "__init__.py"
    path.write_text(path.read_text() + "\nZ = 3\n", encoding="utf-8")
    assert {"course.models", "course.other"} <= set(code_hash("course.experiments.one", small))


def test_an_unknown_module_is_refused(small):
    with pytest.raises(FileNotFoundError, match=r"course\.experiments\.two"):
        code_hash("course.experiments.two", small)


def test_evaluation_is_hashed_by_definition(small):
    roots = ["course.experiments.one:measure"]
    before = definitions_hash(roots, small)
    path = small / "course" / "experiments" / "one.py"
    text = path.read_text()
    path.write_text(text.replace("from course import files\n", "from course import files\nQ = 1\n"))
    assert definitions_hash(roots, small) == before
    path.write_text(text.replace("return 1", "return 2"))
    assert definitions_hash(roots, small) != before
    with pytest.raises(KeyError, match="nothing_there"):
        definitions_hash(["course.experiments.one:nothing_there"], small)


def test_the_order_of_a_configuration_does_not_count():
    assert config_hash({"a": 1, "b": 2}) == config_hash({"b": 2, "a": 1})
    assert config_hash({"a": 1}) != config_hash({"a": 2})


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_names_evaluation_code_that_exists(name):
    experiment = EXPERIMENTS[name]
    assert len(definitions_hash(experiment.evaluation)) == 64
    found = code_hash(module_of(experiment))
    assert module_of(experiment) in found
    assert not set(found) & PLUMBING
    assert not any(
        part.startswith("course.experiments.")
        and part.rsplit(".", 1)[1] in {"records", "runner", "cli", "registry", "table", "status"}
        for part in found
    )


def test_dividing_by_another_root_makes_the_ladder_stale_and_a_docstring_does_not(tmp_path):
    shutil.copytree(
        ROOT / "course",
        tmp_path / "course",
        ignore=shutil.ignore_patterns("__pycache__", "records", "*.js", "*.css"),
    )
    module = module_of(EXPERIMENTS["ladder"])
    before = code_hash(module, tmp_path)
    assert before == code_hash(module)
    path = tmp_path / "course" / "attention.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"""', '"""Edited. ', 1), encoding="utf-8")
    assert code_hash(module, tmp_path).hash == before.hash
    assert "q.shape[-1] ** -0.5" in text
    path.write_text(text.replace("q.shape[-1] ** -0.5", "q.shape[-1] ** -0.4"), encoding="utf-8")
    after = code_hash(module, tmp_path)
    assert {name for name in before if before[name] != after[name]} == {"course.attention"}
