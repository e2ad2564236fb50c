"""``python -m course grade ASSIGNMENT``: prepare, grade, write feedback and a report."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

if TYPE_CHECKING:
    from course.grading.classroom import Classroom
    from course.grading.cohort import Summary


def main(argv: list[str]) -> int:
    """Grade a class; returns 0 when everybody has a grade, 1 when somebody has none, 2 on bad
    input."""
    args = _parser().parse_args(argv)
    try:
        from sqlalchemy.exc import SQLAlchemyError

        from course.grading.classroom import ClassroomError, in_words
        from course.grading.sandbox import SandboxError
    except ModuleNotFoundError as error:
        print(f"error: grading needs {error.name}, which is not installed: "
              'pip install "attention-from-average[grading]"', file=sys.stderr)  # fmt: skip
        return 2
    try:
        return _grade(args)
    except (ClassroomError, SandboxError, ValueError, ConnectionError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (OSError, SQLAlchemyError) as error:
        print(f"error: {in_words(error)}. Nothing that was graded is lost; when this is put right, "
              "the same command goes on from here.", file=sys.stderr)  # fmt: skip
        return 2
    except KeyboardInterrupt:
        print("\nInterrupted. What is graded is kept; the same command goes on from here.",
              file=sys.stderr)  # fmt: skip
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m course grade", description="Grade a class's submissions of an assignment."
    )
    parser.add_argument("assignment", help="the assignment, such as head")
    parser.add_argument(
        "--submissions",
        type=Path,
        metavar="DIR",
        help="copy submissions from here first (one folder or notebook a learner)",
    )
    parser.add_argument("--student", action="append", metavar="ID", help="only this learner")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes (default: one a core)")
    parser.add_argument("--scheduler", metavar="ADDR", help="run on this Dask cluster instead")
    parser.add_argument(
        "--force", action="store_true", help="run again what has not changed, on new random inputs"
    )
    parser.add_argument("--no-feedback", action="store_true", help="write no feedback pages")
    parser.add_argument(
        "--no-isolation",
        action="store_true",
        help="run submissions UNPROTECTED; every grade is marked so",
    )
    parser.add_argument(
        "--appeal",
        action="store_true",
        help="run --student's recorded grade again, on the same inputs; changes nothing",
    )
    parser.add_argument(
        "--export",
        choices=("canvas", "moodle"),
        help="also write the grades for this system to class/reports/",
    )
    parser.add_argument("--root", type=Path, help="the course's folder (default: here or above)")
    return parser  # fmt: skip


def _grade(args: argparse.Namespace) -> int:
    from course.grading import sandbox

    if args.jobs is not None and args.jobs < 1:
        raise ValueError(f"--jobs must be at least 1, got {args.jobs}")
    if not args.no_isolation:
        sandbox.require()

    from course.grading.classroom import Classroom, find_root

    room = Classroom(args.root or find_root(Path.cwd()))
    with room.alone(args.assignment):
        if args.appeal:
            return _appeal(room, args.assignment, args.student or [])
        return _grade_class(room, args)


def _grade_class(room: Classroom, args: argparse.Namespace) -> int:
    from course.grading.cohort import Cohort
    from course.grading.report import write_report
    from course.parallel import available_cores, executor

    if room.prepare(args.assignment):
        print(f"The gradebook was brought up to date with {args.assignment}'s tests.")
    if args.submissions:
        taken = room.take_in(args.submissions, args.assignment)
        print(f"{len(taken)} submissions are in {room.folder('submitted')}.")
    students = room.students(args.assignment)
    if args.student:
        unknown = sorted(set(args.student) - set(students))
        if unknown:
            raise ValueError(f"no submission of {args.assignment} by {', '.join(unknown)}")
        students = args.student
    if not students:
        raise ValueError(
            f"nothing to grade: no {room.folder('submitted')}/*/{args.assignment} "
            "(copy submissions there, or name a folder with --submissions)"
        )
    cohort = Cohort(room, args.assignment, isolated=not args.no_isolation)
    jobs = args.jobs or min(available_cores(), len(students))
    with (
        executor(jobs, args.scheduler) as pool,
        tqdm(total=len(students), desc=args.assignment, unit="submission") as bar,
    ):

        def progress(student: str, what: str) -> None:
            bar.set_postfix_str(f"{student} {what}")
            bar.update()

        summary = cohort.grade(students, pool, force=args.force, progress=progress,
                               feedback=not args.no_feedback)  # fmt: skip
    page = write_report(room, args.assignment, summary)
    if args.export:
        from course.grading.exports import export_to

        print(f"For {args.export}: {export_to(room, args.assignment, args.export)}")
    return _say(summary, page)


def _appeal(room: Classroom, assignment: str, students: list[str]) -> int:
    """Returns 0 where every recorded score was confirmed."""
    from course.grading.appeal import run_again

    if not students:
        raise ValueError("--appeal needs --student: whose grade is to be run again?")
    confirmed = True
    for student in students:
        for again in run_again(room, assignment, student):
            print(f"{student}, {again.notebook}, graded {again.graded_at}, seed {again.seed}")
            for name, then, now, points in again.tests:
                mark = "=" if then == now else "DIFFERS"
                print(f"  {name}: {then:g} then, {now:g} now, of {points:g}  {mark}")
            for difference in again.differences:
                print(f"  not as it was: {difference}")
            confirmed &= again.confirmed
    print("Confirmed." if confirmed else "Not confirmed: look at the differences above.")
    return 0 if confirmed else 1


def _say(summary: Summary, page: Path) -> int:
    print(f"{len(summary.graded)} graded, {len(summary.unchanged)} unchanged. Report: {page}")
    for student, reason in sorted(summary.failed.items()):
        print(f"  NOT GRADED {student}: {reason}", file=sys.stderr)
    return 1 if summary.failed else 0
