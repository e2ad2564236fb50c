"""Code that ends, hangs or floods."""

from __future__ import annotations

from collections.abc import Iterator

from tests.grading.hostile.case import FULL, Case, cells
from tests.grading.lab import RIGHT


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
