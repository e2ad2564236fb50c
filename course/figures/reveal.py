"""Predict, then reveal: an answer that stays folded until the reader asks for it.

The answer is computed by the notebook and shown as a ``<details>`` element, which opens with the
keyboard, is announced by screen readers, needs no script, and works in JupyterLab and Colab as
on the static page. ::

    reveal("How far apart are the two summaries?", f"By {gap:.1e}: rounding, nothing else.")
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass


def _inline(text: str) -> str:
    """Escape ``text``; keep `` `code` `` and ``*emphasis*``."""
    parts = re.split(r"`([^`\n]+)`", text)
    for i, part in enumerate(parts):
        escaped = html.escape(part, quote=False)
        if i % 2:
            parts[i] = f"<code>{escaped}</code>"
        else:
            parts[i] = re.sub(r"\*(\S(?:[^*\n]*\S)?)\*", r"<em>\1</em>", escaped)
    return "".join(parts)


@dataclass(frozen=True)
class Reveal:
    """A folded answer. Made by :func:`reveal`; a notebook shows it as its cell's result."""

    summary: str
    body: tuple[object, ...]

    def _repr_html_(self) -> str:
        blocks = []
        for part in self.body:
            rich = getattr(part, "_repr_html_", None)
            if rich is not None:
                blocks.append(rich())
            else:
                paragraphs = re.split(r"\n\s*\n", str(part).strip())
                blocks += [f"<p>{_inline(p)}</p>" for p in paragraphs]
        inner = "\n".join(blocks)
        return (
            f'<details class="reveal">\n<summary>{_inline(self.summary)}</summary>\n'
            f'<div class="reveal-body">\n{inner}\n</div>\n</details>'
        )

    def __repr__(self) -> str:
        return "\n\n".join([self.summary, *(str(part) for part in self.body)])


def reveal(summary: str, *body: object) -> Reveal:
    """Return ``body`` folded under ``summary``.

    Parameters
    ----------
    summary
        The line that is always seen: the question, or "Answer".
    body
        What opens: texts (a blank line starts a paragraph; `` `code` `` and ``*emphasis*`` are
        kept, everything else is escaped), numbers, or objects that show themselves as HTML.

    Raises
    ------
    ValueError
        If the summary is empty (nothing could be clicked) or there is nothing to reveal.
    """
    if not summary.strip():
        raise ValueError("reveal needs a summary: it is the line a reader clicks")
    if not body or all(not str(part).strip() for part in body):
        raise ValueError(f"nothing to reveal under {summary!r}")
    return Reveal(summary, body)
