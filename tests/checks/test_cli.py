"""``python -m course check``: exit codes, JSON, notebooks, noise."""

import json
import subprocess
import sys

import pytest

from course.checks import cli

RIGHT = """import torch
print("noise on standard output")
def averaging_matrix(T):
    w = torch.ones(T, T).tril()
    print("more noise")
    return w / w.sum(1, keepdim=True)
"""
WRONG = "import torch\ndef averaging_matrix(T):\n    return torch.ones(T, T).tril() / T\n"


@pytest.fixture
def file(tmp_path):
    def write(text, name="answer.py"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def test_full_marks_exit_0_and_json_is_alone_on_standard_output(file, capsys):
    assert cli.main(["masked-matmul", file(RIGHT), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["exercise"] == "masked-matmul"
    assert found["score"] == found["max_score"] > 0
    assert found["diagnosis"] == []
    assert {"name", "passed", "points", "message"} <= set(found["checks"][0])


def test_less_exits_1_and_says_why(file, capsys):
    assert cli.main(["masked-matmul", file(WRONG), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert 0 < found["score"] < found["max_score"]
    assert "divide it by t + 1" in found["diagnosis"][0]
    assert cli.main(["masked-matmul", file(WRONG)]) == 1
    out = capsys.readouterr().out
    assert "✗ values" in out
    assert "--seed" in out


def test_a_seed_repeats_the_inputs(file, capsys):
    outs = []
    for _ in range(2):
        cli.main(["average", file("def causal_average(x):\n    return x * 2\n"), "--seed", "7"])
        outs.append(capsys.readouterr().out)
    assert outs[0] == outs[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-exercise", "FILE"],
        ["average:nothing", "FILE"],
        ["average", "/no/such/file.py"],
        ["average"],
        ["average", "FILE", "--seed", "x"],
        [],
    ],
)
def test_bad_usage_exits_2_with_one_line(arguments, file, capsys):
    path = file(RIGHT)
    assert cli.main([path if a == "FILE" else a for a in arguments]) == 2
    assert capsys.readouterr().err


def test_a_file_that_does_not_run_scores_nothing_and_says_where(file, capsys):
    assert cli.main(["average", file("def f(:\n"), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["score"] == 0
    assert "line 1" in found["diagnosis"][0]
    assert cli.main(["average", file("raise SystemExit(0)\n"), "--json"]) == 1
    assert "SystemExit" in json.loads(capsys.readouterr().out)["diagnosis"][0]
    binary = file("", "answer.bin")
    with open(binary, "wb") as f:
        f.write(b"\xff\xfe\x00")
    assert cli.main(["average", binary]) == 2


def test_one_function_of_an_exercise(file, capsys):
    path = file(
        "def scaled_scores(q, k):\n    return q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5\n"
    )
    assert cli.main(["scaling:scaled_scores", path]) == 0
    assert cli.main(["scaling", path]) == 1


def test_a_notebook_is_graded_without_its_magics_and_checks(file, capsys):
    cells = [
        "%matplotlib inline\n" + RIGHT,
        "from course.checks import self_check\n\nself_check('masked-matmul', averaging_matrix)",
    ]
    nb = {
        "cells": [
            {"cell_type": "markdown", "source": ["text"]},
            *({"cell_type": "code", "source": [c]} for c in cells),
        ]
    }
    assert cli.main(["masked-matmul", file(json.dumps(nb), "a.ipynb")]) == 0
    assert cli.main(["masked-matmul", file("{}", "b.ipynb")]) == 2


def test_a_check_that_hides_in_the_answers_cell_is_left_out_and_the_answer_kept(file):
    nb = {
        "cells": [
            {"cell_type": "code", "source": [RIGHT + "\nself_check('x', averaging_matrix)\n"]}
        ]
    }
    assert cli.main(["masked-matmul", file(json.dumps(nb), "a.ipynb")]) == 0


def test_the_command_itself(file):
    ran = subprocess.run(
        [sys.executable, "-m", "course", "check", "masked-matmul", file(WRONG)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert "What it looks like" in ran.stdout
