"""The package's reference page, generated from its docstrings.

````
```{course-api}
course.attention
course.block
```
````

lists the public functions and classes of the modules, with signature and docstring, from the
syntax trees: nothing is imported. Each becomes an object of Sphinx's Python domain, so that pages
can refer to it (``{py:func}`course.attention.causal_mask` ``), other projects find it in
``objects.inv``, and it is in the index.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.domains.python import PythonDomain
from sphinx.util.docutils import SphinxDirective

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def module_file(root: Path, name: str) -> Path:
    """The file of a module by its dotted name.

    Raises
    ------
    FileNotFoundError
        If there is no such module below ``root``.
    """
    base = root.joinpath(*name.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    raise FileNotFoundError(f"there is no module {name}")


def public(body: list[ast.stmt]) -> list[Definition]:
    """The public functions and classes of a module or class, in the order of the file."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = [node for node in body if isinstance(node, kinds)]
    overloads = re.compile(r"\boverload\b|\.setter\b")
    return [
        node
        for node in found
        if not node.name.startswith("_")
        and not any(overloads.search(ast.unparse(d)) for d in node.decorator_list)
    ]


def signature(node: Definition) -> str:
    """As a reader calls it; for a class, the arguments of its ``__init__`` or its fields."""
    if not isinstance(node, ast.ClassDef):
        if any("property" in ast.unparse(d) for d in node.decorator_list):
            return node.name + (f": {ast.unparse(node.returns)}" if node.returns else "")
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        return _wrapped(node.name, _arguments(node.args), returns)
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
            return _wrapped(node.name, _arguments(inner.args), "")
    if any("dataclass" in ast.unparse(d) for d in node.decorator_list):
        fields = [ast.unparse(f) for f in node.body if isinstance(f, ast.AnnAssign)]
        return _wrapped(node.name, fields, "")
    return node.name


def _argument(arg: ast.arg, default: ast.expr | None) -> str:
    text = ast.unparse(arg)  # with its annotation
    if default is None:
        return text
    return f"{text}{' = ' if arg.annotation else '='}{ast.unparse(default)}"


def _arguments(args: ast.arguments) -> list[str]:
    """The arguments as written, one string each; ``self`` is not one a reader passes."""
    plain = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(plain) - len(args.defaults)) + list(args.defaults)
    made = [_argument(a, d) for a, d in zip(plain, defaults, strict=True)]
    if args.vararg:
        made.append("*" + ast.unparse(args.vararg))
    elif args.kwonlyargs:
        made.append("*")
    made += [_argument(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    if args.kwarg:
        made.append("**" + ast.unparse(args.kwarg))
    return made[1:] if plain and plain[0].arg in ("self", "cls") else made


def _wrapped(name: str, arguments: list[str], returns: str) -> str:
    one = f"{name}({', '.join(arguments)}){returns}"
    if len(one) <= 76:
        return one
    inner = "".join(f"    {argument},\n" for argument in arguments)
    return f"{name}(\n{inner}){returns}"


_MARKED = re.compile(
    r"(`` ?.+? ?``|:[a-z]+:`[^`]+`|`[^`]+`|(?<![\w*])\*[^\s*](?:[^*]*[^\s*])?\*(?![\w*]))"
)
_CODE = re.compile(r"(?:`` ?|:[a-z]+:`|`)~?(.+?) ?`+")


def _inline(text: str) -> list[nodes.Node]:
    """A paragraph of a docstring: ``code`` and roles as code, *emphasis*, the rest as words."""
    found: list[nodes.Node] = []
    for part in _MARKED.split(" ".join(text.split())):
        if code := _CODE.fullmatch(part):
            found.append(nodes.literal(code[1], code[1]))
        elif _MARKED.fullmatch(part):
            found.append(nodes.emphasis(part, part[1:-1]))
        elif part:
            found.append(nodes.Text(part))
    return found


# A docstring's block of arguments, in Google's way or in NumPy's; on the page both are one.
_FIELD = re.compile(
    r"(Args|Arguments|Parameters|Attributes|Returns|Yields|Raises)(?::|\n-+)\n(.+)", re.DOTALL
)
_CALLED = {"Args": "Arguments", "Parameters": "Arguments"}


def _items(body: str) -> Iterator[tuple[str, str]]:
    """(names, what is said of them) of a block; no names where it is a sentence only."""
    for item in re.split(r"\n(?=\S)", textwrap.dedent(body)):
        named = re.fullmatch(r"([\w*.]+(?:, [\w*.]+)*)(?::\s|\n)\s*(.+)", item, re.DOTALL)
        yield (named[1], named[2]) if named else ("", item)


def _field(match: re.Match[str]) -> nodes.definition_list_item:
    said = nodes.definition()
    kind = match[1]
    items = [("", match[2])] if kind in ("Returns", "Yields") else _items(match[2])
    for names, text in items:
        line = nodes.paragraph()
        for name in names.split(", ") if names else ():
            line += [nodes.Text(", ")] if line.children else []
            line += nodes.literal(name, name)
        line += [nodes.Text(": ")] if names else []
        line += _inline(text)
        said += line
    return nodes.definition_list_item("", nodes.term("", _CALLED.get(kind, kind)), said)


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _described(docstring: str | None) -> list[nodes.Node]:
    """A docstring: prose, what goes in and comes out, and examples as written."""
    made: list[nodes.Node] = []
    for block in re.split(r"\n\s*\n", inspect.cleandoc(docstring or "")):
        if field := _FIELD.fullmatch(block):
            if not made or not isinstance(made[-1], nodes.definition_list):
                made.append(nodes.definition_list(classes=["fields"]))
            cast(nodes.definition_list, made[-1]).append(_field(field))
        elif re.search(r"^(?:\s|-{3}|>>>|[-*] )", block, re.MULTILINE):
            text = textwrap.dedent(block)
            language = "python" if _is_python(text) else "none"
            made.append(nodes.literal_block(text, text, language=language))
        elif block:
            made.append(nodes.paragraph("", "", *_inline(re.sub("::$", ":", block))))
    return made


class CourseApi(SphinxDirective):
    """The directive ``course-api``: one module a line."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        made: list[nodes.Node] = []
        for line in self.content:
            if line.strip():
                made.append(self.module(root, line.strip()))
        return made

    def module(self, root: Path, name: str) -> nodes.section:
        try:
            path = module_file(root, name)
        except FileNotFoundError as error:
            raise self.error(str(error)) from error
        self.env.note_dependency(str(path))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        section = nodes.section(ids=[name.replace(".", "-")], names=[name])
        section += nodes.title("", "", nodes.literal(name, name))
        self.note(section, name, "module", name)
        section += _described(ast.get_docstring(tree))
        for node in public(tree.body):
            section += self.definition(node, name)
        return section

    def note(self, target: nodes.Element, name: str, kind: str, shown: str) -> None:
        anchor = name.replace(".", "-")
        target["ids"] = [anchor]
        domain = cast(PythonDomain, self.env.get_domain("py"))
        domain.note_object(name, kind, anchor, location=target)
        self.state.document.note_explicit_target(target)
        index = addnodes.index(entries=[("single", shown, anchor, "", None)])
        target += index

    def definition(self, node: Definition, parent: str) -> nodes.Node:
        name = f"{parent}.{node.name}"
        is_class = isinstance(node, ast.ClassDef)
        box = nodes.container(classes=["api", "api-class" if is_class else "api-function"])
        self.note(box, name, "class" if is_class else "function", f"{node.name} ({parent})")
        text = signature(node)
        box += nodes.literal_block(text, text, language="python", classes=["signature"])
        box += _described(ast.get_docstring(node))
        if isinstance(node, ast.ClassDef):
            for method in public(node.body):
                if ast.get_docstring(method):
                    box += self.method(method, name)
        return box

    def method(self, node: Definition, parent: str) -> nodes.Node:
        box = nodes.container(classes=["api", "api-method"])
        self.note(box, f"{parent}.{node.name}", "method", f"{node.name} ({parent})")
        text = "." + signature(node)
        box += nodes.literal_block(text, text, language="python", classes=["signature"])
        box += _described(ast.get_docstring(node))
        return box


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by the extension's own ``setup``."""
    app.add_directive("course-api", CourseApi)
    return {"parallel_read_safe": True}
