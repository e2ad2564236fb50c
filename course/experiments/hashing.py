"""The hash of the code a run executes: what makes a record stale, and what does not.

The hash covers the syntax trees, without docstrings and comments, of the modules of ``course``
that an experiment's file imports, directly or through others.  Left out, because nothing in them
can alter a result:

* the modules that carry a run (records, locks, command line: :data:`PLUMBING`);
* the package files that only re-export (``from course.models.gpt import GPT``): the definition
  behind the name is hashed instead;
* ``course.corpus``: the text a run read is pinned by the SHA-256 in its record;
* the assignment to ``EXPERIMENT``: what it says that matters is in the configuration, which has a
  hash of its own, and labels or published figures matter to readers only.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

__all__ = ["CodeHash", "code_hash", "config_hash", "definitions_hash", "tree_hash"]

PLUMBING = frozenset(
    {
        "course.checked",
        "course.corpus",
        "course.files",
        "course.grammar",
        "course.notation",
        "course.parallel",
        "course.experiments.base",
    }
)
_DESCRIPTION = "EXPERIMENT"
_SKIPPED_FIELDS = {"type_ignores", "kind", "type_comment"}
_SOURCE_ROOT = Path(__file__).resolve().parents[2]


class CodeHash(dict[str, str]):
    """Module → hash of its syntax tree; ``.hash`` is the hash of them all."""

    @property
    def hash(self) -> str:
        """SHA-256 over the names and hashes of all modules, in order of name."""
        return _sha256(json.dumps(sorted(self.items())))


def config_hash(config: Mapping[str, Any]) -> str:
    """SHA-256 of a configuration, whatever the order of its keys."""
    return _sha256(json.dumps(dict(config), sort_keys=True))


def code_hash(module: str, root: Path | None = None) -> CodeHash:
    """Hashes of every ``course`` module that ``module`` imports, itself included.

    ``root`` is the folder that holds the package ``course`` (default: the one this file is in).

    Raises:
        FileNotFoundError: ``module`` is no module of the package.
    """
    root = root or _SOURCE_ROOT
    if _source_file(module, root) is None:
        raise FileNotFoundError(f"no module {module} under {root}")
    hashes = CodeHash()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in hashes or name in PLUMBING:
            continue
        tree = _parse(_require(name, root))
        hashes[name] = _tree_hash(tree)
        waiting.extend(target for target, _ in _imports(tree, root))
    return hashes


def definitions_hash(
    roots: Iterable[str], root: Path | None = None, alone: Iterable[str] = ()
) -> str:
    """Hash of some definitions (``module:name``) and of all they use inside the package.

    ``alone`` names definitions of which only their own text counts, not what they use.  Functions
    and constants reached by name count; annotations do not.  Neither do classes: models
    and the training loop are what a replay of the first steps runs.

    Raises:
        KeyError: a module does not define the name.
    """
    root = root or _SOURCE_ROOT
    found: dict[str, str] = {}
    only_text = set(alone)
    waiting = [(spec, True) for spec in (*only_text, *roots)]
    while waiting:
        spec, required = waiting.pop()
        module, _, name = spec.partition(":")
        if spec in found or module in PLUMBING:
            continue
        tree = _parse(_require(module, root))
        node = _definition(tree, name)
        if node is None:
            if required:
                raise KeyError(f"{module} defines no {name!r}")
            continue
        if isinstance(node, ast.ClassDef) and not required:
            continue
        found[spec] = _sha256(_dump(_without_docstrings(node)))
        if spec in only_text:
            continue
        imported = {
            local: (target, original)
            for target, names in _imports(tree, root)
            for local, original in names.items()
        }
        for used in _names_used(node):
            if used in imported:
                target, original = imported[used]
                waiting.append((f"{target}:{original}", False))
            elif used != name:
                waiting.append((f"{module}:{used}", False))
    return _sha256(json.dumps(sorted(found.items())))


def tree_hash(source: str) -> str:
    """Hash of a module's code: comments, docstrings and layout do not count.

    >>> tree_hash("x = 1  # one") == tree_hash("x=1")
    True
    >>> tree_hash("x = 1") == tree_hash("x = 2")
    False
    """
    return _tree_hash(ast.parse(source))


# A tree is compared by identity and never changed, so what is computed from one is kept with it.
@lru_cache(maxsize=256)
def _tree_hash(tree: ast.Module) -> str:
    body = [node for node in tree.body if _assigned_name(node) != _DESCRIPTION]
    return _sha256(_dump(_without_docstrings(ast.Module(body=body, type_ignores=[]))))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _source_file(module: str, root: Path) -> Path | None:
    path = root.joinpath(*module.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def _require(module: str, root: Path) -> Path:
    path = _source_file(module, root)
    if path is None:
        raise FileNotFoundError(f"no module {module} under {root}")
    return path


def _parse(path: Path) -> ast.Module:
    stat = path.stat()
    return _parse_cached(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=256)
def _parse_cached(path: Path, mtime: int, size: int) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def _imports(tree: ast.Module, root: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Pairs (module, {local name: name there}) for every import of ``course`` anywhere in a file.

    A name that a package file only re-exports is followed to the module that defines it.
    """
    for node in _import_statements(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "course":
                    yield alias.name, {}
        elif node.module and not node.level:
            if node.module.partition(".")[0] != "course":
                continue
            for alias in node.names:
                module, original = _resolve(node.module, alias.name, root)
                yield module, {alias.asname or alias.name: original} if original else {}


@lru_cache(maxsize=256)
def _import_statements(tree: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


def _resolve(module: str, name: str, root: Path) -> tuple[str, str]:
    if _source_file(f"{module}.{name}", root) is not None:
        return f"{module}.{name}", ""
    path = _require(module, root)
    if path.name == "__init__.py":
        tree = _parse(path)
        if _only_reexports(tree):
            for node in tree.body:
                if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    for alias in node.names:
                        if (alias.asname or alias.name) == name:
                            return _resolve(node.module, alias.name, root)
    return module, name


def _only_reexports(tree: ast.Module) -> bool:
    return all(
        isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        or _assigned_name(node) in {"__all__", "__version__"}
        for node in tree.body
    )


def _assigned_name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target: ast.expr = node.targets[0]
    elif isinstance(node, ast.AnnAssign):
        target = node.target
    else:
        return None
    return target.id if isinstance(target, ast.Name) else None


def _definition(tree: ast.Module, name: str) -> ast.AST | None:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            if node.name == name:
                return node
        elif _assigned_name(node) == name:
            return node
    return None


def _names_used(node: ast.AST) -> set[str]:
    used: set[str] = set()
    waiting: list[ast.AST] = [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, ast.Name):
            used.add(current.id)
        for field, value in ast.iter_fields(current):
            if field in {"annotation", "returns"}:
                continue
            children = value if isinstance(value, list) else [value]
            waiting.extend(child for child in children if isinstance(child, ast.AST))
    return used


def _without_docstrings(node: ast.AST) -> ast.AST:
    """A shallow rebuild of the tree in which bodies lack their docstring; the input is kept."""
    fields: dict[str, Any] = {}
    for field, value in ast.iter_fields(node):
        if isinstance(value, list):
            fields[field] = [
                _without_docstrings(item) if isinstance(item, ast.AST) else item for item in value
            ]
        else:
            fields[field] = _without_docstrings(value) if isinstance(value, ast.AST) else value
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        fields["body"] = [
            statement
            for statement in fields["body"]
            if not (
                isinstance(statement, ast.Expr)
                and isinstance(statement.value, ast.Constant)
                and isinstance(statement.value.value, str)
            )
        ]
    return type(node)(**fields)


def _dump(node: Any) -> str:
    """The tree as text, the same under every supported Python.

    ``ast.dump`` prints fields that newer versions added (``type_params``), so empty fields are
    left out here; a constant keeps its value whatever it is.
    """
    if isinstance(node, ast.Constant):
        return f"Constant({node.value!r})"
    if isinstance(node, ast.JoinedStr):  # Python 3.12 ends some f-strings with an empty piece
        pieces = [
            value
            for value in node.values
            if not (isinstance(value, ast.Constant) and value.value == "")
        ]
        return f"JoinedStr(values={_dump(pieces)})" if pieces else "JoinedStr()"
    if isinstance(node, ast.AST):
        fields = [
            f"{field}={_dump(value)}"
            for field, value in ast.iter_fields(node)
            if field not in _SKIPPED_FIELDS and value is not None and value != []
        ]
        return f"{type(node).__name__}({','.join(fields)})"
    if isinstance(node, list):
        return "[" + ",".join(_dump(item) for item in node) + "]"
    return repr(node)
