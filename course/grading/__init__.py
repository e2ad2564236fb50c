"""Grading with nbgrader: the learner's code in a sandbox, the tests in a process apart.

``nbgrader_config.py`` names the classes of `course.grading.plugins`; ``python -m course grade``
grades a whole class. Importing this package loads neither PyTorch nor nbgrader.
"""

from course.lean import leave_out_grammars

leave_out_grammars()  # before nbgrader is loaded
