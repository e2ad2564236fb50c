"""What grades a learner's function or module: properties, named mistakes, one sentence for each.

In a notebook: ``from course.checks import self_check`` and ``self_check("head", Head)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from course.checks.notebook import points, self_check

__all__ = ["points", "self_check"]


def __getattr__(name: str) -> Any:
    # Lazily: the worker of the grader imports course.checks.subject and nothing else of this.
    if name in __all__:
        from course.checks import notebook

        return getattr(notebook, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
