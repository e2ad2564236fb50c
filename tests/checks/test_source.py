"""The rule against importing the answer: what is refused, and what is nobody's business."""

import pytest

from course.checks import registry
from course.checks.engine import grade
from course.checks.source import used_names
from course.checks.subject import LocalSubject

BODY = "class Head(nn.Module):\n    def forward(self, x):\n        return {}\n"


def refused(source, slug="head"):
    exercise = registry.get(slug)
    r = grade(exercise, LocalSubject.from_source(source), only=[exercise.properties[0].name])
    return "imported-answer" in r.as_dict()["mistakes"]


@pytest.mark.parametrize(
    "source",
    [
        "from course.attention import Head\n",
        "import course.attention\nHead = course.attention.Head\n",
        "from course import attention as a\nclass Head(a.Head):\n    pass\n",
        "from course.attention import *\n",
        "import importlib\ndef Head(*args):\n"
        "    return importlib.import_module('course.attention').Head(*args)\n",
        "def Head(*args):\n"
        "    return getattr(__import__('course.attention').attention, 'Head')(*args)\n",
        "from course.attention import Head as H\ndef make(*a):\n    return H(*a)\n"
        "def Head(*args):\n    return make(*args)\n",
        "from course.attention import Head as H\nfrom torch import nn\nclass Head(nn.Module):\n"
        "    def __init__(self, *a):\n        super().__init__()\n        self.inner = H(*a)\n",
        "from torch import nn\nclass Head(nn.MultiheadAttention):\n    pass\n",
        "import torch.nn as tn\ndef Head(*a):\n    return tn.MultiheadAttention(4, 2)\n",
        "from torch import nn\n" + BODY.format("x") + "from course.attention import Head as H\n"
        "Head.forward = H.forward\n",
        # set from inside a function
        "from torch import nn\n" + BODY.format("x") + "from course.attention import Head as H\n"
        "def patch():\n    Head.forward = H.forward\npatch()\n",
        "def fetch():\n    global Head\n    from course.attention import Head\nfetch()\n",
        "def fetch():\n    global Head\n    import course.attention as a\n    Head = a.Head\n"
        "fetch()\n",
        "def Head(*args):\n    import course.attention as a\n    return a.Head(*args)\n",
    ],
)
def test_the_answer_imported_is_refused(source):
    assert refused(source)


@pytest.mark.parametrize(
    "source",
    [
        "from torch import nn\n" + BODY.format("x"),
        # compares with the course's own, beside the answer
        "from torch import nn\nfrom course.attention import Head as Theirs\n"
        + BODY.format("x")
        + "difference = Theirs(4, 2, 8)\n",
        "from torch import nn\nfrom torch.nn import functional as F\n"
        + BODY.format("F.scaled_dot_product_attention(x, x, x)"),
        "from torch import nn\nfrom course.checks import self_check\n" + BODY.format("x"),
    ],
)
def test_what_an_answer_does_not_rest_on_is_free(source):
    assert not refused(source)


@pytest.mark.parametrize(
    "beside",
    [
        "from course.attention import Head as x\n",
        "import course.attention as h\nx = h.Head(4, 2, 8)\n",
        "import course.attention as h\nfor x in (h.Head(4, 2, 8),):\n    y = x\n",
        "import course.attention as h\nall_of_them = [h.Head(x, 2, 8) for x in (4, 8)]\n",
        "def compare(x):\n    import course.attention as h\n    return h.Head(4, 2, 8)(x)\n",
    ],
)
@pytest.mark.parametrize(
    "inside",
    [
        "x",
        "[h for h in x] and (lambda y: y.Head)(x) and x",
        "sum(y.T for y in x) + x.attention.Head",
    ],
)
def test_a_local_name_is_nobody_elses(beside, inside):
    source = "from torch import nn\n" + beside + BODY.format(inside)
    assert not any(name.startswith("course") for name in used_names(source, "Head"))


def test_the_variable_of_a_comprehension_is_no_top_level_name():
    source = (
        "import course.attention as a\nq = 3\n"
        "theirs = [a.Head(q, 2, 8) for q in (4, 8)]\ndef f():\n    return q\n"
    )
    assert used_names(source, "f") == {"q"}


def test_the_block_may_use_the_courses_attention_and_nothing_else_of_it():
    block = (
        "from torch import nn\nfrom course.attention import {0}\nclass Block(nn.Module):\n"
        "    def __init__(self, *a):\n        super().__init__()\n        self.a = {0}(*a)\n"
    )
    assert not refused(block.format("MultiHeadAttention"), "block")
    assert refused(block.format("CrossAttention"), "block")


def test_where_attention_is_to_be_written_the_fused_kernel_is_refused():
    source = (
        "import torch\ndef attend(x, q, k, v):\n"
        "    return torch.nn.functional.scaled_dot_product_attention(x, x, x)\n"
    )
    assert refused(source, "qkv")


def test_used_names_resolve_imports_and_follow_helpers():
    source = (
        "from torch.nn import functional as F\nimport numpy as np\n%matplotlib inline\n"
        "def helper(x):\n    return F.relu(x)\ndef f(x):\n    return helper(x)\n"
        "def g(x):\n    return np.sin(x)\n"
    )
    assert "torch.nn.functional.relu" in used_names(source, "f")
    assert "numpy.sin" not in used_names(source, "f")
    assert used_names("def broken(:\n", "broken") == set()
