"""The sandbox itself: refusals that say what to do, limits, ordinary users, no isolation."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

import course
from course.grading import names, running, sandbox
from course.grading.conductor import Cell, Conductor, Outcome
from course.grading.limits import Limits
from course.grading.parent import WarmParent
from tests.grading.lab import RIGHT, ROOT, WRONG, Lab
from tests.grading.other_user import as_user

TEST = "assert torch.equal(double(torch.ones(3)), 2 * torch.ones(3))"


def run(parent: WarmParent, *cells: Cell, limits: Limits | None = None) -> list[Outcome]:
    return Conductor(parent, limits or Limits()).run(cells, names.Names(), 1)


def learner(source: str) -> Cell:
    return Cell("learner", source)


def test_a_missing_bubblewrap_is_refused_and_says_what_to_do(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.submit("ann", lab.notebook())
    sandbox.problem.cache_clear()
    monkeypatch.setattr(running, "_parents", {})
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: None)
    try:
        answer = lab.autograde()
        assert not answer["success"]
        said = str(answer)
        assert "apt install bubblewrap" in said
        assert "container" in said
        assert "isolation = 'none'" in said
        assert not (lab.root / "class" / "autograded" / "ann").exists()
        with pytest.raises(sandbox.SandboxError, match="Nothing was graded"):
            sandbox.require()
    finally:
        sandbox.problem.cache_clear()


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("bwrap: No permissions to create new namespace", "unprivileged_userns_clone"),
        ("bwrap: setting up uid map: Permission denied", "apparmor_restrict"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "systempaths"),
    ],
)
@pytest.mark.parametrize("container", [False, True])
def test_a_system_that_forbids_namespaces_is_named(
    said: str, advice: str, container: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox.problem.cache_clear()
    monkeypatch.setattr(sandbox, "in_container", lambda: container)
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: "/usr/bin/bwrap")
    monkeypatch.setattr(
        sandbox.subprocess, "run",
        lambda *a, **k: subprocess.CompletedProcess(a, 1, stdout="", stderr=said),
    )  # fmt: skip
    try:
        problem = sandbox.problem()
    finally:
        sandbox.problem.cache_clear()
    assert problem is not None
    assert said in problem
    assert ("--security-opt seccomp=unconfined" if container else advice) in problem


def test_a_container_is_known_by_what_its_engine_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "CONTAINER_FILES", (str(tmp_path / "left"),))
    for name in sandbox.CONTAINER_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert not sandbox.in_container()
    (tmp_path / "left").touch()
    assert sandbox.in_container()
    (tmp_path / "left").unlink()
    monkeypatch.setenv("container", "podman")
    assert sandbox.in_container()


def test_where_a_filter_forbids_namespaces_nothing_is_graded(
    lab: Lab, require_tool: Callable[[str], Path]
) -> None:
    """As in a container with its engine's own filter: the real bubblewrap, and it may not."""
    require_tool("bwrap")
    lab.submit("ann", lab.notebook())
    script = """import ctypes, os, sys
from course.grading import syscalls
ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # no new privileges: an ordinary user's filter needs it
syscalls.install()
os.execv(sys.executable, [sys.executable, "-m", "course", "grade", "tiny", *sys.argv[1:]])
"""
    root = ["--root", str(lab.root)]
    done = subprocess.run(
        [sys.executable, "-c", script, *root], capture_output=True, text=True, check=False,
        timeout=280, cwd=ROOT, env={**os.environ, "container": "docker"},
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "Nothing was graded. bubblewrap is installed but does not work here: bwrap: " in (
        said := " ".join(done.stderr.split())
    )
    assert "--security-opt seccomp=unconfined" in said
    assert "Traceback" not in done.stderr
    assert not (lab.root / "class" / "autograded" / "ann").exists()
    assert not list(lab.room.folder("records").rglob("*.json"))


def test_other_systems_are_told_about_the_container(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox.problem.cache_clear()
    monkeypatch.setattr(sandbox.sys, "platform", "darwin")
    try:
        problem = sandbox.problem()
    finally:
        sandbox.problem.cache_clear()
    assert problem is not None
    assert "container" in problem


def test_memory_of_all_processes_together(parent: WarmParent) -> None:
    """Ten children that hold 200 MB each stay under the limit of a process, not under all's."""
    hoard = """import os, time
for _ in range(10):
    if os.fork() == 0:
        hoard = bytearray(os.urandom(1) * (200 << 20))
        time.sleep(100)
time.sleep(100)"""
    limits = Limits(memory_mb=600, cell_seconds=90, notebook_seconds=100)
    first, second = run(parent, learner(hoard), learner("1 + 1"), limits=limits)
    assert first.error is not None
    assert "600 MB of memory" in first.error["message"]
    assert second.error is None


def test_a_dead_worker_is_replayed(parent: WarmParent) -> None:
    outcomes = run(
        parent, learner("import torch\na = 1"), learner("a += 1"), learner("a / 0"),
        learner("a += 1\nimport os\nos._exit(1)"), learner("a += 40\nprint(a)"),
    )  # fmt: skip
    assert outcomes[2].error is not None
    assert outcomes[3].error is not None
    assert outcomes[4].outputs == [{"output_type": "stream", "name": "stdout", "text": "42\n"}]


def test_budgets_of_cell_and_notebook(parent: WarmParent) -> None:
    limits = Limits(cell_seconds=2, notebook_seconds=3)
    outcomes = run(parent, *[learner("while True: pass")] * 4, limits=limits)
    assert [o.error["type"] for o in outcomes if o.error] == ["OutOfTime"] * 4
    assert "are used up" in str(outcomes[-1].error)
    assert sum(o.seconds for o in outcomes) < 30


def test_ordinary_notebook_habits_work(parent: WarmParent) -> None:
    outcomes = run(
        parent, learner("%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\n"
                        "plt.show()"),
        learner("import asyncio\nawait asyncio.sleep(0)\n1 + 1"), learner("%%time\nx = 3"),
        learner("!echo from the shell"), learner("import subprocess, threading\nx"),
        learner("open('notes.txt', 'w').write('kept')\nopen('notes.txt').read()"),
        learner("from course.attention import Head\nfrom course.corpus import load_corpus\nHead"),
        limits=Limits(cell_seconds=60, notebook_seconds=200),
    )  # fmt: skip
    assert [o.error for o in outcomes] == [None] * 7
    kinds = {k for o in outcomes[0].outputs for k in o.get("data", {})}
    assert "image/png" in kinds
    assert outcomes[1].outputs[-1]["data"]["text/plain"] == "2"
    assert "from the shell" in str(outcomes[3].outputs)


SCALE = """import torch
class Scale(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(n))
    def forward(self, x):
        return x * self.w * 3"""
PLAIN_TEST = """m = Scale(4)
x = torch.randn(2, 4, requires_grad=True)
m(x).sum().backward()
assert torch.equal(x.grad, torch.full((2, 4), 3.0))
assert [n for n, _ in m.named_parameters()] == ["w"]
assert m.train() is m
assert m.to(torch.float64).parameters()[0].dtype is torch.float64
m.load_state_dict({"w": torch.zeros(4)})
assert not m(x.detach().double()).any()
len(m.state_dict())"""


def test_gradients_cross_as_products(parent: WarmParent) -> None:
    _, test = run(parent, learner(SCALE), Cell("test", PLAIN_TEST))
    assert test.error is None
    assert test.points == 1


def test_the_worker_never_sees_the_instructors_files(parent: WarmParent) -> None:
    cells = [learner("import os\nprint(sorted(os.listdir('.')))"),
             Cell("test", "import hidden\nassert hidden.WORD == 'x'")]  # fmt: skip
    first, test = Conductor(parent, Limits()).run(
        cells, names.Names(), 1, files={"data/a.txt": b"1"}, test_files={"hidden.py": b"WORD = 'x'"}
    )
    assert test.error is None
    assert first.outputs[0]["text"] == "['data']\n"


def test_without_isolation_each_process_has_a_folder_that_goes_with_it() -> None:
    ask = learner("import os\nprint(os.getcwd(), sorted(os.listdir('.')))")
    test = Cell("test", "import hidden, os\nassert hidden.WORD == 'x'\nprint(os.getcwd())")
    with WarmParent(isolated=False) as own:
        first, second = Conductor(own, Limits()).run(
            [ask, test], names.Names(), 1,
            files={"a.txt": b"1"}, test_files={"hidden.py": b"WORD = 'x'"},
        )  # fmt: skip
        assert second.error is None
        theirs, _, listed = first.outputs[0]["text"].strip().partition(" ")
        ours = second.outputs[0]["text"].strip()
        assert listed == "['a.txt']"
    assert theirs != ours
    for folder in (theirs, ours):
        assert Path(folder).name.startswith("grading-")
        assert not Path(folder).exists()


def test_without_isolation_every_grade_is_marked(lab: Lab) -> None:
    from traitlets.config import Config

    from course.grading import record
    from course.grading.classroom import Classroom

    changes = Config()
    changes.SandboxExecute.isolation = "none"
    room = Classroom(lab.root, changes)
    lab.submit("ann", lab.notebook(RIGHT))
    lab.submit("bob", lab.notebook(WRONG))
    assert room.api.autograde("tiny", "*", force=True)["success"]
    assert (lab.total("ann"), lab.total("bob")) == (10, 0)
    assert "WITHOUT isolation" in lab.graded("ann").cells[0].source
    kept = list(record.read_all(room.folder("records"), "tiny"))
    assert [r["isolation"] for r in kept] == ["none", "none"]


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become an ordinary user")
def test_as_an_ordinary_user(require_tool: Callable[[str], Path], tmp_path: Path) -> None:
    """The environment may lie in a folder of mode 0700, so it is shown to that user read-only."""
    require_tool("bwrap")
    require_tool("setpriv")
    script = tmp_path / "as_user.py"
    script.write_text(f"""import os, sys
sys.path.insert(0, {str(ROOT)!r})
from course.grading import names
from course.grading.conductor import Cell, Conductor
from course.grading.limits import Limits
from course.grading.parent import WarmParent
assert os.getuid() == 12345
cells = [Cell("learner", {RIGHT!r} + "\\nimport os\\nprint(os.getuid(), os.listdir('/'))"),
         Cell("learner", "while True:\\n    try: os.fork()\\n    except OSError: pass"),
         Cell("learner", "print([l for l in open('/proc/self/status') if l.startswith('CapEff')])"),
         Cell("test", "import torch\\n{TEST}")]
with WarmParent() as parent:
    limits = Limits(cell_seconds=5, notebook_seconds=60, processes=20)
    for outcome in Conductor(parent, limits).run(cells, names.Names(), 0):
        print(outcome)
""")
    script.chmod(0o644)
    tmp_path.chmod(0o755)
    command = as_user(12345, 12345, [sys.executable, "/mnt/as_user.py"],
                      "--bind", str(tmp_path), "/mnt")  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=280, check=False, cwd="/"
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = done.stdout.splitlines()
    assert "12345" in lines[0]
    assert "0000000000000000" in lines[2]
    assert "error=None" in lines[3], lines[3]
    assert "error=None" not in lines[1]


def test_a_course_below_tmp_is_found_by_what_is_loaded_late(
    require_tool: Callable[[str], Path],
) -> None:
    """Each fork has an empty /tmp; a clone in it must not go with it, nor become writable."""
    require_tool("bwrap")
    folder = Path(tempfile.mkdtemp(prefix="course clone-", dir="/tmp"))
    try:
        copy = folder / "course"
        shutil.copytree(Path(course.__file__).parent, copy,
                        ignore=shutil.ignore_patterns("__pycache__", "records"))  # fmt: skip
        (copy / "__init__.py").chmod(0o666)  # only the mount keeps it as it is
        script = f"""import sys
sys.path.insert(0, {str(folder)!r})
import course
from course.grading import names
from course.grading.conductor import Cell, Conductor
from course.grading.limits import Limits
from course.grading.parent import WarmParent
assert course.__file__.startswith({str(folder)!r})
late = '''import course.attention, os
print(course.attention.__file__, os.listdir({str(folder)!r}), sorted(os.listdir("/tmp")))
try:
    open(course.__file__, "a")
    print("WRITTEN")
except OSError as error:
    print("refused", error.strerror)'''
cells = [Cell("learner", {RIGHT!r}), Cell("learner", late),
         Cell("test", "from course.checks import registry; registry.get('head'); 2.0")]
with WarmParent() as parent:
    for outcome in Conductor(parent, Limits()).run(cells, names.Names(), 0):
        print(outcome.points, outcome.error, outcome.outputs)
"""
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                              timeout=280, check=False, cwd="/")  # fmt: skip
    finally:
        shutil.rmtree(folder)
    assert done.returncode == 0, done.stderr[-3000:]
    first, late, test = done.stdout.splitlines()
    assert "None None" in first
    assert f"{copy}/attention.py ['course'] ['{folder.name}'" in late
    assert "refused Read-only file system" in late
    assert "WRITTEN" not in late
    assert test.startswith("2.0 None"), test
