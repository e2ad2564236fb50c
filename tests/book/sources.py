"""The committed notebooks as the tests read them: their cells, their text, their code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def load(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8")))


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def cells(path: Path) -> list[dict[str, Any]]:
    return list(load(path)["cells"])


def code_cells(path: Path) -> list[dict[str, Any]]:
    return [cell for cell in cells(path) if cell["cell_type"] == "code"]


def text(path: Path) -> str:
    """What a notebook says, without its code."""
    return "\n\n".join(source(cell) for cell in cells(path) if cell["cell_type"] == "markdown")
