"""A right answer that looks for the hidden tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.grading.hostile.case import FULL, Case, cells
from tests.grading.lab import RIGHT, SECRET

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
