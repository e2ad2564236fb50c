"""The notation page is what ``course.notation`` says."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_the_notation():
    generator = runpy.run_path(str(ROOT / "book" / "_ext" / "notation_page.py"))
    written = (ROOT / "book" / "notation.md").read_text(encoding="utf-8")
    assert written == generator["page"](), "run: python book/_ext/notation_page.py"
    assert "| `D` | `d_head` |" in written
