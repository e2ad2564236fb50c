"""The notation page and the glossary are what ``course.notation`` says."""

from __future__ import annotations

import runpy
from pathlib import Path

from course.notation import GLOSSARY
from tests.book import minibook

from course_book import toc  # isort: skip

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_the_notation():
    generator = runpy.run_path(str(ROOT / "book" / "_ext" / "notation_page.py"))
    written = (ROOT / "book" / "notation.md").read_text(encoding="utf-8")
    assert written == generator["page"](), "run: python book/_ext/notation_page.py"
    assert "| `D` | `d_head` |" in written


def test_the_glossary_is_the_package_s_and_leads_to_the_chapters():
    generator = runpy.run_path(str(ROOT / "book" / "_ext" / "notation_page.py"))
    written = (ROOT / "book" / "glossary.md").read_text(encoding="utf-8")
    assert written == generator["glossary"](), "run: python book/_ext/notation_page.py"
    words = [w.word for w in GLOSSARY]
    assert words == sorted(words, key=str.casefold)
    chapters = {name for _, numbered, names in toc.PARTS if numbered for name in names}
    assert {w.chapter for w in GLOSSARY} <= chapters
    assert minibook.REPOSITORY == ROOT
