"""What a name in a test cell means: the judge's own, or the learner's.

A test cell may use a name that it does not define, such as ``torch`` or ``Head``. Which of the two
sides it comes from is decided from the instructor's source alone, never from what the learner's
notebook happens to hold: a learner who rebinds ``torch`` changes nothing.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

USUAL = {
    "torch": "import torch",
    "nn": "from torch import nn",
    "F": "import torch.nn.functional as F",
    "np": "import numpy as np",
    "math": "import math",
}


@dataclass
class Names:
    """Where the names of one notebook's test cells come from.

    Attributes:
        imports: name → the import statement of the instructor's notebook that binds it.
        helpers: name → source of the locked cell, not a test, that binds it.
        learner: names that the solution cells bind; ``None`` if that is not known, and then every
            name that is nobody else's is the learner's.
    """

    imports: dict[str, str] = field(default_factory=dict)
    helpers: dict[str, str] = field(default_factory=dict)
    learner: list[str] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a message."""
        return asdict(self)

    def is_learners(self, name: str) -> bool:
        """Whether the learner's notebook is asked for this name."""
        if name in self.imports or name in self.helpers or name in USUAL:
            return False
        if self.learner is None:
            return not hasattr(builtins, name)
        return name in self.learner


def parse(source: str) -> ast.Module | None:
    """The syntax tree of a cell without its magics, or ``None`` if it does not parse."""
    lines = ["" if line.lstrip().startswith(("%", "!")) else line for line in source.split("\n")]
    try:
        return ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def bound(source: str) -> set[str]:
    """Names that a cell binds at its top level, imports left out."""
    tree = parse(source)
    found: set[str] = set()
    for statement in tree.body if tree else ():
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(statement.name)
        elif not isinstance(statement, ast.Import | ast.ImportFrom):
            found |= {n.id for n in ast.walk(statement)
                      if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}  # fmt: skip
    return found


def imported(source: str) -> dict[str, str]:
    """Name → import statement, for the imports at a cell's top level."""
    tree = parse(source)
    found: dict[str, str] = {}
    for statement in tree.body if tree else ():
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                name = alias.asname or alias.name.split(".")[0]
                found[name] = ast.unparse(ast.Import([alias]))
        elif isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                one = ast.ImportFrom(statement.module, [alias], statement.level)
                found[alias.asname or alias.name] = ast.unparse(one)
    return found


def used(source: str) -> set[str]:
    """Names that a cell reads anywhere, built-in ones left out."""
    tree = parse(source)
    read = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} if tree else set()
    return {name for name in read if not hasattr(builtins, name)}


def from_cells(
    cells: Iterable[tuple[str, bool, bool]], stubs: Iterable[str] | None = None
) -> Names:
    """Names of a notebook from the instructor's code cells.

    Args:
        cells: ``(source, is a solution cell, is a locked cell that is no test)`` in order.
        stubs: further sources of solution cells, such as the released ones.
    """
    names = Names(learner=[])
    learner: set[str] = set()
    for source, solution, locked in cells:
        if solution:
            learner |= bound(source) | set(imported(source))
            continue
        names.imports.update(imported(source))
        if locked:
            names.helpers.update(dict.fromkeys(bound(source), source))
    for source in stubs or ():
        learner |= bound(source)
    names.learner = sorted(learner)
    for name in learner:
        names.imports.pop(name, None)
        names.helpers.pop(name, None)
    return names
