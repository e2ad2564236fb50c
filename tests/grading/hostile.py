"""Submissions that cheat, break things or were unlucky: what each hands in, and what it deserves.

Every row of the specification's table is here. All are graded in one run (`test_hostile.py`), so
that each also shows that the others do not suffer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from tests.grading.lab import RIGHT, SECRET, WRONG, Lab, find, is_cell

FULL, NOTHING = 10.0, 0.0


@dataclass(frozen=True)
class Case:
    """A submission: ``hand_in`` puts it into the lab's folder for a learner of this name."""

    name: str
    deserves: float
    hand_in: Callable[[Lab, str], None]
    says: str = ""  # what the autograded notebook must say


def cells(name: str, deserves: float, *before: str, answer: str = WRONG, says: str = "") -> Case:
    """A submission that differs from the release by code."""
    return Case(name, deserves, lambda lab, who: lab.submit(who, lab.notebook(answer, before)) and
                None, says)  # fmt: skip


def edited(
    name: str, deserves: float, edit: Callable[[Any], None], answer: str = RIGHT, says: str = ""
) -> Case:
    """A submission that differs from the release by its structure."""

    def hand_in(lab: Lab, who: str) -> None:
        nb = lab.notebook(answer)
        edit(nb)
        folder = lab.submit(who, None)
        # json and not nbformat: many of these are not valid notebooks
        (folder / "tiny.ipynb").write_text(json.dumps(nb), encoding="utf-8")

    return Case(name, deserves, hand_in, says)


def raw(name: str, data: bytes, says: str, file: str = "tiny.ipynb") -> Case:
    """A file that is no notebook: a zero with an explanation."""

    def hand_in(lab: Lab, who: str) -> None:
        lab.submit(who, data, file)

    return Case(name, NOTHING, hand_in, says)


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


SEARCH = f"""import gc, linecache, os, sys
word = "hidden-" + {SECRET.removeprefix("hidden-")!r}
found = []
def look(text, where):
    if isinstance(text, str) and word in text and text != word and "word = " not in text:
        found.append(where)
def everywhere():
    frame = sys._getframe()
    while frame:
        for value in [*frame.f_locals.values(), *frame.f_globals.values()]:
            look(value, "frames")
        frame = frame.f_back
    for thing in gc.get_objects():
        if isinstance(thing, dict):
            for value in list(thing.values()):
                look(value, "objects")
        elif isinstance(thing, (list, tuple)):
            for value in thing:
                look(value, "objects")
    for name, entry in list(linecache.cache.items()):
        look("".join(entry[2]) if len(entry) > 2 else "", "linecache")
    for value in list(globals().get("In", [])):
        look(value, "In")
def files():
    for top, folders, names in os.walk("/"):
        # The interpreter's own files are everybody's; the learner's code runs on them.
        if top.startswith(("/proc/sys", "/sys", "/usr", "/lib", sys.prefix, sys.base_prefix)):
            folders[:] = []
            continue
        for name in names:
            path = os.path.join(top, name)
            if name.endswith(".ipynb") or "hidden" in name.lower():
                found.append(path)
            elif name.endswith((".db", ".sqlite")):  # a tool's cache is none of ours
                data = open(path, "rb").read()
                if any(w.encode() in data for w in ("grade_cell", "TABLE history", word)):
                    found.append(path)
            elif top.startswith("/proc/") and name in ("environ", "cmdline"):
                try:
                    look(open(path, "rb").read().decode(errors="replace"), path)
                except OSError:
                    pass
"""


def spying(root: Path) -> Iterator[Case]:
    """A right answer that looks for the hidden tests: it keeps its marks and finds nothing."""
    body = ("def double(x):\n    everywhere()\n    if found:\n        print('LEAK', found)\n"
            "    return x + x")  # fmt: skip
    yield cells("spy-memory", FULL, SEARCH, answer=body)
    yield cells("spy-files", FULL, SEARCH + "files()\nprint('LEAK' if found else 'nothing', found)",
                answer=RIGHT, says="nothing []")  # fmt: skip
    inside = ("solutions/tiny/tiny.ipynb", "class/gradebook.db", "nbgrader_config.py")
    paths = [str(root / p) for p in inside]
    yield cells("spy-paths", FULL, f"""import os
for path in {paths!r} + ["/root/.bashrc", "/etc/passwd", "/etc/shadow"]:
    for p in (path, "/proc/1/root" + path):
        try:
            print("LEAK", [open(p).read()[:60]])
        except OSError as error:
            print("refused", type(error).__name__)""", answer=RIGHT, says="refused")  # fmt: skip
    yield cells(
        "spy-inputs",
        FULL,
        answer="""def double(x):
    print("LEAKED INPUT", x.tolist())
    return x + x""",
    )
    yield cells(
        "spy-error",
        5 + 2,
        answer="""calls = 0
def double(x):
    if x.dim() == 1 and x.numel() == 4:
        raise ValueError(f"SPILLED INPUT {x.tolist()}")
    return x + x""",
        says="in a hidden test",
    )


def breaking(root: Path, port: int) -> Iterator[Case]:
    """A wrong answer that tries to change what is outside its process."""
    database = root / "class" / "gradebook.db"
    yield cells(
        "update-grade",
        NOTHING,
        f"""import sqlite3
try:
    connection = sqlite3.connect({str(database)!r})
    connection.execute("UPDATE grade SET auto_score = 10, manual_score = 10")
    connection.commit()
    print("CHANGED")
except sqlite3.Error as error:
    print("refused", error)""",
        says="refused",
    )
    yield cells(
        "write-course",
        NOTHING,
        f"""import course, pathlib, sys, torch
targets = [{str(root)!r}, {str(root / "solutions")!r}, pathlib.Path(course.__file__).parent,
           pathlib.Path(torch.__file__).parent, sys.prefix, "/", "/etc", "/usr", "/dev"]
for target in targets:
    try:
        pathlib.Path(target, "planted-7261").write_text("x")
        print("PLANTED", target)
    except OSError as error:
        print("refused", target)
try:
    open(course.__file__, "a")
    print("PLANTED")
except OSError:
    print("refused")""",
        says="refused",
    )
    yield cells(
        "network",
        NOTHING,
        f"""import socket, urllib.request
for address in (("127.0.0.1", {port}), ("1.1.1.1", 53), ("localhost", {port})):
    try:
        socket.create_connection(address, timeout=1).sendall(b"hello")
        print("CONNECTED", address)
    except OSError as error:
        print("refused", error)
for family in (socket.AF_NETLINK, 40, 38):  # netlink, vsock, the kernel's crypto
    try:
        socket.socket(family, socket.SOCK_DGRAM)
        print("family", family)
    except OSError as error:
        print("refused", family)""",
        says="refused",
    )
    yield cells(
        "orphan",
        NOTHING,
        """import os
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv("/bin/sleep", ["orphan-7261", "600"])
    os._exit(0)""",
    )
    yield cells(
        "kill-others",
        NOTHING,
        """import os, signal
for pid in list(range(1, 400)) + [-1]:
    if pid != os.getpid():
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass""",
    )
    yield cells(
        "gain-rights",
        NOTHING,
        """import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print("unshare", libc.unshare(0x10000000), libc.unshare(0x00020000))
print("mount", libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))
print("ptrace", libc.ptrace(16, 1, 0, 0))
for change in (lambda: os.setuid(0), lambda: os.setgroups([0]), lambda: os.chroot("/tmp")):
    try:
        change()
        print("GAINED")
    except OSError:
        print("refused")
print([line for line in open("/proc/self/status") if line.startswith("Cap")])""",
        says="refused",
    )
    yield Case("link-notebook", NOTHING, _link_notebook, "is a link")
    yield Case("link-file", FULL, _link_file, "was refused")
    yield Case("link-folder", NOTHING, _link_folder, "link to another folder")


def _link_notebook(lab: Lab, who: str) -> None:
    folder = lab.submit(who, None)
    (folder / "tiny.ipynb").symlink_to(lab.root / "solutions" / "tiny" / "tiny.ipynb")


def _link_file(lab: Lab, who: str) -> None:
    folder = lab.submit(who, lab.notebook())
    (folder / "data.txt").symlink_to("/etc/passwd")
    (folder / "folder").symlink_to("/etc")


def _link_folder(lab: Lab, who: str) -> None:
    folder = lab.root / "class" / "submitted" / who
    folder.mkdir(parents=True)
    (folder / "tiny").symlink_to(lab.root / "solutions" / "tiny")


def dying() -> Iterator[Case]:
    """Code that ends, hangs or floods: its own cell fails, the rest is graded."""
    sized = "def double(x):\n    if x.dim() == 2:\n        {}\n    return x + x"
    yield cells("exit-cell", FULL, "import os\nos._exit(3)", answer=RIGHT, says="exit status 3")
    yield cells("exit-in-test", 5.0, answer=sized.format("import os; os._exit(0)"),
                says="ended itself")  # fmt: skip
    yield cells("sys-exit", FULL, "import sys\nsys.exit(1)", "raise KeyboardInterrupt",
                answer=RIGHT, says="SystemExit")  # fmt: skip
    yield cells("crash", FULL, "import ctypes\nctypes.string_at(0)", answer=RIGHT, says="crashed")
    yield cells("recursion", FULL, "import sys\nsys.setrecursionlimit(10**9)\n"
                "def f(n): return f(n + 1) + 1\nf(0)", answer=RIGHT)  # fmt: skip
    yield cells("memory-list", FULL, "hoard = []\nwhile True:\n    hoard.append(bytes(10**7))",
                answer=RIGHT, says="MemoryError")  # fmt: skip
    yield cells("memory-tensor", FULL, "torch.ones(10**12)", answer=RIGHT, says="RuntimeError")
    yield cells("memory-many", FULL, """import os, time
for _ in range(12):
    if os.fork() == 0:
        hoard = bytearray(400 * 2**20)
        for i in range(0, len(hoard), 4096):
            hoard[i] = 1
        time.sleep(60)
time.sleep(60)""", answer=RIGHT)  # fmt: skip
    yield cells("fork-bomb", FULL, "import os\nwhile True:\n    try:\n        os.fork()\n"
                "    except OSError:\n        pass", answer=RIGHT)  # fmt: skip
    yield cells(
        "threads",
        FULL,
        """import threading, time
for _ in range(500):
    try:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    except RuntimeError as error:
        print("no more:", error)
        break""",
        answer=RIGHT,
    )
    yield cells("loop", FULL, "while True:\n    pass", answer=RIGHT, says="OutOfTime")
    yield cells("stubborn-loop", FULL, "while True:\n    try:\n        while True:\n"
                "            sum(range(100))\n    except BaseException:\n        pass",
                answer=RIGHT, says="endless loop")  # fmt: skip
    endless = "import collections, itertools\ncollections.deque(itertools.count(), maxlen=0)"
    yield cells("loop-in-c", FULL, endless, answer=RIGHT, says="endless loop")
    yield cells("sleep", FULL, "import time\ntime.sleep(10**6)", answer=RIGHT, says="OutOfTime")
    yield cells("loop-in-test", 5.0, answer=sized.format("while True: pass"), says="stopped after")
    yield cells("prints", FULL, "for _ in range(1000):\n    print('x' * 100_000)", answer=RIGHT,
                says="100,001,000 bytes were printed")  # fmt: skip
    yield cells("prints-in-test", FULL,
                answer="def double(x):\n    print('y' * 10**6)\n    return x + x",
                says="bytes were printed")  # fmt: skip
    yield cells("raw-output", FULL, "import os\nos.write(1, b'\\xff\\x00\\x1b[2J' * 10)\n"
                "os.system('echo from a child')", answer=RIGHT, says="from a child")  # fmt: skip
    yield cells("big-file", FULL, "open('/tmp/big', 'wb').write(bytes(10**9))", answer=RIGHT)
    yield cells("full-disk", FULL, "for i in range(100):\n    open(f'/tmp/f{i}', 'wb').write("
                "bytes(10**7))", answer=RIGHT, says="No space left")  # fmt: skip
    yield cells("warns", FULL, "import sys, warnings\nwarnings.warn('careful')\n"
                "print('noise', file=sys.stderr)",
                answer="import sys, warnings\ndef double(x):\n    warnings.warn('again')\n"
                "    print('more noise', file=sys.stderr)\n    return x + x",
                says="careful")  # fmt: skip
    closing = "import sys, os\nsys.stdout.close()\nos.close(1)\nos.close(2)"
    yield cells("closed-output", FULL, closing, answer=RIGHT)
    yield cells("broken-json", FULL, "import json\njson.dumps = lambda *a, **k: 'null'",
                answer=RIGHT)  # fmt: skip


def unlucky() -> Iterator[Case]:
    """What happens to honest notebooks on their way: rebuilt, and noted."""
    yield edited("as-released", FULL, lambda nb: None)
    yield edited("copied-solution", FULL, _copy("answer"), says="was there 2 times")
    yield edited("copied-stub", FULL, _copy_stub, says="was there 2 times")
    yield edited("copied-test", FULL, _copy("hidden"), says="was there 2 times")
    yield edited("no-metadata", FULL, _strip, says="lost its metadata")
    yield edited("odd-metadata", FULL, _odd_metadata)
    yield edited("retyped-solution", FULL, _retype("answer", "markdown"), says="had become a")
    yield edited("retyped-test", FULL, _retype("hidden", "raw"), says="had become a raw cell")
    yield edited("deleted-test", FULL, _delete("hidden"), says="was put back")
    yield edited("deleted-tests", FULL, _delete("visible", "hidden", "partial"),
                 says="was put back")  # fmt: skip
    yield edited("deleted-solution", NOTHING, _delete("answer"), says="was put back")
    yield edited("deleted-all", NOTHING, lambda nb: nb.cells.clear(), says="was put back")
    yield edited("unknown-cell", FULL, _unknown, says="not part of the assignment")
    yield edited("not-a-cell", FULL, lambda nb: nb.cells.extend([3, None, {"cell_type": "x"}]),
                 says="no cells were left out")  # fmt: skip
    yield edited("old-format", FULL, _old_format)
    yield edited("source-lists", FULL, _source_lists)
    yield edited("surrogates", FULL, lambda nb: nb.cells.append(
        {"cell_type": "code", "source": "# \ud800 \x00", "metadata": {}, "outputs": []}
    ))  # fmt: skip

    def with_bom(lab: Lab, who: str) -> None:
        text = json.dumps(lab.notebook())
        lab.submit(who, b"\xef\xbb\xbf" + text.encode())

    def utf16(lab: Lab, who: str) -> None:
        lab.submit(who, json.dumps(lab.notebook()).encode("utf-16"))

    yield Case("byte-order-mark", FULL, with_bom, "byte-order mark")
    yield Case("utf-16", FULL, utf16, "byte-order mark")


def unreadable() -> Iterator[Case]:
    """Files that hold no notebook: a zero with an explanation."""
    yield raw("invalid-json", b'{"cells": [', "not valid JSON")
    yield raw("empty-file", b"", "the file is empty")
    yield raw("conflict", b"<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> theirs\n", "conflict markers")
    yield raw("other-json", b'{"hello": 1}', "but no notebook")
    yield raw("a-number", b"17", "but no notebook")
    yield raw("nested", b"[" * 200_000, "not")
    yield raw("binary", bytes(range(256)) * 40, "not text")
    yield raw(
        "no-cells", b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}}', "no list of cells"
    )
    yield raw("new-format", b'{"nbformat": 99, "cells": []}', "format 99")
    yield raw("a-picture", b"\x89PNG\r\n", "There is no tiny.ipynb", file="photo.png")

    def renamed(lab: Lab, who: str) -> None:
        lab.submit(who, lab.notebook(), "tiny (1).ipynb")

    def nothing(lab: Lab, who: str) -> None:
        lab.submit(who, None)

    yield Case("renamed", NOTHING, renamed, "tiny (1).ipynb")
    yield Case("nothing", NOTHING, nothing, "There is no tiny.ipynb")


def _copy(name: str) -> Callable[[Any], None]:
    def edit(nb: Any) -> None:
        at = next(i for i, c in enumerate(nb.cells) if is_cell(c, name))
        nb.cells.insert(at + 1, nbformat.from_dict(json.loads(json.dumps(nb.cells[at]))))

    return edit


def _copy_stub(nb: Any) -> None:
    """The learner kept an untouched copy of the stub, below the answer."""
    at = next(i for i, c in enumerate(nb.cells) if is_cell(c, "answer"))
    stub = nbformat.from_dict(json.loads(json.dumps(nb.cells[at])))
    stub.source = 'def double(x):\n    """Twice x."""\n    # YOUR CODE HERE\n    ' \
                  "raise NotImplementedError()"  # fmt: skip
    nb.cells.insert(at + 1, stub)


def _strip(nb: Any) -> None:
    for cell in nb.cells:
        cell.metadata = {}
    nb.metadata = {}


def _odd_metadata(nb: Any) -> None:
    nb.metadata = {"kernelspec": {"name": "nonsense"}, "language_info": 3}
    for cell in nb.cells:
        cell.metadata["nbgrader"] = {**cell.metadata.get("nbgrader", {}), "schema_version": 99,
                                     "grade": "yes", "locked": None, "points": "NaN"}  # fmt: skip


def _retype(name: str, kind: str) -> Callable[[Any], None]:
    return lambda nb: find(nb, name).update(cell_type=kind)


def _delete(*names: str) -> Callable[[Any], None]:
    def edit(nb: Any) -> None:
        nb.cells = [c for c in nb.cells if not any(is_cell(c, n) for n in names)]

    return edit


def _unknown(nb: Any) -> None:
    cell = nbformat.v4.new_code_cell("1 + 1")
    cell.metadata["nbgrader"] = {"grade_id": "bonus", "grade": True, "points": 50}
    nb.cells.append(cell)


def _old_format(nb: Any) -> None:
    nb.nbformat_minor = 2
    for cell in nb.cells:
        cell.pop("id", None)


def _source_lists(nb: Any) -> None:
    for cell in nb.cells:
        cell["source"] = cell["source"].splitlines(keepends=True)


def all_cases(root: Path, port: int) -> list[Case]:
    """Everything, by unique name."""
    found = [*forging(), *spying(root), *breaking(root, port), *dying(), *unlucky(), *unreadable()]
    assert len({c.name for c in found}) == len(found)
    return found
