"""A small book in a folder of its own: the real extension, theme and package, its own pages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "book" / "_ext"))

from course_book import assets  # noqa: E402
from setup_cell import SETUP_CELL  # noqa: E402

Cell = tuple[str, str, dict[str, Any]]


def md(text: str, **metadata: Any) -> Cell:
    return "markdown", text, metadata


def code(text: str, **metadata: Any) -> Cell:
    return "code", text, metadata


SETUP = code(SETUP_CELL, tags=["setup", "remove-cell"])
PARAMETERS = code('budget = "quick"\ndevice = "auto"\nseed = 0', tags=["parameters", "remove-cell"])


def notebook(path: Path, *cells: Cell) -> Path:
    """Write a notebook without outputs, as they are committed."""
    made = []
    for number, (kind, text, metadata) in enumerate(cells):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"{path.stem}-{number:02d}"}
        cell["metadata"] = metadata
        cell["source"] = text.strip("\n").splitlines(keepends=True)
        if kind == "code":
            cell.update(execution_count=None, outputs=[])
        made.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    data = {
        "cells": made,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def make(root: Path, toc: str) -> Path:
    """A book's root at ``root``: the real extension and package, ``toc`` as _toc.yml."""
    (root / "book").mkdir(parents=True)
    own = ("course", "book/_ext", "book/_static", "book/_templates")
    for name in own:
        shutil.copytree(
            REPOSITORY / name, root / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    links = ("constraints.txt", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md")
    for name in links:
        if (REPOSITORY / name).exists():
            (root / name).symlink_to(REPOSITORY / name)
    for name in ("package.json", "package-lock.json", "references.bib"):
        (root / "book" / name).symlink_to(REPOSITORY / "book" / name)
    (root / "_build").mkdir()  # KaTeX and the fonts are fetched once, for the real book
    (root / "_build" / "npm").symlink_to(assets.node_modules(REPOSITORY).parent)
    shutil.copy(REPOSITORY / "_config.yml", root / "_config.yml")
    (root / "_toc.yml").write_text(toc, encoding="utf-8")
    return root


def run(*command: str, root: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command of this Python in ``root``; output and errors come back together."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return subprocess.run(
        [sys.executable, *command],
        cwd=root,
        env={**os.environ, "PATH": path, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=1200,
    )


def build(root: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """``book/_ext/build.py`` on the book at ``root``."""
    script = str(REPOSITORY / "book" / "_ext" / "build.py")
    return run(script, "--root", str(root), *options, root=root, **variables)


def execute(root: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """``book/_ext/execute.py`` on the book at ``root``."""
    script = str(REPOSITORY / "book" / "_ext" / "execute.py")
    return run(script, "--root", str(root), *options, root=root, **variables)


def jupyter_book(root: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Plain ``jupyter-book build .``, as somebody types it from habit."""
    entry = "import sys; from jupyter_book.cli.main import main; sys.exit(main())"
    return run("-c", entry, "build", ".", *options, root=root, **variables)


CLAIM = r"""
# The average cannot see order

**You will** prove it in one line, see it, and repair it. A *causal average* summarises what came
before, and [every summary](other.md) forgets something: here it is the order.

## What is kept and what is lost

For a query $\textcolor{#c2410c}{q_t}$ and keys $\textcolor{#0f766e}{k_s}$ the weights of a row are

$$
w_{ts} = \frac{\exp(\textcolor{#c2410c}{q_t} \cdot \textcolor{#0f766e}{k_s} / \sqrt{D})}
{\sum_{u \le t} \exp(\textcolor{#c2410c}{q_t} \cdot \textcolor{#0f766e}{k_u} / \sqrt{D})},
\qquad \sum_s w_{ts} = 1 .
$$ (weights)

Equation {eq}`weights` has no place for $s$ itself: shuffle the keys with their values
$\textcolor{#6d28d9}{v_s}$, and the sum is what it was. That is not a defect of training; it is what
a sum *is*. Footnotes work too.[^why]

[^why]: Because a finite sum may be taken in any order.

```{note}
Masks are boolean here, and `True` means *may attend*, as in `F.scaled_dot_product_attention`.
```

- the average weighs all alike, $1/t$ each;
- attention weighs by what is there;
- neither, without positions, knows *where* it was.

| rung | published | here |
|---|--:|--:|
| no context | 59.71 | 60.3 |
| the average instead | 248 | 247 |
| token plus average | 60.45 | 61.1 |
"""

FIGURE = """
import numpy as np, matplotlib.pyplot as plt
from course.figures.style import BASELINE, OURS, REFERENCE, draw_weights, spread, use_style
from course.figures.palette import LIGHT
use_style()
fig, (a, b) = plt.subplots(1, 2, figsize=(5, 2.7))
mask = np.tril(np.ones((6, 6), bool))
draw_weights(a, mask / mask.sum(1, keepdims=True), mask=mask)
x = np.arange(1, 9)
b.plot(x, 4 - 2.2 * np.log(x) / 2.1, **OURS); b.plot(x, 0 * x + 4, **BASELINE)
spread(b, x, 4 - 2.2 * np.log(x) / 2.1, 0 * x + 0.15, LIGHT["attention"])
b.plot([8], [1.9], **REFERENCE)
b.set(xlabel="block", ylabel="nats", xlim=(1, 8.3))
b.text(4.4, 4.1, "average", color=LIGHT["average"])
b.text(4.2, 2.9, "attention", color=LIGHT["attention"])
plt.show()
"""


def showcase(root: Path) -> Path:
    """A book with everything a chapter has: formulas, code, a figure, a table, a folded answer."""
    make(
        root,
        "format: jb-book\nroot: book/intro\nparts:\n"
        "- caption: From an average to a block\n  numbered: 1\n  chapters:\n"
        "  - file: book/01-average\n"
        "- caption: Beside the text\n  chapters:\n  - file: book/other\n",
    )
    notebook(
        root / "book" / "intro.ipynb",
        md(
            "# Attention from an average\n\n"
            "From the most obvious summary to a transformer, in tested steps."
        ),
        SETUP,
        PARAMETERS,
        code("1 + 1"),
    )
    notebook(
        root / "book" / "01-average.ipynb",
        md(CLAIM),
        SETUP,
        PARAMETERS,
        md("## The line that proves it\n\nTake a window, shuffle it, and average both."),
        code(
            "import torch\n\n"
            "torch.manual_seed(seed)\n"
            "x = torch.randn(2, 8, 16)                  # (B, T, C)\n"
            "q, k, v = x, x, x                          # each (B, T, C)\n"
            'scores = q @ k.transpose(-2, -1)           # (B, T, S): "who looks at whom"\n'
            "weights = scores.softmax(-1)               # (B, T, S), rows sum to 1\n"
            "shuffled = x[:, torch.randperm(8)]\n"
            "gap = (x.mean(1) - shuffled.mean(1)).abs().max().item()\n"
            "gap < 1e-6"
        ),
        md("How far apart are the two? Say a number before you open the answer."),
        code(
            "from course.figures import reveal\n"
            'reveal("How far apart are the two averages?",\n'
            '       f"At most `{gap:.0e}`: *rounding*, nothing else. A sum has no order.")',
            tags=["hide-input"],
        ),
        md("## The same in a picture"),
        code(
            FIGURE,
            tags=["hide-input"],
            mystnb={
                "image": {
                    "alt": "Left: the causal averaging matrix, row t has t equal weights. "
                    "Right: loss falls with attention and not with the average."
                },
                "figure": {"name": "fig-average", "caption": "An average, and what learns."},
            },
        ),
        md("{numref}`fig-average` shows both.\n\n```{warning}\nA finite mask leaks.\n```\n"),
        code("from tqdm import tqdm\nfor _ in tqdm(range(3)):\n    pass\nprint('done')"),
        md("```{admonition} Why is that so?\n:class: dropdown\nBecause.\n```\n"),
    )
    (root / "book" / "other.md").write_text(
        "# Another page\n\nBack to {doc}`01-average`, on which the average is shown to be blind.\n"
        "\n```python\nq, k = 1, 2  # not run\n```\n",
        encoding="utf-8",
    )
    return root
