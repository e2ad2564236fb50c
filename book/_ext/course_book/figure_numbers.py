"""Figures of a page that has no number itself: 1, 2, … on each page.

Sphinx counts them on from page to page, so that the first figure a reader meets in an appendix
would be the third.
"""

from __future__ import annotations

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def by_page(_: Sphinx, env: BuildEnvironment) -> list[str]:
    """The ``env-get-updated`` event, after Sphinx's own counting: count anew where a number is not
    of the form 5.1. No page has to be written for it that would not be written anyway."""
    for kinds in env.toc_fignumbers.values():
        for numbers in kinds.values():
            own = sorted((number, name) for name, number in numbers.items() if len(number) == 1)
            for count, (_number, name) in enumerate(own, 1):
                numbers[name] = (count,)
    return []
