"""What a feedback page may show: no hidden test, and no markup that runs.

The two filters replace nbconvert's own in every HTML page that nbgrader makes, also in its
formgrader: a ``<script>`` in a submission must not run in the instructor's browser either.
"""

from __future__ import annotations

import functools
import re
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
    cleaned = re.sub(r'href="\s*data:[^"]*"', "", _clean(text), flags=re.IGNORECASE)
    return _MATH_COMMANDS.sub(r"\\text", cleaned)


@functools.lru_cache(maxsize=512)
def safe_markdown(source: str) -> str:
    """Markdown as clean HTML; formulas stay as they are, for MathJax."""
    return clean_html(markdown2html(source))


class RedactHidden(NbGraderPreprocessor):
    """Cuts the hidden regions out of every cell of a feedback page."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], cell_index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Replace each hidden region by one line that says tests were run there."""
        cell.source = redact(cell.source)
        return cell, resources
