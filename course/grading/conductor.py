"""Run one notebook: the learner's cells in a worker, the test cells in a judge, the clock here.

The conductor passes messages between the two without reading them, keeps the budgets, and when the
worker dies starts another and runs the learner's earlier cells again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from course.grading.channel import ChannelClosed, ChannelTimeout, ProtocolError
from course.grading.limits import Limits
from course.grading.names import Names
from course.grading.outputs import OutputBudget
from course.grading.parent import Helper, WarmParent

GRACE = 1.0  # seconds between the alarm inside the worker and its end
LEAST_PATIENCE = 5.0  # seconds a test may ask of code that was too slow before


@dataclass(frozen=True)
class Cell:
    """A code cell: ``kind`` is ``learner`` or ``test``."""

    kind: str
    source: str
    grade_id: str = ""


@dataclass
class Outcome:
    """What became of a cell."""

    outputs: list[dict[str, Any]] = field(default_factory=list)
    error: dict[str, Any] | None = None
    points: float | None = None  # the number a test cell ended with
    reports: list[dict[str, Any]] = field(default_factory=list)
    private: str = ""
    seconds: float = 0.0


class Conductor:
    """Runs notebooks one after the other, each in a worker and a judge of its own."""

    def __init__(self, parent: WarmParent, limits: Limits) -> None:
        self.parent, self.limits = parent, limits

    def run(
        self, cells: Sequence[Cell], names: Names, seed: int, *,
        files: Mapping[str, bytes] | None = None, test_files: Mapping[str, bytes] | None = None,
    ) -> list[Outcome]:  # fmt: skip
        """Run every cell in order; nothing a learner's cell does keeps a later one from its turn.

        Args:
            files: for the worker's folder, by relative path.
            test_files: for the judge's folder; the worker never sees them.

        Raises:
            SandboxError: the sandbox itself failed.
        """
        notebook = _Notebook(self.parent, self.limits, cells, names, seed)
        notebook.files, notebook.test_files = files or {}, test_files or {}
        try:
            return [notebook.run(cell) for cell in cells]
        finally:
            notebook.close()


class _Notebook:
    def __init__(
        self, parent: WarmParent, limits: Limits, cells: Sequence[Cell], names: Names, seed: int
    ) -> None:
        self.parent, self.limits, self.names, self.seed = parent, limits, names, seed
        self.source = "\n\n".join(c.source for c in cells if c.kind == "learner")
        self.files: Mapping[str, bytes] = {}
        self.test_files: Mapping[str, bytes] = {}
        self.worker: Helper | None = None
        self.judge: Helper | None = None
        self.history: list[str] = []
        self.heavy: Any = ()
        self.spent = 0.0
        self.slow = 0
        self.budget = OutputBudget(limits)

    def close(self) -> None:
        for helper in (self.worker, self.judge):
            if helper is not None:
                self.parent.end(helper)
                helper.close()
        self.parent.load(self.heavy)

    def run(self, cell: Cell) -> Outcome:
        start = time.monotonic()
        outcome = self._test(cell) if cell.kind == "test" else self._learner(cell.source)
        outcome.seconds = time.monotonic() - start
        return outcome

    # ------------------------------------------------------------------------ the learner's process

    def _left(self) -> float:
        return self.limits.notebook_seconds - self.spent

    def _ask_worker(
        self, header: dict[str, Any], body: bytes, seconds: float
    ) -> tuple[dict[str, Any], bytes]:
        """One request to the worker; a failure comes back as a header with ``error``."""
        if seconds <= 0 or self._left() <= 0:
            return {"error": self._used_up(), "died": True}, b"null"
        seconds = min(seconds, self._left())
        worker = self._living_worker()
        if worker is None:
            return {"error": _dead("could not be started again"), "died": True}, b"null"
        failed: dict[str, Any] | None = None
        start = time.monotonic()
        try:
            reply, answer = worker.exchange({**header, "seconds": seconds}, body,
                                            time.monotonic() + seconds + GRACE)  # fmt: skip
            self.heavy = reply.get("heavy", self.heavy)
            self.slow += bool(reply.get("late"))
            return reply, answer
        except ChannelTimeout:
            self.slow += 1
            failed = _too_slow(seconds)
        except ProtocolError as error:
            failed = _dead(f"sent nonsense: {error}")
        except ChannelClosed:
            pass
        finally:
            self.spent += time.monotonic() - start
        ended = self._end_worker()
        return {"error": failed or self._why(ended), "died": True}, b"null"

    def _living_worker(self) -> Helper | None:
        """The worker, started and brought up to date if need be: two tries."""
        for _ in range(2):
            if self.worker is not None:
                return self.worker
            self.worker = self.parent.fork("worker", self.limits)
            failed = self._replay(self.worker)
            if failed is None:
                self.worker.take_text()
                return self.worker
            self._end_worker()
        if failed in self.history:
            self.history.remove(failed)  # it did end well before; the next start goes without
        return None

    def _replay(self, worker: Helper) -> str | None:
        """Run the learner's earlier cells again; the one that failed, or ``None``."""
        source = ""
        start = time.monotonic()
        try:
            _send_files(worker, self.files)
            for source in self.history:
                seconds = max(1.0, self._left())
                worker.exchange({"do": "cell", "seconds": seconds}, source.encode(),
                                time.monotonic() + seconds + GRACE)  # fmt: skip
        except (ChannelClosed, ChannelTimeout, ProtocolError):
            return source
        finally:
            self.spent += time.monotonic() - start
        return None

    def _end_worker(self) -> dict[str, Any]:
        if self.worker is None:
            return {}
        ended = self.parent.end(self.worker)
        self.budget.keep_text(self.worker)
        self.worker.close()
        self.worker = None
        return ended

    def _learner(self, source: str) -> Outcome:
        if not source.strip():
            return Outcome()
        header, body = self._ask_worker({"do": "cell"}, source.encode(), self.limits.cell_seconds)
        error = header.get("error")
        stopped = isinstance(error, dict) and error.get("type") == "OutOfTime"
        if stopped:
            self._end_worker()  # what the cell has started goes with it
        elif not header.get("died"):
            self.history.append(source)
        outputs = self.budget.outputs(self.worker, body, error)
        return Outcome(outputs, error if isinstance(error, dict) else None)

    def _used_up(self) -> dict[str, Any]:
        return {"type": "OutOfTime",
                "message": f"not run: the {self.limits.notebook_seconds:.0f} seconds that this "
                           "notebook may take are used up"}  # fmt: skip

    def _why(self, ended: dict[str, Any]) -> dict[str, Any]:
        status = ended.get("status")
        if ended.get("killed_for") == "memory":
            return _dead(f"used more than {self.limits.memory_mb} MB of memory")
        if status == 128 + 24 or status == 128 + 9:
            return _dead("was stopped by the system: too much memory or too much computing time")
        if isinstance(status, int) and status > 128:
            return _dead(f"crashed (signal {status - 128})")
        return _dead(f"ended itself (exit status {status}): does the code call exit?")

    # ----------------------------------------------------------------------------- the judge's side

    def _living_judge(self) -> Helper:
        if self.judge is None:
            self.judge = self.parent.fork("judge", self.limits)
            _send_files(self.judge, self.test_files)
            header = {"do": "start", "names": self.names.to_dict(), "seed": self.seed}
            self.judge.exchange(header, self.source.encode(), time.monotonic() + 60)
        return self.judge

    def _test(self, cell: Cell) -> Outcome:
        end = time.monotonic() + self.limits.test_seconds
        asked = 0.0
        printed: list[dict[str, Any]] = []
        try:
            judge = self._living_judge()
            header, body = judge.exchange({"do": "cell"}, cell.source.encode(), end)
            while "ask" in header:
                start = time.monotonic()
                reply, answer = self._answer(header, body, asked)
                asked += time.monotonic() - start
                if self.worker is not None:
                    printed += self.budget.printed(self.worker, hidden=bool(header.get("hidden")))
                header, body = judge.exchange(reply, answer, end)
        except (ChannelClosed, ChannelTimeout, ProtocolError) as error:
            return self._lost_judge(error)
        answer_ = json.loads(body)
        outcome = Outcome(printed, answer_["error"], answer_["value"], answer_["reports"],
                          answer_["private"])  # fmt: skip
        outcome.outputs += self.budget.test_outputs(answer_["text"])
        return outcome

    def _answer(
        self, header: dict[str, Any], body: bytes, asked: float
    ) -> tuple[dict[str, Any], bytes]:
        """What a test asks of the learner's code, within this test's share of the time."""
        patience = max(min(LEAST_PATIENCE, self.limits.cell_seconds),
                       self.limits.cell_seconds / 2**self.slow)  # fmt: skip
        request = {"do": header["ask"]}
        if "name" in header:
            request["name"] = header["name"]
        reply, answer = self._ask_worker(request, body, patience - asked)
        kept: dict[str, Any] = {k: reply[k] for k in ("error", "kind") if k in reply}
        return kept, answer

    def _lost_judge(self, error: Exception) -> Outcome:
        if self.judge is not None:
            self.parent.end(self.judge)
            self.judge.close()
            self.judge = None
        if isinstance(error, ChannelTimeout):
            said = f"the test did not end within {self.limits.test_seconds:.0f} seconds"
        else:
            said = "the test's own process ended"
        return Outcome(error={"type": "TestDidNotEnd", "message": said}, private=repr(error))


def _send_files(helper: Helper, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        helper.exchange({"do": "file", "name": name}, data, time.monotonic() + 60)


def _dead(what: str) -> dict[str, Any]:
    return {"type": "ProcessEnded", "message": f"the process that ran your code {what}"}


def _too_slow(seconds: float) -> dict[str, Any]:
    return {"type": "OutOfTime",
            "message": f"your code did not end within {seconds:.0f} seconds and was stopped: an "
                       "endless loop?"}  # fmt: skip
