"""What is left out at start, and that nothing that is used goes with it."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("nbformat", reason="nbformat is not installed here")

LEAN = """
import sys
from course.lean import leave_out_grammars
leave_out_grammars()
import nbformat
nbformat.validate(nbformat.v4.new_notebook())
try:
    nbformat.validate({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{}]})
except nbformat.ValidationError:
    print("refused", "lark" in sys.modules)
"""
LATE = """
import sys
import jsonschema
before = sys.modules.get("rfc3987_syntax", "absent")
from course.lean import leave_out_grammars
leave_out_grammars()
print(sys.modules.get("rfc3987_syntax", "absent") is before)
"""


def said(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_notebooks_are_checked_without_the_grammars():
    assert said(LEAN) == "refused False"


def test_what_is_loaded_already_is_let_alone():
    assert said(LATE) == "True"


def test_grading_leaves_them_out_by_itself():
    code = "import sys, course.grading.classroom as c; print('lark' in sys.modules)"
    assert said(code) == "False"
