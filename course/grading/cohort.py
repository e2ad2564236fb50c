"""Grade a class: run the submissions in parallel, write one gradebook, stop at nothing.

The sandboxed runs go to a pool of processes (or a cluster). As each comes back, nbgrader itself
takes its outcome into the gradebook, in this process alone: SQLite wants one writer. A run that is
interrupted goes on where it stopped, and what has not changed since is not run again.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from traitlets.config import Config

from course.files import atomic_write_text
from course.grading import (
    database,
    execution,
    journal,
    plugins,
    rebuild,
    record,
    running,
    staging,
)
from course.grading.classroom import Classroom, last_error

PATTERN = "*?[]"  # characters that nbgrader, which looks for files by name, trips over


@dataclass
class Task:
    """One learner's submission on its way."""

    student: str
    staged: staging.Staged
    requests: dict[str, dict[str, Any]] = field(default_factory=dict)  # notebook → request
    fingerprints: dict[str, str] = field(default_factory=dict)


@dataclass
class Summary:
    """What became of a class."""

    graded: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)  # student → why there is no grade


class Cohort:
    """Grades one assignment of a class.

    Args:
        classroom: folders and gradebook.
        assignment: which one.
        isolated: in the sandbox; ``False`` only if the instructor said so.
    """

    def __init__(self, classroom: Classroom, assignment: str, *, isolated: bool = True) -> None:
        self.room, self.assignment, self.isolated = classroom, assignment, isolated
        self.results = classroom.folder("results")
        changes = Config()
        changes.SandboxExecute.isolation = "bwrap" if isolated else "none"
        changes.SandboxExecute.results_directory = str(self.results)
        # Staged here, before nbgrader looks: it would not see one that has no notebook at all.
        changes.CourseDirectory.submitted_directory = staging.FOLDER
        config = Config(classroom.config)
        config.merge(changes)
        self.api = classroom._api(config)
        self.execute = plugins.SandboxExecute(config=config)

    def tasks(self, students: list[str]) -> Iterator[Task]:
        """Stage each submission and make the requests for the sandbox."""
        names = database.notebook_names(self.room.db_url, self.assignment)
        released = {n: database.source_cells(self.room.db_url, self.assignment, n) for n in names}
        for student in students:
            source = self.room.folder("submitted", student, self.assignment)
            target = self.room.folder("staged", student, self.assignment)
            task = Task(student, staging.stage(source, target, names))
            for name in names:
                if name in task.staged.refused:
                    task.fingerprints[name] = ""
                    continue
                notebook = nbformat.read(target / f"{name}.ipynb", as_version=4)
                rebuild.rebuild(notebook, released[name])
                resources = {"nbgrader": {"assignment": self.assignment, "notebook": name},
                             "metadata": {"path": str(target)}}  # fmt: skip
                asked, _ = self.execute.plan(notebook, resources, released[name], task.staged)
                task.requests[name] = asked
                task.fingerprints[name] = execution.fingerprint(asked)
            yield task

    def is_graded(self, task: Task, records: dict[tuple[str, str], dict[str, Any]]) -> bool:
        """Whether the newest records are of just this submission, tests, limits and code."""
        folder = self.room.folder("autograded", task.student, self.assignment)
        for name, fingerprint in task.fingerprints.items():
            last = records.get((task.student, name))
            if last is None or not (folder / f"{name}.ipynb").is_file():
                return False
            if last["submission_sha256"] != task.staged.sha256:
                return False
            if last.get("fingerprint", "") != fingerprint:
                return False
        return True

    def grade(
        self, students: list[str], pool: Executor, *, force: bool = False, feedback: bool = True,
        progress: Callable[[str, str], None] = lambda student, what: None,
    ) -> Summary:  # fmt: skip
        """Grade these learners' submissions; ``progress`` is called once for each.

        ``force`` runs again what has not changed (with new random inputs).
        """
        with journal.ahead(self.room.db_url) as self.settle:
            return self._grade(students, pool, force, feedback, progress)

    def _grade(
        self, students: list[str], pool: Executor, force: bool, feedback: bool,
        progress: Callable[[str, str], None],
    ) -> Summary:  # fmt: skip
        summary = Summary()
        records = record.latest(self.room.folder("records"), self.assignment)
        waiting: dict[Future[dict[str, Any]], tuple[Task, str]] = {}
        open_runs: dict[str, int] = {}
        for student in students:
            if set(student) & set(PATTERN):
                summary.failed[student] = (
                    f"nbgrader takes {PATTERN} in a name for a pattern: rename the folder"
                )
                progress(student, "failed")
        for task in self.tasks([s for s in students if s not in summary.failed]):
            if not force and self.is_graded(task, records):
                summary.unchanged.append(task.student)
                progress(task.student, "unchanged")
                continue
            open_runs[task.student] = 0
            for name, asked in task.requests.items():
                if force or not self._result(task.fingerprints[name]).is_file():
                    asked["seed"] = secrets.randbits(31)
                    waiting[pool.submit(running.run, asked)] = (task, name)
                    open_runs[task.student] += 1
            if not open_runs[task.student]:
                self._finish(task, summary, feedback, progress)
        for future in as_completed(waiting):
            task, name = waiting[future]
            open_runs[task.student] -= 1
            try:
                text = json.dumps(future.result())
                atomic_write_text(self._result(task.fingerprints[name]), text)
            except Exception as error:  # one run's failure is not the class's
                summary.failed[task.student] = f"{type(error).__name__}: {error}"
            if not open_runs[task.student]:
                self._finish(task, summary, feedback, progress)
        return summary

    def _result(self, fingerprint: str) -> Path:
        self.results.mkdir(parents=True, exist_ok=True)
        return self.results / f"{fingerprint}.json"

    def _finish(
        self, task: Task, summary: Summary, feedback: bool, progress: Callable[[str, str], None]
    ) -> None:
        """Let nbgrader take the outcome in and write the feedback."""
        student = task.student
        if student in summary.failed:
            progress(student, "failed")
            return
        answer = self.api.autograde(self.assignment, student, force=True)
        if not answer["success"]:
            summary.failed[student] = last_error(answer)
            progress(student, "failed")
            return
        self.settle()  # before what the grade was made from goes
        for fingerprint in task.fingerprints.values():
            if fingerprint:
                self._result(fingerprint).unlink(missing_ok=True)  # the record has it now
        if feedback:
            answer = self.api.generate_feedback(self.assignment, student, force=True)
            if not answer["success"]:
                summary.failed[student] = f"graded, but without feedback: {last_error(answer)}"
        summary.graded.append(student)
        progress(student, "graded")
