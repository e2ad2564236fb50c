"""A wrong answer, and an attempt to have it counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.grading.hostile.case import NOTHING, Case, cells, edited
from tests.grading.lab import WRONG, find


def forging() -> Iterator[Case]:
    """A wrong answer and an attempt to have it counted."""
    yield edited("skip-execution", NOTHING, lambda nb: [
        c.metadata.update(tags=["skip-execution"]) for c in nb.cells
    ], answer=WRONG)  # fmt: skip
    yield cells(
        "ast-transformer",
        NOTHING,
        """import ast
class NoAsserts(ast.NodeTransformer):
    def visit_Assert(self, node):
        return ast.copy_location(ast.Pass(), node)
get_ipython().ast_transformers.append(NoAsserts())""",
    )
    yield cells(
        "kernel-patch",
        NOTHING,
        """shell = get_ipython()
type(shell).run_cell = lambda self, *a, **k: None
try:
    shell.kernel.do_execute = lambda *a, **k: {"status": "ok"}
except AttributeError:
    pass""",
    )
    yield cells(
        "always-equal",
        NOTHING,
        answer="""class Equal:
    shape, dtype = (3,), torch.float32
    def __eq__(self, other): return True
    def __bool__(self): return True
    def __array__(self, *a, **k): return [2.0, 2.0, 2.0]
    def __torch_function__(self, *a, **k): return True
def double(x):
    return Equal()""",
    )
    yield cells(
        "equal-tensor",
        NOTHING,
        answer="""class Equal(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None): return True
def double(x):
    return torch.ones_like(x).as_subclass(Equal)""",
    )
    yield cells(
        "patched-torch",
        NOTHING,
        """import builtins, math
torch.equal = torch.allclose = torch.isclose = lambda *a, **k: True
torch.Tensor.__eq__ = lambda *a: True
builtins.bool = builtins.all = builtins.abs = lambda *a: True
torch.testing.assert_close = lambda *a, **k: None""",
    )
    yield cells(
        "rebound-torch",
        NOTHING,
        answer="""class Fake:
    def __getattr__(self, name): return lambda *a, **k: True
def double(x):
    return True
torch = Fake()""",
    )
    yield cells(
        "forged-result",
        NOTHING,
        """from IPython.display import display
display(10.0)
get_ipython().displayhook.write_format_data({"text/plain": "10.0"}, {})
print("10.0")""",
        answer=WRONG + "\n10.0",
    )
    # A forged reply is judged as if the code had said it: 2 is right where the input is 1.
    yield cells(
        "forged-replies",
        2.0,
        """from course.checks import subject
class Cheat(subject.Executor):
    def run(self, program):
        return [{"value": torch.full((3,), 2.0)} for _ in program]
subject.Executor.run = Cheat.run""",
    )
    yield cells("forged-messages", NOTHING, """import os, socket, stat
for fd in range(3, 64):
    try:
        if stat.S_ISSOCK(os.fstat(fd).st_mode):
            os.write(fd, b"\\0\\0\\0\\x02\\0\\0\\0\\x04{}true" * 3)
    except OSError:
        pass""")  # fmt: skip
    yield cells(
        "nonsense-messages",
        NOTHING,
        """import os, stat
for fd in range(3, 64):
    try:
        if stat.S_ISSOCK(os.fstat(fd).st_mode):
            os.write(fd, b"\\xff" * 100)
    except OSError:
        pass""",
    )
    yield cells("own-points", NOTHING, "points = lambda *a, **k: 10.0\nearned = 10.0\nx = None")
    yield edited("points-edited", NOTHING, _raise_points, answer=WRONG, says="")
    yield edited("tests-edited", NOTHING, _empty_tests, answer=WRONG, says="had been edited")
    yield cells("cyclic-result", NOTHING, answer="def double(x):\n    a = []\n    a.append(a)\n"
                "    return a")  # fmt: skip
    yield cells(
        "deep-result",
        NOTHING,
        answer="""def double(x):
    a = 1.0
    for _ in range(900):
        a = [a]
    return a""",
    )
    yield cells("huge-number", NOTHING, answer="def double(x):\n    return 10 ** 100_000")


def _raise_points(nb: Any) -> None:
    for name in ("visible", "hidden", "partial"):
        find(nb, name).metadata.nbgrader["points"] = 100
        find(nb, name).metadata.nbgrader["solution"] = True


def _empty_tests(nb: Any) -> None:
    for name in ("visible", "hidden", "partial"):
        find(nb, name).source = "10.0"
