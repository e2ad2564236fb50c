"""The reference page: what it says is what the docstrings say, and pages can refer to it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from docutils import nodes

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


DOCSTRING = """A mask, *True* = may attend, as :func:`causal_mask` says.

    It may be used so::

        weights(q, mask=None)

    Args:
        q, k: ``(…, T, D)`` queries
            and keys.
        mask: see :class:`Mask`.

    Returns:
        ``(…, T)``, never a NaN:
        not even in an empty row.

    Raises
    ------
    ValueError
        If ``T`` is below 1.
    """


def test_a_docstring_is_prose_fields_and_examples() -> None:
    prose, so, example, fields = api._described(DOCSTRING)
    assert prose.astext() == "A mask, True = may attend, as causal_mask says."
    assert [node.astext() for node in prose.findall(nodes.emphasis)] == ["True"]
    assert [node.astext() for node in prose.findall(nodes.literal)] == ["causal_mask"]
    assert so.astext() == "It may be used so:"
    assert isinstance(example, nodes.literal_block)
    assert (example.astext(), example["language"]) == ("weights(q, mask=None)", "python")
    assert [node.astext() for node in fields.findall(nodes.term)] == [
        "Arguments",
        "Returns",
        "Raises",
    ]
    assert [node.astext() for node in fields.findall(nodes.paragraph)] == [
        "q, k: (…, T, D) queries and keys.",
        "mask: see Mask.",
        "(…, T), never a NaN: not even in an empty row.",
        "ValueError: If T is below 1.",
    ]
    names = [node.astext() for node in fields.findall(nodes.literal)]
    assert names == ["q", "k", "(…, T, D)", "mask", "Mask", "(…, T)", "ValueError", "T"]


@pytest.mark.parametrize("text", ["def f(*args, **more)", "2 * 3 * 4", "d_model and d_ff", "a*b*c"])
def test_stars_and_low_lines_that_mean_themselves_stay(text: str) -> None:
    assert [node.astext() for node in api._inline(text)] == [text]


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
