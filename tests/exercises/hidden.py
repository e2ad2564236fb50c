"""The lines that only the instructor and the judge may read."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HIDDEN = re.compile(r"### BEGIN HIDDEN TESTS\n(.*?)\s*### END HIDDEN TESTS", re.S)


def hidden_lines(slug: str = "*") -> set[str]:
    """Lines of hidden tests (and of hidden.py files) long enough to be nobody else's.

    Imports and calls of the public checks are left out: they read the same anywhere.
    """
    texts = [p.read_text(encoding="utf-8") for p in ROOT.glob(f"solutions/{slug}/hidden*.py")]
    for path in ROOT.glob(f"solutions/{slug}/*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            texts += HIDDEN.findall("".join(cell["source"]))
    lines = {line.strip() for text in texts for line in text.splitlines()}
    common = re.compile(r"from |import |.*checks=\[")
    return {line for line in lines if len(line) > 30 and not common.match(line)}
