"""Where a line may break: not in compound words of headings, GPT-2, ``t - 1``; but in long code.

A browser breaks a line after any hyphen and at any blank. That is right in a paragraph, and wrong
in a title ("the feed- / forward network"), in a name ("GPT- / 3") and in a short piece of code.
A long name in code, ``course.models.encoder_decoder``, it breaks anywhere or not at all: such a
name gets places to break at, after its dots, slashes and the like.
"""

from __future__ import annotations

import html
import re

LONGEST = 14  # characters of code that stay together: more would not fit on a telephone
_HEADING = re.compile(r"<(h[1-4])\b[^>]*>.*?</\1>", re.DOTALL)
_IN_HEADING = re.compile(r"(<[^>]+>|&#?\w+;)|\b[^\W\d_]+(?:-\w+)+\b")
_NAME = re.compile(
    r"(<(script|style|pre|code|svg|math|annotation)\b.*?</\2>|<[^>]+>)|\b[A-Z]{2,}-\d\w*\b",
    re.DOTALL,
)
_CODE = re.compile(r"<pre\b.*?</pre>|<code(| [^>]*)>(.*?)</code>", re.DOTALL)
# docutils puts each word of a piece of code into a span: one that is broken at a hyphen is not read
_OPTION = re.compile(rf'<span class="pre">(-[^<]{{1,{LONGEST - 1}}})</span>')
_WORD = re.compile(r"(?<![^\s>])[^\s<>]+(?![^\s<])")
# after a dot, slash, bracket or equals sign that a letter follows, or a low line inside a name
_JOINT = re.compile(r"(?<=[^\s;][./])(?=[^\W\d_])|(?<=\w[(=])(?=[^\W\d_])|(?<=[^\W_]_)(?=[^\W_])")


def _wrapped(match: re.Match[str]) -> str:
    return match[0] if match[1] else f'<span class="whole">{match[0]}</span>'


def _word(match: re.Match[str]) -> str:
    return _JOINT.sub("<wbr>", match[0]) if len(html.unescape(match[0])) > LONGEST else match[0]


def _code(match: re.Match[str]) -> str:
    if match[2] is None:  # a block
        return match[0]
    attributes, text = match[1], re.sub(r"<[^>]+>", "", match[2])
    if len(html.unescape(text)) > LONGEST:
        inner = _OPTION.sub(r'<span class="pre whole">\1</span>', match[2])
        return f"<code{attributes}>{_WORD.sub(_word, inner)}</code>"
    if not re.search(r"\s|^-", text):
        return match[0]
    attributes = attributes.replace('class="', 'class="whole ', 1) or ' class="whole"'
    return f"<code{attributes}>{match[2]}</code>"


def whole(body: str) -> str:
    """A page's HTML with what belongs together held together.

    >>> whole("<h2>The feed-forward network</h2><p>GPT-2 is feed-forward.</p>")
    '<h2>The <span class="whole">feed-forward</span> network</h2><p><span class="whole">GPT-2</span> is feed-forward.</p>'
    """  # noqa: E501
    body = _HEADING.sub(lambda heading: _IN_HEADING.sub(_wrapped, heading[0]), body)
    # a name in a heading is in a span already, and would get a second one: it does no harm
    return _CODE.sub(_code, _NAME.sub(_wrapped, body))
