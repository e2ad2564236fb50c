"""Where nbgrader finds this course, and what it runs submissions with.

Everything that nbgrader writes goes into the ignored folder class/, which `make clean` leaves
alone. The classes named here live in course.grading: `nbgrader autograde head` runs each learner's
code in a sandbox and the tests in a process apart.
"""

import os
from pathlib import Path

c = get_config()  # noqa: F821  (nbgrader puts get_config into this file's namespace)

root = Path(__file__).resolve().parent
(root / "class").mkdir(exist_ok=True)

c.CourseDirectory.course_id = "attention-from-average"
c.CourseDirectory.root = str(root)
# Model answers and hidden tests may live in a private folder elsewhere.
c.CourseDirectory.source_directory = os.environ.get("COURSE_SOLUTIONS", "solutions")
c.CourseDirectory.release_directory = "exercises"
c.CourseDirectory.submitted_directory = "class/submitted"
c.CourseDirectory.autograded_directory = "class/autograded"
c.CourseDirectory.feedback_directory = "class/feedback"
c.CourseDirectory.solution_directory = "class/solution"
c.CourseDirectory.source_with_tests_directory = "class/source_with_tests"
c.CourseDirectory.ignore = [
    ".ipynb_checkpoints", "*.pyc", "__pycache__", "feedback", "hidden*.py",
]  # fmt: skip
# A gradebook for several graders at once: postgresql+psycopg://user@host/name
c.CourseDirectory.db_url = os.environ.get(
    "COURSE_GRADEBOOK", f"sqlite:///{root / 'class' / 'gradebook.db'}"
)

# --- Autograding: stage, rebuild, run apart, score -----------------------------------------------
c.Autograde.exporter_class = "course.grading.plugins.StagingExporter"
c.Autograde.sanitize_preprocessors = [
    "course.grading.plugins.RebuildCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    "course.grading.plugins.SandboxExecute",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.SandboxExecute.course_root = str(root)
c.SandboxExecute.source_directory = os.environ.get("COURSE_SOLUTIONS", "solutions")
# Limits of one notebook (course.grading.limits.Limits), and of single assignments.
c.SandboxExecute.limits = {}
c.SandboxExecute.limits_of = {}

# --- The exchange: every learner may write into its inbound folder -------------------------------
c.ExchangeFactory.collect = "course.grading.collect.CollectFiles"

# --- Late penalties: none until a percentage is set ----------------------------------------------
c.AssignLatePenalties.plugin_class = "course.grading.late.LatePenalty"
c.LatePenalty.percent_per_day = 0.0
c.LatePenalty.grace_minutes = 15.0
c.LatePenalty.extensions = {}

# --- Feedback: hidden tests cut out, markup cleaned, in the formgrader too -----------------------
c.GenerateFeedback.preprocessors = [
    "nbgrader.preprocessors.GetGrades",
    "course.grading.feedback.RedactHidden",
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
]
c.HTMLExporter.sanitize_html = True
c.HTMLExporter.filters = {
    "clean_html": "course.grading.feedback.clean_html",
    "markdown2html": "course.grading.feedback.safe_markdown",
}
