"""What must not be broken at the end of a line: compound words in headings, GPT-2, ``t - 1``.

A browser breaks a line after any hyphen and at any blank. That is right in a paragraph, and wrong
in a title ("the feed- / forward network"), in a name ("GPT- / 3") and in a short piece of code.
"""

from __future__ import annotations

import re

LONGEST = 14  # characters of code that stay together: more would not fit on a telephone
_HEADING = re.compile(r"<(h[1-4])\b[^>]*>.*?</\1>", re.DOTALL)
_IN_HEADING = re.compile(r"(<[^>]+>|&#?\w+;)|\b[^\W\d_]+(?:-\w+)+\b")
_NAME = re.compile(
    r"(<(script|style|pre|code|svg|math|annotation)\b.*?</\2>|<[^>]+>)|\b[A-Z]{2,}-\d\w*\b",
    re.DOTALL,
)
_CODE = re.compile(r'<code class="docutils literal notranslate">(.*?)</code>', re.DOTALL)


def _wrapped(match: re.Match[str]) -> str:
    return match[0] if match[1] else f'<span class="whole">{match[0]}</span>'


def _code(match: re.Match[str]) -> str:
    text = re.sub(r"<[^>]+>", "", match[1])
    if " " not in text or len(text) > LONGEST:
        return match[0]
    return match[0].replace('class="', 'class="whole ', 1)


def whole(body: str) -> str:
    """A page's HTML with what belongs together held together.

    >>> whole("<h2>The feed-forward network</h2><p>GPT-2 is feed-forward.</p>")
    '<h2>The <span class="whole">feed-forward</span> network</h2><p><span class="whole">GPT-2</span> is feed-forward.</p>'
    """  # noqa: E501
    body = _HEADING.sub(lambda heading: _IN_HEADING.sub(_wrapped, heading[0]), body)
    # a name in a heading is in a span already, and would get a second one: it does no harm
    return _CODE.sub(_code, _NAME.sub(_wrapped, body))
