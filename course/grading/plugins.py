"""The classes that ``nbgrader_config.py`` names: nbgrader calls them, the work is done elsewhere.

=====================  ==========================================================================
``StagingExporter``    before anything is graded, replaces the submissions by staged copies
``RebuildCells``       makes the cells what the gradebook says they are (sanitizing)
``SandboxExecute``     runs the notebook in the sandbox and keeps the record (autograding)
=====================  ==========================================================================
"""

from __future__ import annotations

import glob
import json
import secrets
import shutil
import warnings
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor
from sqlalchemy.exc import SAWarning
from traitlets import Dict, Enum, Integer, Unicode

from course.grading import database, execution, rebuild, record, running, sandbox, staging
from course.grading.conductor import Cell
from course.grading.limits import Limits
from course.grading.outputs import error_output

# nbgrader 0.9 adds objects to a session in an order that SQLAlchemy 2.1 warns of, harmlessly.
warnings.filterwarnings("ignore", "Object of type .* not in session", SAWarning)

NOTES = "course_grading"  # the notebook's metadata that carries notes from step to step
UNSAFE = "Graded WITHOUT isolation: the code could read the tests and change this grade."


class StagingExporter(NotebookExporter):
    """An exporter that, the moment nbgrader makes it, points nbgrader at staged submissions."""

    staged_directory = Unicode(staging.FOLDER, help="Where staged submissions go.").tag(config=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if isinstance(self.parent, Autograde):
            if SandboxExecute(parent=self.parent).isolation == "bwrap":
                self._require_sandbox()
            self._redirect(self.parent)

    def _require_sandbox(self) -> None:
        try:
            running.shared_parent(isolated=True)  # it loads PyTorch while we go on
        except sandbox.SandboxError as error:
            self.log.error("%s", error)
            raise NbGraderException(str(error)) from error

    def _redirect(self, converter: Autograde) -> None:
        """Stage every submission that was asked for, then let nbgrader look for notebooks again."""
        old = converter.coursedir
        if old.submitted_directory == self.staged_directory:
            return  # `python -m course grade` has staged them already
        values = {name: getattr(old, name) for name in old.traits(config=True)}
        values["submitted_directory"] = self.staged_directory
        new = CourseDirectory(**values)
        names = database.notebook_names(old.db_url, old.assignment_id)
        if not names:
            return  # nbgrader says that it does not know the assignment
        self._warn_if_stale(old, names)
        pattern = old.format_path(old.submitted_directory, old.student_id, old.assignment_id)
        for folder in sorted(glob.glob(pattern)):
            source = Path(folder)
            student = source.parent.name
            target = Path(new.format_path(self.staged_directory, student, old.assignment_id))
            staged = staging.stage(source, target, names)
            graded = Path(old.format_path(old.autograded_directory, student, old.assignment_id))
            before = staging.load(graded) if graded.is_dir() else None
            if graded.is_dir() and (before is None or before.sha256 != staged.sha256):
                self.log.warning("The submission has changed, grading it again: %s", folder)
                shutil.rmtree(graded)
        converter.coursedir = new
        converter.init_notebooks()

    def _warn_if_stale(self, coursedir: CourseDirectory, names: list[str]) -> None:
        for name in names:
            folder = coursedir.format_path(coursedir.source_directory, ".", coursedir.assignment_id)
            source = Path(folder, f"{name}.ipynb")
            stale = database.stale_cells(coursedir.db_url, coursedir.assignment_id, name, source)
            if stale:
                self.log.warning(
                    "The gradebook has older tests than %s (%s): run `python -m course grade %s`, "
                    "or `nbgrader generate_assignment %s --force`.",
                    source, ", ".join(stale), coursedir.assignment_id, coursedir.assignment_id,
                )  # fmt: skip


class RebuildCells(NbGraderPreprocessor):
    """Takes the place of nbgrader's ClearOutput, DeduplicateIds, Overwrite… preprocessors."""

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Rebuild the notebook; what was done is in its metadata."""
        who = resources["nbgrader"]
        where = (who["db_url"], who["assignment"], who["notebook"])
        nb.metadata.clear()
        nb.metadata[NOTES] = {"notes": rebuild.rebuild(nb, database.source_cells(*where))}
        kernel = json.loads(database.kernelspec(*where) or "{}")
        if "name" in kernel:
            nb.metadata["kernelspec"] = kernel
        for note in nb.metadata[NOTES]["notes"]:
            self.log.warning("%s: %s", who["student"], note)
        return nb, resources


class SandboxExecute(NbGraderPreprocessor):
    """Takes the place of nbgrader's Execute: nothing of the learner's runs in this process."""

    isolation = Enum(
        ("bwrap", "none"), "bwrap",
        help="'none' runs submissions unprotected, and marks every grade so.",
    ).tag(config=True)  # fmt: skip
    records_directory = Unicode("class/records", help="Where records go.").tag(config=True)
    course_root = Unicode("", help="The course's root folder.").tag(config=True)
    source_directory = Unicode("solutions", help="The instructor's notebooks.").tag(config=True)
    limits = Dict(help="Fields of course.grading.limits.Limits, by name.").tag(config=True)
    limits_of = Dict(help="Assignment → limits of its own.").tag(config=True)
    seed = Integer(-1, help="Grade with this seed (an appeal); -1 draws one.").tag(config=True)
    results_directory = Unicode(
        "", help="Take outcomes that `python -m course grade` has put here."
    ).tag(config=True)

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Run every code cell and write the outputs, the notes and the record."""
        who = resources["nbgrader"]
        released = database.source_cells(who["db_url"], who["assignment"], who["notebook"])
        points = {c.grade_id: c.points for c in released if c.is_test}
        staged = staging.load(Path(resources["metadata"]["path"])) or staging.Staged("")
        refused = staged.refused.get(who["notebook"], "")
        # Of a notebook that was refused everything was missing: the reason says it.
        repaired = () if refused else nb.metadata.get(NOTES, {}).get("notes", ())
        notes = [*staged.notes, *repaired]
        kept: dict[str, Any] = {"refused": refused, "tests": []}
        if refused:
            _refuse(nb, points, refused)
        else:
            asked, placed = self.plan(nb, resources, released, staged)
            result = self._outcomes(asked)
            execution.apply(nb, placed, result["outcomes"], points)
            kept = {**kept, **{k: v for k, v in result.items() if k != "outcomes"}}
            kept["fingerprint"] = execution.fingerprint(asked)
            kept["tests"] = self._tests(nb, placed, result["outcomes"], points)
            kept["limits"] = asked["limits"]
        if self.isolation == "none" and not refused:
            notes.insert(0, UNSAFE)
        kept.update(student=who["student"], assignment=who["assignment"],
                    notebook=who["notebook"], submission_sha256=staged.sha256, notes=notes,
                    score=sum(_scores(nb, points).values()),
                    max_score=sum(points.values()))  # fmt: skip
        record.write(self._path(self.records_directory), kept)
        _show_notes(nb, [refused, *notes] if refused else notes)
        return nb, resources

    def plan(
        self, nb: NotebookNode, resources: dict[str, Any], released: list[database.SourceCell],
        staged: staging.Staged,
    ) -> tuple[dict[str, Any], list[tuple[int, Cell]]]:  # fmt: skip
        """The request for a notebook, and the places of its cells."""
        assignment = resources["nbgrader"]["assignment"]
        source = self._path(self.source_directory) / assignment
        try:
            limits = Limits(**{**self.limits, **self.limits_of.get(assignment, {})})
        except TypeError as error:
            raise ValueError(f"c.SandboxExecute.limits in nbgrader_config.py: {error}") from error
        placed = execution.cells_to_run(nb, released)
        folder = Path(resources["metadata"]["path"])
        theirs, ours = execution.extra_files(folder, staged.files, source)
        asked = execution.request(
            [c for _, c in placed],
            execution.names_of(released, source / f"{resources['nbgrader']['notebook']}.ipynb"),
            limits, isolated=self.isolation == "bwrap",
            seed=self.seed if self.seed >= 0 else secrets.randbits(31),
            files=theirs, test_files=ours,
        )  # fmt: skip
        return asked, placed

    def _outcomes(self, asked: dict[str, Any]) -> dict[str, Any]:
        if self.results_directory:
            path = self._path(self.results_directory) / f"{execution.fingerprint(asked)}.json"
            if path.is_file():
                return json.loads(path.read_text(encoding="utf-8"))
        return running.run(asked)

    def _tests(
        self, nb: NotebookNode, placed: list[tuple[int, Cell]],
        outcomes: list[dict[str, Any]], points: dict[str, float],
    ) -> list[dict[str, Any]]:  # fmt: skip
        pairs = [(c.grade_id, o) for (_, c), o in zip(placed, outcomes, strict=True)
                 if c.kind == "test"]  # fmt: skip
        return record.tests([n for n, _ in pairs], [o for _, o in pairs], _scores(nb, points),
                            points)  # fmt: skip

    def _path(self, folder: str) -> Path:
        return Path(self.course_root or ".") / folder


def _scores(nb: NotebookNode, points: dict[str, float]) -> dict[str, float]:
    """What nbgrader will read from the outputs of each test cell."""
    cells = {rebuild.grade_id(c): c for c in nb.cells}
    return {name: float(utils.determine_grade(cells[name])[0] or 0) for name in points}


def _refuse(nb: NotebookNode, points: dict[str, float], reason: str) -> None:
    for cell in nb.cells:
        if rebuild.grade_id(cell) in points:
            error = {"type": "NotGraded", "message": reason}
            cell.outputs = [nbformat.from_dict(error_output(error))]


def _show_notes(nb: NotebookNode, notes: list[str]) -> None:
    if notes:
        text = "**Notes from the grader**\n\n" + "\n".join(f"- {n}" for n in dict.fromkeys(notes))
        nb.cells.insert(0, nbformat.v4.new_markdown_cell(text))
