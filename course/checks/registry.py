"""The thirteen assignments by slug, each loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name

from course.checks.engine import Exercise

# slug → the chapter the assignment follows, in the order of the course
SLUGS: dict[str, str] = {
    "average": "01-average",
    "masked-matmul": "02-masked-matmul",
    "softmax": "03-softmax",
    "qkv": "04-qkv",
    "scaling": "05-scaling",
    "head": "05-scaling",
    "heads": "06-heads",
    "block": "07-block",
    "positions": "08-positions",
    "cost": "09-cost",
    "gpt": "10-gpt",
    "encoder-decoder": "11-encoder-decoder",
    "what-a-head-does": "12-what-a-head-does",
}


def get(slug: str) -> Exercise:
    """The exercise with this slug.

    Raises:
        ValueError: there is none; the message lists those there are.
    """
    if slug not in SLUGS:
        raise ValueError(f"no exercise {slug!r}; there are: {', '.join(SLUGS)}")
    return LOADERS[slug]()


def find(name: str) -> tuple[Exercise, str | None]:
    """``"slug"`` or ``"slug:function"`` → the exercise and the function, if one is named.

    Raises:
        ValueError: there is no such exercise, or no such function in it.
    """
    slug, _, function = name.partition(":")
    exercise = get(slug)
    if function and function not in exercise.names:
        raise ValueError(f"{slug} has no {function!r}; it has: {', '.join(exercise.names)}")
    return exercise, function or None


def _load(module: str, name: str) -> Callable[[], Exercise]:
    def load() -> Exercise:
        found = resolve_name(f"course.checks.assignments.{module}:{name}")
        if not isinstance(found, Exercise):
            raise TypeError(f"course.checks.assignments.{module}.{name} is no Exercise")
        return found

    return load


LOADERS: dict[str, Callable[[], Exercise]] = {
    "average": _load("average", "average"),
    "masked-matmul": _load("masked_matmul", "masked_matmul"),
    "softmax": _load("softmax", "softmax"),
    "qkv": _load("qkv", "qkv"),
    "scaling": _load("scaling", "scaling"),
    "head": _load("head", "head"),
    "heads": _load("heads", "heads"),
    "block": _load("block", "block"),
    "positions": _load("positions", "positions"),
    "cost": _load("cost", "cost"),
    "gpt": _load("gpt", "gpt"),
    "encoder-decoder": _load("encoder_decoder", "encoder_decoder"),
    "what-a-head-does": _load("what_a_head_does", "what_a_head_does"),
}
