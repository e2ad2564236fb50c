"""The comparisons, in the order of the page."""

from __future__ import annotations

from benchmarks.comparison import Comparison

NAMES = {
    "training-step": "benchmarks.training_step",
    "generation": "benchmarks.generation",
    "tokenizer": "benchmarks.tokenizer",
    "start-up": "benchmarks.start_up",
    "widgets": "benchmarks.widgets",
    "pages": "benchmarks.pages",
    "lighthouse": "benchmarks.lighthouse",
    "memory": "benchmarks.memory",
    "growth": "benchmarks.growth",
    "grading": "benchmarks.grading",
    "book-build": "benchmarks.book_build",
}


def get(name: str) -> Comparison:
    """A comparison by name; its module is imported only now.

    Raises:
        KeyError: there is none of that name; the message lists them.
    """
    from importlib import import_module

    if name not in NAMES:
        raise KeyError(f"no comparison is called {name!r}; there are: {', '.join(NAMES)}")
    found: Comparison = import_module(NAMES[name]).COMPARISON
    return found
