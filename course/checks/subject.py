"""The only door through which a check sees a learner's code.

A *subject* carries out small **programs**: lists of operations, each a plain ``dict``. Only plain
data crosses: ``None``, booleans, numbers, strings, lists, tuples, string-keyed dicts and tensors
(as dtype, shape and raw bytes once `to_wire` has been applied). Objects the learner's code makes
never cross; they stay on the subject's side under a name that the *check* chose, so one batch may
build a module and use it at once. A check sends inputs and never an expected value.

`LocalSubject` runs programs in this process with an `Executor`. A remote subject needs nothing but
a transport: ``to_wire(program)`` there, ``Executor(namespace).run(from_wire(...))`` beside the
learner's code, ``to_wire(replies)`` back, which is all that `Subject.run` has to do.

The operations are listed in `course.checks.executor`.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
import types
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from course.checks.executor import Executor
from course.checks.probe import ProbeModel
from course.checks.wire import Gen, Op, Ref, Reply, SubjectError, from_wire, to_wire

__all__ = [
    "Executor",
    "Gen",
    "LocalSubject",
    "Op",
    "ProbeModel",
    "Ref",
    "Reply",
    "Subject",
    "SubjectError",
    "as_subject",
    "from_wire",
    "to_wire",
]


class Subject(ABC):
    """What a check may ask of a learner's code. Implement `run`; the rest is built on it.

    Attributes:
        source: the learner's source text, for the rule against importing the answer; ``None``
            where it cannot be had (then only run-time origins are looked at).
    """

    source: str | None = None

    @abstractmethod
    def run(self, program: Sequence[Op]) -> list[Reply]:
        """Carry out a program. See the module's docstring for the operations."""

    def ask(self, program: Sequence[Op]) -> list[Reply]:
        """`run`, raising the first error.

        Raises:
            SubjectError: an operation failed.
        """
        replies = self.run(program)
        for reply in replies:
            if "error" in reply:
                e = reply["error"]
                raise SubjectError(str(e["type"]), str(e["message"]), e.get("line"))
        return replies

    def call(self, on: str, *args: Any, seed: int | None = None, **kwargs: Any) -> Any:
        """Call a function or object with plain data and return the plain result."""
        op = {"op": "call", "on": on, "args": list(args), "kwargs": kwargs, "seed": seed}
        return self.ask([op])[0]["value"]


class LocalSubject(Subject):
    """A subject in this process: the learner's self-check, and the command line."""

    def __init__(
        self,
        namespace: Mapping[str, Any],
        source: str | None = None,
        own_files: Sequence[str] = (),
    ) -> None:
        self.source = source
        self._executor = Executor(namespace, own_files)

    def run(self, program: Sequence[Op]) -> list[Reply]:
        """Carry out a program here; what the learner's code prints is not shown."""
        with contextlib.redirect_stdout(io.StringIO()):
            return self._executor.run(program)

    @classmethod
    def from_source(cls, source: str, filename: str = "<your code>") -> LocalSubject:
        """Execute ``source`` in a fresh module and wrap what it defines.

        Raises:
            SubjectError: the source does not compile or raises.
        """
        module = types.ModuleType("submission")
        module.__file__ = filename
        sys.modules["submission"] = module
        executor = Executor(module.__dict__, (filename,))
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(source, filename, "exec"), module.__dict__)
        except SyntaxError as error:
            raise SubjectError("SyntaxError", str(error.msg), error.lineno) from error
        except (Exception, SystemExit) as error:
            e = executor._describe_error(error)
            raise SubjectError(e["type"], e["message"], e["line"]) from error
        return cls(module.__dict__, source, (filename,))


def as_subject(thing: Any, name: str) -> Subject:
    """Make a subject of what a notebook cell has in its hands.

    Args:
        thing: a `Subject`; a proxy with a method ``__course_subject__() -> Subject`` (the grader's
            judge hands these to its cells); or the learner's own function or class.
        name: the name the exercise gives it.
    """
    if isinstance(thing, Subject):
        return thing
    hook = getattr(type(thing), "__course_subject__", None)
    if hook is not None:
        return hook(thing)
    return LocalSubject({name: thing}, _source_of(thing))


def _source_of(thing: Any) -> str | None:
    """All cells run so far in a notebook, else the object's own source."""
    try:
        shell = get_ipython()  # type: ignore[name-defined]
        return "\n".join(cell for cell in shell.user_ns["In"] if cell)
    except NameError:
        pass
    try:
        return inspect.getsource(inspect.getmodule(thing) or thing)
    except (OSError, TypeError):
        return None
