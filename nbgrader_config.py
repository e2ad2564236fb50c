"""Where nbgrader finds this course. Everything it writes goes into the ignored folder class/."""

from pathlib import Path

c = get_config()  # noqa: F821  (nbgrader puts get_config into this file's namespace)

root = Path(__file__).resolve().parent

c.CourseDirectory.course_id = "attention-from-average"
c.CourseDirectory.root = str(root)
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
c.CourseDirectory.submitted_directory = "class/submitted"
c.CourseDirectory.autograded_directory = "class/autograded"
c.CourseDirectory.feedback_directory = "class/feedback"
c.CourseDirectory.solution_directory = "class/solution"
c.CourseDirectory.source_with_tests_directory = "class/source_with_tests"
c.CourseDirectory.db_url = f"sqlite:///{root / 'class' / 'gradebook.db'}"
