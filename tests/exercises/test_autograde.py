"""Plain ``nbgrader autograde``, no grader of ours: the release can be graded as any other."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ANSWER = """import math

import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, d_model, d_head, context_length, dropout=0.0):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d_model, d_head, bias=False) for _ in range(3))
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        T = x.shape[1]
        may = torch.ones(T, T, dtype=torch.bool).tril()
        scores = q @ k.transpose(-2, -1) / math.sqrt(WIDTH)
        return self.drop(scores.masked_fill(~may, float("-inf")).softmax(-1)) @ v
"""


def submit(course, student, answer):
    nb = json.loads((ROOT / "exercises" / "head" / "head.ipynb").read_text())
    for cell in nb["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "head-solution" and answer:
            cell["source"] = answer.splitlines(keepends=True)
    path = course / "submitted" / student / "head" / "head.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(nb))


@pytest.mark.timeout(600)
def test_plain_autograde_gives_the_points_the_code_deserves(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed here")
    pytest.importorskip("nbgrader")
    shutil.copytree(ROOT / "solutions" / "head", tmp_path / "solutions" / "head")
    (tmp_path / "nbgrader_config.py").write_text(
        "c = get_config()\nc.CourseDirectory.source_directory = 'solutions'\n"
        "c.CourseDirectory.release_directory = 'exercises'\n"
        "c.ExecutePreprocessor.timeout = 300\n"
    )
    submit(tmp_path, "full", ANSWER.replace("WIDTH", "q.shape[-1]"))
    submit(tmp_path, "by_model_width", ANSWER.replace("WIDTH", "x.shape[-1]"))
    submit(tmp_path, "untouched", None)
    for command in ("generate_assignment", "autograde"):
        ran = subprocess.run(
            [sys.executable, "-m", "nbgrader", command, "head"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env={**__import__("os").environ, "PYTHONPATH": str(ROOT)},
        )
        assert ran.returncode == 0, ran.stderr[-3000:]
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}") as book:
        scores = {s.student.id: s.score for s in book.assignment_submissions("head")}
        lost = {
            g.name: g.score
            for g in book.find_submission("head", "by_model_width").notebooks[0].grades
        }
    assert scores == {"full": 14.0, "by_model_width": 10.0, "untouched": 0.0}
    # Only the values are wrong: masks, lengths, dropout and gradients keep their points.
    assert lost == {
        "head-values": 1.0,
        "head-causal": 3.0,
        "head-lengths": 2.0,
        "head-training": 4.0,
    }
    graded = (tmp_path / "autograded" / "by_model_width" / "head" / "head.ipynb").read_text()
    assert "divided by √d_model; divide by √d_head" in graded
