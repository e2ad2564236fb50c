"""The door to a learner's code: plain data across, errors with their line, nothing left changed."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course.checks.subject import (
    Executor,
    Gen,
    LocalSubject,
    Ref,
    Subject,
    SubjectError,
    as_subject,
    from_wire,
    to_wire,
)

SOURCE = """
import torch
from torch import nn

class Scale(nn.Module):
    def __init__(self, n, start=1.0):
        super().__init__()
        self.w = nn.Parameter(torch.full((n,), start))
        self.unused = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        return self.w * x

def fails(x):
    y = x + 1
    return y @ torch.ones(99)

def edits(x):
    x += 1
    return x

def draw(n, generator=None):
    return torch.rand(n, generator=generator)

def leave():
    raise SystemExit(3)

def square(x):
    return (x[:, None] * x[None, :]).sum(1)

def strips(x):
    return torch.stack([(x[i] * x).sum() for i in range(len(x))])

def count(model, idx):
    model.train()
    return model(idx).shape[-1]
"""


@pytest.fixture
def subject():
    return LocalSubject.from_source(SOURCE, "answer.py")


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.lists(inner).map(tuple),
    max_leaves=12,
)


@given(plain)
def test_plain_data_survives_the_wire(value):
    assert from_wire(json.loads(json.dumps(to_wire(value)))) == value


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int64, torch.bool]
)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3, 4)])
def test_tensors_survive_the_wire(dtype, shape):
    t = (torch.randn(shape) * 3).to(dtype)
    back = from_wire(json.loads(json.dumps(to_wire(t))))
    assert back.dtype == dtype
    assert back.shape == t.shape
    assert torch.equal(back, t)


def test_not_a_number_a_view_and_a_stand_in_survive():
    t = torch.tensor([[float("nan"), float("inf")], [1.0, 2.0]]).T
    assert torch.equal(from_wire(to_wire(t)).nan_to_num(7), t.nan_to_num(7))
    assert from_wire(to_wire([Ref("m"), Gen(3)])) == [Ref("m"), Gen(3)]
    assert from_wire(to_wire(float("inf"))) == float("inf")


def test_only_plain_data_crosses():
    with pytest.raises(TypeError, match="object"):
        to_wire(object())


@pytest.mark.parametrize(
    "hostile",
    [
        {"$tensor": ["float32", [10**9], ""]},
        {"$tensor": ["float32", [-1], ""]},
        {"$tensor": ["float32", [2], "AAAA"]},
        {"$tensor": ["float32", [1], "no base64!"]},
        {"$what": 1},
        {"a": 1, "b": 2},
    ],
)
def test_what_does_not_describe_plain_data_is_refused(hostile):
    with pytest.raises(ValueError, match=r"."):
        from_wire(hostile)


def test_a_batch_may_build_an_object_and_use_it(subject):
    replies = subject.ask(
        [
            {"op": "new", "as": "m", "name": "Scale", "args": [3], "kwargs": {"start": 2.0}},
            {"op": "call", "on": "m", "args": [torch.ones(3)]},
            {"op": "set", "on": "m", "values": {"w": torch.arange(3.0)}},
            {"op": "call", "on": "m", "args": [torch.ones(3)]},
            {"op": "parameters", "on": "m"},
            {"op": "state", "on": "m"},
            {"op": "to", "on": "m", "dtype": "float64"},
            {"op": "mode", "on": "m", "train": False},
        ]
    )
    assert replies[1]["value"].tolist() == [2, 2, 2]
    assert replies[3]["value"].tolist() == [0, 1, 2]
    assert [(n, g) for n, _, g in replies[4]["value"]] == [("w", True), ("unused", True)]
    assert set(replies[5]["value"]) == {"w", "unused"}
    assert {d for _, d, _ in replies[6]["value"]} == {"float64"}
    assert replies[7]["value"] == [False]


def test_gradients_cross_as_a_vector_jacobian_product(subject):
    x = torch.tensor([1.0, 2.0, 3.0])
    reply = subject.ask(
        [
            {"op": "new", "as": "m", "name": "Scale", "args": [3], "kwargs": {"start": 2.0}},
            {
                "op": "vjp",
                "on": "m",
                "args": [x],
                "cotangent": torch.tensor([1.0, 0.0, 1.0]),
                "inputs": [0],
            },
        ]
    )[1]
    assert reply["inputs"][0].tolist() == [2, 0, 2]
    assert reply["parameters"]["w"].tolist() == [1, 0, 3]
    assert reply["parameters"]["unused"] is None


def test_an_error_carries_its_kind_and_its_line_and_stops_nothing_else(subject):
    replies = subject.run(
        [
            {"op": "call", "on": "fails", "args": [torch.ones(3)]},
            {"op": "call", "on": "draw", "args": [2]},
            {"op": "call", "on": "nowhere", "args": []},
            {"op": "call", "on": "leave", "args": []},
        ]
    )
    line = SOURCE.splitlines().index("    return y @ torch.ones(99)") + 1
    assert replies[0]["error"]["type"] == "RuntimeError"
    assert replies[0]["error"]["line"] == line
    assert replies[1]["value"].shape == (2,)
    assert replies[2]["error"]["type"] == "NameError"
    assert replies[3]["error"]["type"] == "SystemExit"
    with pytest.raises(SubjectError, match=rf"line {line} of your code"):
        subject.call("fails", torch.ones(3))


def test_the_checks_own_tensors_are_never_edited_and_an_edit_is_seen(subject):
    x = torch.zeros(3)
    reply = subject.ask([{"op": "call", "on": "edits", "args": [x], "pure": True}])[0]
    assert reply["changed"] == [0]
    assert x.tolist() == [0, 0, 0]
    clean = subject.ask([{"op": "call", "on": "draw", "args": [3], "pure": True}])[0]
    assert clean["changed"] == []


def test_a_seed_rules_the_draw_and_leaves_the_callers_random_state_alone(subject):
    before = torch.random.get_rng_state()
    a, b, c = (subject.call("draw", 4, seed=s) for s in (1, 1, 2))
    assert torch.equal(a, b)
    assert not torch.equal(a, c)
    assert torch.equal(torch.random.get_rng_state(), before)
    d, e = (subject.call("draw", 4, generator=Gen(5)) for _ in range(2))
    assert torch.equal(d, e)


def test_the_watch_sees_the_square_and_not_the_strips(subject):
    n = 64
    replies = subject.ask(
        [
            {"op": "call", "on": f, "args": [torch.ones(n)], "watch": True}
            for f in ("square", "strips")
        ]
    )
    assert replies[0]["largest"] >= n * n
    assert replies[1]["largest"] < n * n // 4
    assert replies[1]["peak"] < n * n // 2


def test_the_probe_model_remembers_and_has_known_logits(subject):
    table = torch.randn(4, 4)
    replies = subject.ask(
        [
            {"op": "model", "as": "m", "table": table, "decay": 0.5, "max_length": 3},
            {"op": "call", "on": "m", "args": [torch.tensor([[1, 2]])]},
            {"op": "mode", "on": "m", "train": False},
            {"op": "call", "on": "count", "args": [Ref("m"), torch.tensor([[0]])]},
            {"op": "mode", "on": "m"},
            {"op": "calls", "on": "m"},
        ]
    )
    assert torch.allclose(replies[1]["value"][0], torch.stack([table[1], table[2] + table[1] / 2]))
    assert replies[3]["value"] == 4
    assert replies[4]["value"][0] is True
    assert [c["idx"].shape[1] for c in replies[5]["value"]] == [2, 1]
    with pytest.raises(SubjectError, match="3 positions"):
        subject.call("m", torch.zeros(1, 4, dtype=torch.long))


def test_a_remote_subject_needs_only_a_transport():
    local = LocalSubject.from_source(SOURCE)
    executor = Executor(local._executor.namespace)

    class Remote(Subject):
        def run(self, program):
            sent = json.loads(json.dumps([to_wire(op) for op in program]))
            replies = executor.run([from_wire(op) for op in sent])
            return [from_wire(json.loads(json.dumps(to_wire(r)))) for r in replies]

    from course.checks import registry
    from course.checks.engine import grade

    answer = (
        "import torch\ndef causal_average(x):\n    n = torch.arange(1, x.shape[1] + 1)\n"
        "    return (x.cumsum(1) / n[:, None]).to(x.dtype)\n"
    )
    here = LocalSubject.from_source(answer)
    executor = Executor(here._executor.namespace)
    there = Remote()
    there.source = answer
    reports = [grade(registry.get("average"), s, seed=5).as_dict() for s in (here, there)]
    assert reports[0] == reports[1]
    assert reports[0]["score"] == reports[0]["max_score"]


def test_a_proxy_brings_its_own_subject(subject):
    class Proxy:
        def __course_subject__(self):
            return subject

    assert as_subject(Proxy(), "draw") is subject
    assert as_subject(subject, "draw") is subject
    assert as_subject(abs, "f").call("f", -3) == 3


def test_source_that_does_not_compile_says_where():
    with pytest.raises(SubjectError, match="line 2") as caught:
        LocalSubject.from_source("x = 1\ny = = 2\n")
    assert caught.value.kind == "SyntaxError"
    with pytest.raises(SubjectError, match="ZeroDivisionError"):
        LocalSubject.from_source("1 / 0\n")
