"""Does the learner's code use the answer? Read from the source, and from what was built.

Only code that the submitted name really rests on is looked at: its definition and, from there, the
top-level names it uses. A learner may import the course's ``Head`` to compare with; a ``Head`` that
*is* it, inherits from it or calls it is refused.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Mapping, Sequence
from typing import Any

from course.checks.subject import Subject

ALWAYS_ALLOWED = ("course.checks", "course.notation")
DYNAMIC = (
    "importlib.import_module",
    "__import__",
    "getattr",
    "eval",
    "exec",
    "builtins.__import__",
    "sys.modules",
)


def used_names(source: str, name: str) -> set[str]:
    """Dotted names that the definition of ``name`` rests on, imports resolved.

    ``from torch.nn import functional as F`` and ``F.relu(x)`` gives ``torch.nn.functional.relu``.
    Names given as strings to ``getattr`` or ``import_module`` count too.
    """
    try:
        tree = ast.parse(_without_magics(source))
    except SyntaxError:
        return set()
    imports = _imports(tree)
    stars = [
        n.module
        for n in ast.walk(tree)
        if isinstance(n, ast.ImportFrom) and n.module and any(a.name == "*" for a in n.names)
    ]
    definitions: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for defined in _defines(statement):
            definitions.setdefault(defined, []).append(statement)
    found: set[str] = set()
    todo: list[str] = [name]
    done: set[str] = set()
    while todo:
        current = todo.pop()
        if current in done:
            continue
        done.add(current)
        if current in imports:
            found.add(imports[current])
        elif current not in definitions:
            found |= {f"{module}.{current}" for module in stars}
        for definition in definitions.get(current, []):
            outside = _outside_names(definition)
            todo += sorted(outside)
            # a local variable that is called as some import of the notebook's is not that import
            known = {n: full for n, full in imports.items() if n in outside} | _imports(definition)
            found |= _dotted_names(definition, known)
    return found


def _imports(tree: ast.AST) -> dict[str, str]:
    """What each imported name stands for, wherever in ``tree`` it is imported."""
    imports: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for a in node.names:
                first = a.name.split(".")[0]
                imports[a.asname or first] = a.name if a.asname else first
        elif isinstance(node, ast.ImportFrom) and node.module:
            for a in node.names:
                imports[a.asname or a.name] = f"{node.module}.{a.name}"
    return imports


def _scopes(statement: ast.stmt) -> list[symtable.SymbolTable]:
    """The scopes of one top-level statement, its own first: Python's account of whose a name is."""
    text = ast.unparse(statement)
    scopes = [symtable.symtable(text, "<answer>", "exec")]
    for scope in scopes:  # grows while it is read
        scopes += scope.get_children()
    return scopes


def _outside_names(statement: ast.stmt) -> set[str]:
    """Top-level names a statement reads: no parameter, local or comprehension variable."""
    top, *inner = _scopes(statement)
    names = {s.get_name() for s in top.get_symbols() if s.is_referenced()}
    for scope in inner:
        names |= {s.get_name() for s in scope.get_symbols() if s.is_referenced() and s.is_global()}
    return names


def _without_magics(source: str) -> str:
    lines = source.splitlines()
    return "\n".join("pass" if line.startswith(("%", "!")) else line for line in lines)


def _comprehended(statement: ast.stmt) -> set[str]:
    """Variables of comprehensions only: from 3.12 on they look like top-level names."""
    comprehensions = [n for n in ast.walk(statement) if isinstance(n, ast.comprehension)]
    targets = [n for c in comprehensions for n in ast.walk(c.target) if isinstance(n, ast.Name)]
    stored = [
        n.id
        for n in ast.walk(statement)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n not in targets
    ]
    return {n.id for n in targets} - set(stored)


def _defines(statement: ast.stmt) -> set[str]:
    """The top-level names a statement binds or changes (also ``Head.forward = …``, ``global``)."""
    top, *inner = _scopes(statement)
    names = {s.get_name() for s in top.get_symbols() if s.is_assigned()}
    names -= _comprehended(statement)
    for scope in inner:
        symbols = scope.get_symbols()
        names |= {s.get_name() for s in symbols if s.is_assigned() and s.is_declared_global()}
    outside = _outside_names(statement)
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            base: ast.expr = node
            while isinstance(base, ast.Attribute):
                base = base.value
            if isinstance(base, ast.Name) and base.id in outside:
                names.add(base.id)
    return names


def _dotted_names(statement: ast.AST, imports: Mapping[str, str]) -> set[str]:
    found = set()
    for node in ast.walk(statement):
        dotted = _dotted(node, imports)
        if dotted:
            found.add(dotted)
        if isinstance(node, ast.Call):
            called = _dotted(node.func, imports)
            strings = [
                a.value
                for a in node.args
                if isinstance(a, ast.Constant) and isinstance(a.value, str)
            ]
            if called in DYNAMIC:
                base = _dotted(node.args[0], imports) if node.args else ""
                found |= {f"{base}.{s}" if called == "getattr" and base else s for s in strings}
        elif isinstance(node, ast.Import):
            found |= {a.name for a in node.names if a.asname is None} & {"course"}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{a.name}" for a in node.names}
    return found


def _dotted(node: ast.AST, imports: Mapping[str, str]) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    root = imports.get(node.id, node.id)
    return ".".join([root, *reversed(parts)])


def refusal(
    subject: Subject,
    name: str,
    info: Mapping[str, Any],
    refused: Sequence[str],
    allowed: Sequence[str],
) -> str | None:
    """The sentence that refuses an imported answer, or None.

    Args:
        info: the subject's ``describe`` reply for ``name``.
        refused: last names of torch's functions or classes that are the answer.
        allowed: names of ``course`` that may be used.
    """
    origins = [str(info["module"]) + "." + name, *map(str, info["bases"])]
    used = set(origins)
    if subject.source:
        used |= used_names(subject.source, name)
    permitted = (*ALWAYS_ALLOWED, *allowed)
    for full in sorted(used):
        if full == "course" or full.startswith("course."):
            if not any(
                full == p or full.startswith(p + ".") or p.startswith(full + ".") for p in permitted
            ):
                return (
                    f"`{name}` uses `{full}`, which is the course's own answer: write it "
                    "yourself; you may import it in another cell to compare with."
                )
        for r in refused:
            # PyTorch's class may be met under its public or its inner module's name.
            if full.split(".")[0] == "torch" and r in full.split(".")[1:]:
                return (
                    f"`{name}` uses `{full}`, which is what this exercise asks you to write: "
                    "build it from smaller parts."
                )
    return None
