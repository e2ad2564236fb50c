"""Run one notebook by papermill, in a process of its own."""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course.lean import leave_out_grammars
from course_book import clean, keys

# A Unix socket's name has at most about 100 bytes; the kernel's own part takes up to 50.
_LONGEST_SOCKET_FOLDER = 50
CELL_TIMEOUT = 1800
START_TIMEOUT = 180


@dataclass(frozen=True)
class Job:
    """One notebook to run: ``notebook`` → ``target``."""

    root: Path
    notebook: Path
    target: Path
    parameters: Mapping[str, Any]
    keys: Mapping[str, str]
    threads: int
    timeout: int = CELL_TIMEOUT
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.notebook.relative_to(self.root).as_posix()


@dataclass(frozen=True)
class Outcome:
    """What became of a job; ``failure`` is empty where it ran to its end."""

    name: str
    seconds: float
    failure: str = ""
    left: str = ""


def _surroundings(job: Job, sockets: Path) -> None:
    """Give this process, and the kernel it starts, folders and threads of their own."""
    slug = job.name.replace("/", "-").removesuffix(".ipynb")
    scratch = job.root / "_build" / "run" / slug
    for variable, name in (
        ("IPYTHONDIR", "ipython"),
        ("MPLCONFIGDIR", "matplotlib"),
        ("JUPYTER_CONFIG_DIR", "jupyter"),
        ("JUPYTER_DATA_DIR", "jupyter-data"),
    ):
        folder = scratch / name
        folder.mkdir(parents=True, exist_ok=True)
        os.environ[variable] = str(folder)
    os.environ["JUPYTER_RUNTIME_DIR"] = str(sockets)
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = str(job.threads)
    # a thread that waits lets others have its core: on a busy machine spinning costs tenfold
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # figures go into the notebook, whatever the shell that started this has chosen
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    # this clone's package, whatever the environment has installed
    others = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [str(job.root), *(p for p in others if p and p != str(job.root))]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    # this Python, whatever kernel called "python3" the reader's account has registered
    spec = scratch / "jupyter-data" / "kernels" / "python3" / "kernel.json"
    spec.parent.mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-m", "ipykernel_launcher"]
    spec.write_text(
        json.dumps(
            {
                # the kernel's own remarks (it was interrupted, …) are nothing a reader needs
                "argv": [*argv, "--log-level=50", "-f", "{connection_file}"],
                "display_name": "Python 3",
                "language": "python",
            }
        ),
        encoding="utf-8",
    )
    os.environ["JUPYTER_PATH"] = str(scratch / "jupyter-data")
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"


def _transport(sockets: Path) -> str:
    short = len(str(sockets)) <= _LONGEST_SOCKET_FOLDER
    return "ipc" if os.name == "posix" and short else "tcp"


def _has_parameters(notebook: Path) -> bool:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return any("parameters" in cell["metadata"].get("tags", []) for cell in cells)


def _stopped_at(cell: dict[str, Any]) -> bool:
    """Whether the run ended in this cell: it failed, or was begun and never answered."""
    status = cell["metadata"].get("papermill", {}).get("status")
    execution = cell["metadata"].get("execution")
    unanswered = execution is not None and "shell.execute_reply" not in execution
    return status in ("failed", "running") or (unanswered and bool("".join(cell["source"]).strip()))


def describe_failure(notebook: dict[str, Any], name: str, error: BaseException) -> str:
    """Notebook, cell number, source and traceback of a run that stopped."""
    for number, cell in enumerate(notebook["cells"], start=1):
        if cell["cell_type"] != "code" or not _stopped_at(cell):
            continue
        raised = [o for o in cell.get("outputs", []) if o["output_type"] == "error"]
        trace = "\n".join(raised[-1].get("traceback", [])) if raised else f"{error}"
        source = "".join(cell["source"])
        indented = "\n".join(f"    {line}" for line in source.splitlines())
        return f"{name}, cell {number}:\n\n{indented}\n\n{clean.plain(trace).rstrip()}"
    return f"{name}: {type(error).__name__}: {error}"


def _number_as_source(executed: dict[str, Any]) -> dict[str, Any]:
    """Without the cells papermill adds, so that cell numbers are those of the source."""
    added = {"injected-parameters", "papermill-error-cell-tag"}
    executed["cells"] = [
        c for c in executed["cells"] if not added & set(c["metadata"].get("tags", []))
    ]
    return executed


def run(job: Job) -> Outcome:
    """Run ``job``; the executed copy is either whole at its target or not there.

    A notebook that raises, hangs or kills its kernel leaves what it had reached in
    ``<target>.failed.ipynb`` and comes back as an outcome with its failure: it does not raise.
    """
    started = time.monotonic()
    job.target.parent.mkdir(parents=True, exist_ok=True)
    partial = job.target.with_suffix(".partial.ipynb")
    failed = job.target.with_suffix(".failed.ipynb")
    with tempfile.TemporaryDirectory(prefix="aa-") as folder:
        sockets = Path(folder)
        _surroundings(job, sockets)
        logging.getLogger("papermill").setLevel(logging.ERROR)
        logging.getLogger("traitlets").setLevel(logging.ERROR)
        leave_out_grammars()
        import papermill  # after the folders are set: jupyter reads them at import
        from traitlets.config import Config

        config = Config()
        config.KernelManager.transport = _transport(sockets)
        if config.KernelManager.transport == "ipc":
            # else the sockets would lie in the notebook's folder, one name for all kernels
            config.KernelManager.ip = str(sockets / "kernel")
        try:
            papermill.execute_notebook(
                str(job.notebook),
                str(partial),
                parameters=dict(job.parameters) if _has_parameters(job.notebook) else {},
                kernel_name="python3",
                cwd=str(job.notebook.parent),
                progress_bar=False,
                start_timeout=START_TIMEOUT,
                execution_timeout=job.timeout,
                config=config,
            )
        except Exception as error:
            if partial.exists():
                executed = _number_as_source(json.loads(partial.read_text(encoding="utf-8")))
                failure = describe_failure(executed, job.name, error)
                partial.write_text(json.dumps(executed, indent=1), encoding="utf-8")
                os.replace(partial, failed)
                left = failed.relative_to(job.root).as_posix()
            else:
                failure, left = f"{job.name}: {type(error).__name__}: {error}", ""
            return Outcome(job.name, time.monotonic() - started, failure, left)
    seconds = time.monotonic() - started
    notebook = json.loads(partial.read_text(encoding="utf-8"))
    notebook = clean.clean(notebook, job.root, job.notebook.stem)
    notebook["metadata"][keys.NAMESPACE] = {
        "keys": dict(job.keys),
        "seconds": round(seconds, 1),
        **job.extra,
    }
    partial.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(partial, job.target)
    failed.unlink(missing_ok=True)
    return Outcome(job.name, seconds)
