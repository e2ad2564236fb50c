"""What a page does with its tables: each can be scrolled sideways, and says what its cells are."""

from __future__ import annotations

import html
import re

MANY = 4  # columns, beside which a text has no room on a telephone
LONG = 90  # characters of a cell that make its column one of text
NAME = 12  # characters of a name from which on a column may be narrower than it
_TABLE = re.compile(r"<table\b.*?</table>", re.DOTALL)
_TAG = re.compile(r"<table\b([^>]*)>")
_HEAD = re.compile(r"<thead>.*?</thead>\n?", re.DOTALL)
_ROW = re.compile(r"<tr\b.*?</tr>", re.DOTALL)
_CELL = re.compile(r"<t([hd])\b([^>]*)>(.*?)</t\1>", re.DOTALL)
# the name of a row, or of a group of rows, as docutils writes a cell of a stub column
_STUB = re.compile(r'<th class="stub"((?: colspan="\d+")?)>')
# a cell of nothing but Python's strings: ',' ':' ' of'
_STRING = r"""(?:'(?:[^'\\<]|\\.)+'|"(?:[^"\\<]|\\.)+")"""
_STRINGS = re.compile(rf"(<td[^>]*>)({_STRING}(?: {_STRING})*)(?=</td>)")


# markup, or a name that is longer than a column of a telephone wants to be wide
_NAME = re.compile(
    rf"(<(svg|math|pre)\b.*?</\2>|<[^>]+>)|(?<![\w&#])[@\w][\w./@-]{{{NAME - 1},}}", re.DOTALL
)
# inside it after a low line or slash, and before a capital
_JOINT = re.compile(r"(?<=[^\W_][_/])(?=[^\W_])|(?<=[a-z])(?=[A-Z][a-z])")


def words(cell: str) -> str:
    """The text of a cell."""
    return html.unescape(re.sub(r"<[^>]+>", "", cell)).strip()


def _of(name: str, attributes: str) -> str:
    """The attributes of an element, with a class more."""
    if 'class="' in attributes:
        return attributes.replace('class="', f'class="{name} ', 1)
    return f'{attributes} class="{name}"'


def _said(head: re.Match[str]) -> str:
    return head[0] if words(head[0]) else ""


def _scoped(stub: re.Match[str]) -> str:
    return f'<th scope="row{"group" if stub[1] else ""}"{stub[1]}>'


def _as_code(cell: re.Match[str]) -> str:
    return cell[1] + re.sub(_STRING, r'<code class="whole">\g<0></code>', cell[2])


def stacked(table: str) -> str:
    """A table of many columns with those of text marked: a telephone gives each a line of its own.

    Two or three columns leave a text room enough.
    """
    rows = [[words(cell[3]) for cell in _CELL.finditer(row)] for row in _ROW.findall(table)]
    columns = len(rows[0]) if rows else 0
    if columns < MANY or any(len(row) != columns for row in rows):
        return table
    texts = {i for row in rows for i, text in enumerate(row) if len(text) > LONG}
    if not texts:
        return table

    def row(match: re.Match[str]) -> str:
        number = iter(range(columns))
        return _CELL.sub(lambda cell: one(cell, next(number)), match[0])

    def one(cell: re.Match[str], column: int) -> str:
        if column not in texts:
            return cell[0]
        return f"<t{cell[1]}{_of('text', cell[2])}>{cell[3]}</t{cell[1]}>"

    style = f' style="--others: {columns - len(texts)}"'
    return _TAG.sub(lambda tag: f"<table{_of('stack', tag[1])}{style}>", _ROW.sub(row, table), 1)


def _finished(match: re.Match[str]) -> str:
    table = _STUB.sub(_scoped, _HEAD.sub(_said, match[0], count=1))
    table = stacked(_STRINGS.sub(_as_code, table))
    table = _NAME.sub(lambda m: m[0] if m[1] else _JOINT.sub("<wbr>", m[0]), table)
    return f'<div class="scroll">{table}</div>'


def finish(body: str) -> str:
    """A page's HTML with its tables as the style sheet wants them.

    A head that says nothing is dropped, strings of Python are code, and what is wider than the
    page can be scrolled.
    """
    return _TABLE.sub(_finished, body)
