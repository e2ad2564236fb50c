"""The reference page: what it says is what the docstrings say, and pages can refer to it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.book import minibook

from course_book import api  # isort: skip


def definition(source: str) -> api.Definition:
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    return node


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("def f(a, b: int = 3, *, c=None) -> str: ...", "f(a, b: int = 3, *, c=None) -> str"),
        ("def f(*args: int, **more): ...", "f(*args: int, **more)"),
        ("def f(x, /, y: dict[str, int] = {}): ...", "f(x, y: dict[str, int] = {})"),
        ("class A:\n    def __init__(self, d_model: int): ...", "A(d_model: int)"),
        ("@dataclass\nclass A:\n    x: int\n    y: str = 'b'", "A(x: int, y: str = 'b')"),
        ("class A: ...", "A"),
        ("@property\ndef f(self) -> int: ...", "f: int"),
    ],
)
def test_signatures(source: str, shown: str) -> None:
    assert api.signature(definition(source)) == shown


def test_a_long_signature_has_one_argument_a_line() -> None:
    names = [f"argument_number_{i}: float" for i in range(4)]
    text = api.signature(definition(f"def f({', '.join(names)}) -> float: ..."))
    assert text.splitlines() == ["f(", *(f"    {name}," for name in names), ") -> float"]


def test_only_what_is_public_is_listed() -> None:
    module = ast.parse("def _a(): ...\ndef b(): ...\nclass C: ...\n@overload\ndef d(): ...\nE = 1")
    assert [node.name for node in api.public(module.body)] == ["b", "C"]


def test_a_module_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no module course\.nothing"):
        api.module_file(tmp_path, "course.nothing")


@pytest.mark.book
@pytest.mark.timeout(900)
def test_a_page_refers_to_a_function_and_the_index_has_it(book: Path) -> None:
    (book / "book" / "api.md").write_text(
        "# Reference\n\nSee {py:func}`course.attention.causal_mask`: it says who may look at whom."
        "\n\n```{course-api}\ncourse.attention\ncourse.averaging\n```\n",
        encoding="utf-8",
    )
    (book / "_toc.yml").write_text(
        "format: jb-book\nroot: book/intro\nchapters:\n- file: book/api\n", encoding="utf-8"
    )
    done = minibook.build(book)
    assert done.returncode == 0, done.stdout
    html = book / "_build" / "html"
    text = (html / "book" / "api.html").read_text(encoding="utf-8")
    assert 'href="#course-attention-causal_mask"' in text
    assert 'id="course-attention-causal_mask"' in text
    assert "scaled_dot_product_attention(" in text
    assert "_fused" not in text
    assert "course-attention-Head" in (html / "genindex.html").read_text(encoding="utf-8")
