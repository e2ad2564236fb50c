"""What a notebook's cells call: the self-check's two views, points, seeds, records."""

import html.parser
import subprocess
import sys

import pytest
import torch

from course.checks import notebook, points, self_check
from course.checks.engine import Failure


def right(T):
    w = torch.ones(T, T).tril()
    return w / w.sum(1, keepdim=True)


def wrong(T):
    return torch.ones(T, T).tril() / T


def test_a_self_check_reads_as_text_and_as_a_table():
    shown = self_check("masked-matmul", wrong)
    assert "✗ values" in repr(shown)
    assert "divide it by t + 1" in repr(shown)
    page = shown._repr_html_()
    for part in (
        '<th scope="col">Check</th>',
        '<th scope="row">values</th>',
        "✗ not yet",
        "✓ passed",
        "<caption>",
        "divide it by t + 1",
        "yours",
    ):
        assert part in page, part


def test_the_table_is_well_formed_and_escapes_what_it_shows():
    def evil(T):
        raise ValueError("<script>alert(1)</script>")

    page = self_check("masked-matmul", evil)._repr_html_()
    assert "<script>" not in page
    opened = []

    class Parser(html.parser.HTMLParser):
        def handle_starttag(self, tag, attrs):
            opened.append(tag)

        def handle_endtag(self, tag):
            assert opened.pop() == tag

    Parser().feed(page)
    assert opened == []


def test_points_are_what_the_named_checks_are_worth(capsys):
    assert points("masked-matmul", right, checks=["shape", "values"]) == 5.0
    assert points("masked-matmul", wrong, checks=["shape", "values"]) == 1.0
    assert "divide it by t + 1" in capsys.readouterr().out
    assert points("masked-matmul", right, quiet=True) == 9.0
    assert capsys.readouterr().out == ""


def test_every_trial_has_to_hold_and_an_extra_property_can_take_all():
    calls = []

    def sometimes(T):
        calls.append(T)
        return right(T) if len(calls) < 4 else wrong(T)

    assert points("masked-matmul", sometimes, checks=["shape"], trials=3, quiet=True) == 1.0

    def never(t):
        """Cannot hold."""
        raise Failure("no")

    assert points("masked-matmul", right, checks=["shape"], extra=[never], quiet=True) == 0.0


def test_a_seed_from_outside_repeats_a_grading(monkeypatch):
    records = []
    monkeypatch.setattr(notebook, "LISTENERS", [records.append])
    monkeypatch.setenv(notebook.SEED_VARIABLE, "41")
    points("average", lambda x: x, checks=["values"], quiet=True)
    points("average", lambda x: x, checks=["values"], quiet=True)
    assert records[0] == records[1]
    assert records[0]["seed"] == 41
    monkeypatch.setenv(notebook.SEED_VARIABLE, "x")
    with pytest.raises(ValueError, match="COURSE_CHECK_SEED"):
        notebook.fresh_seed()


def test_the_number_of_things_has_to_fit():
    with pytest.raises(TypeError, match="scaled_scores, effective_tokens"):
        self_check("scaling", right)
    with pytest.raises(ValueError, match="there are: average"):
        self_check("nothing", right)


def test_a_self_check_needs_nothing_of_nbgrader_or_of_a_notebook():
    """As in Colab with the wheel alone, or in a plain script."""
    blocked = ["nbgrader", "sqlalchemy", "nbconvert", "nbformat", "IPython", "matplotlib",
               "ipywidgets", "anywidget"]  # fmt: skip
    script = f"""import sys
for name in {blocked!r}:
    sys.modules[name] = None
from course.checks import points, self_check
def averaging_matrix(T):
    import torch
    return torch.ones(T, T).tril() / torch.arange(1, T + 1)[:, None]
shown = self_check("masked-matmul", averaging_matrix)
assert "✓" in repr(shown) and "✗" not in repr(shown), shown
print(points("masked-matmul", averaging_matrix, checks=["values"]))
"""
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert float(ran.stdout.split()[-1]) > 0
