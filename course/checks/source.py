"""Does the learner's code use the answer? Read from the source, and from what was built.

Only code that the submitted name really rests on is looked at: its definition and, from there, the
top-level names it uses. A learner may import the course's ``Head`` to compare with; a ``Head`` that
*is* it, inherits from it or calls it is refused.
"""

from __future__ import annotations

import ast
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
    imports: dict[str, str] = {}
    definitions: dict[str, list[ast.AST]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for a in node.names:
                imports[a.asname or a.name.split(".")[0]] = (
                    a.name if a.asname else a.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            for a in node.names:
                imports[a.asname or a.name] = f"{node.module}.{a.name}"
    stars = [
        n.module
        for n in ast.walk(tree)
        if isinstance(n, ast.ImportFrom) and n.module and any(a.name == "*" for a in n.names)
    ]
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
            todo += [n.id for n in ast.walk(definition) if isinstance(n, ast.Name)]
            found |= _dotted_names(definition, imports)
    return found


def _without_magics(source: str) -> str:
    lines = source.splitlines()
    return "\n".join("pass" if line.startswith(("%", "!")) else line for line in lines)


def _defines(statement: ast.stmt) -> list[str]:
    """The top-level names a statement binds or changes (also ``Head.forward = …``)."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    names = []
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            base: ast.expr = node
            while isinstance(base, ast.Attribute):
                base = base.value
            if isinstance(base, ast.Name):
                names.append(base.id)
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
