"""What a feedback page may show: no hidden test, and no markup that runs.

The two filters replace nbconvert's own in every HTML page that nbgrader makes, also in its
formgrader: a ``<script>`` in a submission must not run in the instructor's browser either.
"""

from __future__ import annotations

import functools
import html as markup
import re
from collections import Counter
from typing import Any

import bleach
from bleach.css_sanitizer import CSSSanitizer
from nbconvert.filters import markdown2html
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from course.grading.regions import redact

TAGS = frozenset({
    "a", "abbr", "b", "blockquote", "br", "caption", "code", "dd", "del", "details", "div", "dl",
    "dt", "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "kbd",
    "li", "ol", "p", "pre", "s", "small", "span", "strong", "sub", "summary", "sup", "table",
    "tbody", "td", "tfoot", "th", "thead", "tr", "u", "ul",
})  # fmt: skip
ATTRIBUTES = {
    "*": ["class", "style", "title", "role", "aria-label", "lang"],
    "a": ["href"], "details": ["open"], "th": ["scope", "colspan", "rowspan"],
    "td": ["colspan", "rowspan"], "ol": ["start"],
}  # fmt: skip
STYLES = ["color", "background-color", "font-weight", "font-style", "text-align", "width"]
_PICTURE = re.compile(r"data:image/(png|jpeg|gif);base64,[A-Za-z0-9+/=\s]*")
_MATH_COMMANDS = re.compile(r"\\(href|require|cssId|class|style|unicode)\b")  # MathJax obeys these
# What is longer or nested more deeply is shown as it was written: its readers take quadratic time.
LONGEST_MARKDOWN, MOST_TAGS, DEEPEST = 100_000, 20_000, 200
_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*)")
# Tags that nothing is put into, or that the next one closes.
FLAT = frozenset({
    "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta",
    "option", "p", "source", "tbody", "td", "tfoot", "th", "thead", "tr", "track", "wbr",
})  # fmt: skip
_UNSEEN = re.compile(r"<(style|script)\b.*?(</\1\s*>|$)", re.IGNORECASE | re.DOTALL)


def _image_attribute(tag: str, name: str, value: str) -> bool:
    """Pictures only from the page itself: a remote one would tell its server who is reading."""
    return name in ("alt", "width", "height") or (
        name == "src" and _PICTURE.fullmatch(value) is not None
    )


@functools.lru_cache(maxsize=512)
def _clean(html: str) -> str:
    return str(bleach.clean(
        _UNSEEN.sub("", html), tags=TAGS, attributes={**ATTRIBUTES, "img": _image_attribute},
        protocols=["http", "https", "mailto", "data"], strip=True,
        css_sanitizer=CSSSanitizer(allowed_css_properties=STYLES),
    ))  # fmt: skip


def clean_html(html: Any) -> str:
    """HTML with nothing in it that runs or asks another server for something.

    ``data:`` survives in pictures alone: a link to it would open a page of the learner's making.
    """
    text = html.decode("utf-8", "replace") if isinstance(html, bytes) else str(html)
    try:
        cleaned = _clean(text) if _readable(text) else _as_written(text)
    except RecursionError:
        cleaned = _as_written(text)
    cleaned = re.sub(r'href="\s*data:[^"]*"', "", cleaned, flags=re.IGNORECASE)
    return _MATH_COMMANDS.sub(r"\\text", cleaned)


@functools.lru_cache(maxsize=512)
def safe_markdown(source: str) -> str:
    """Markdown as clean HTML; formulas stay as they are, for MathJax.

    Pasted pictures are not kept (`course.grading.intake`), and nbconvert makes no page of a
    notebook that still speaks of them: their place is left empty.
    """
    if len(source) > LONGEST_MARKDOWN or not _readable(source):
        return _as_written(source)
    try:
        return clean_html(markdown2html(source.replace("attachment:", "#pasted:")))
    except RecursionError:
        return _as_written(source)


def _readable(text: str) -> bool:
    """Whether there are few enough tags, and not too many within each other."""
    if text.count("<") > MOST_TAGS:
        return False
    open_tags: Counter[str] = Counter()
    depth = 0
    for tag in _TAG.finditer(text):
        name = tag[2].lower()
        if name in FLAT:
            continue
        if not tag[1]:
            open_tags[name] += 1
            depth += 1
        elif open_tags[name]:
            open_tags[name] -= 1
            depth -= 1
        if depth > DEEPEST:
            return False
    return True


def _as_written(text: str) -> str:
    return f"<pre>{markup.escape(text)}</pre>"


class RedactHidden(NbGraderPreprocessor):
    """Cuts the hidden regions out of every cell of a feedback page."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], cell_index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Replace each hidden region by one line that says tests were run there."""
        cell.source = redact(cell.source)
        return cell, resources
