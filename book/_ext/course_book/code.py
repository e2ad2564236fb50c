"""Colour the names of queries, keys and values in code, as in formulas and figures."""

from __future__ import annotations

import re

_ROLE = {
    "query": {"q", "Q", "W_q", "q_proj", "query", "queries"},
    "key": {"k", "K", "W_k", "k_proj", "key", "keys"},
    "value": {"v", "V_", "W_v", "v_proj", "value", "values"},
}
_BY_NAME = {name: role for role, names in _ROLE.items() for name in names}
_BLOCK = re.compile(r'<div class="highlight"><pre>.*?</pre>', re.DOTALL)
_NAME = re.compile(r'<span class="(n|na|nn|bp)">([A-Za-z_]+)</span>')


# What the style sheet sets apart; the spans round all other tokens are most of a page's bytes.
_USED = re.compile(r"k[a-z]?|ow|c[a-z0-9]?|s[a-z0-9]?|n[fc]|err|g[ro]|.*(is-|ansi|-).*")


def _without_unused(text: str) -> str:
    return re.sub(
        r'<span class="([^"]+)">([^<]*)</span>',
        lambda m: m[0] if _USED.fullmatch(m[1]) else m[2],
        text,
    )


def colour_names(body: str) -> str:
    """Give each name of a query, key or value its class.

    Only in blocks that have both a query and a key: elsewhere ``k, v`` are the key and value of
    some dictionary.
    """

    def block(match: re.Match[str]) -> str:
        return _without_unused(coloured(match[0]))

    def coloured(text: str) -> str:
        roles = {_BY_NAME.get(name) for _, name in _NAME.findall(text)}
        if not {"query", "key"} <= roles:
            return text
        return _NAME.sub(one, text)

    def one(match: re.Match[str]) -> str:
        role = _BY_NAME.get(match[2])
        return f'<span class="{match[1]} is-{role}">{match[2]}</span>' if role else match[0]

    return _BLOCK.sub(block, body)
