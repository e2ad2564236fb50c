"""The checks' own right answers equal the course's, and every fault really is one."""

import pytest
import torch

from course import attention, positions
from course.checks import oracles
from course.checks.assignments import encoder_decoder
from course.checks.assignments import positions as checked_positions
from course.checks.assignments.gpt import count
from course.checks.oracles import FAULTS, Fault
from course.checks.roles import head_roles, multi_head_roles, pair_biases
from course.models import gpt_parameters
from course.training import noam_rate


def best(out, expected):
    return float((expected - out).abs().flatten(1).amax(1).min())


@pytest.mark.parametrize("bias", [False, True])
def test_several_heads_equal_the_courses(bias):
    torch.manual_seed(0)
    m = attention.MultiHeadAttention(8, 2, 9, qkv_bias=bias).double()
    x = torch.randn(3, 7, 8, dtype=torch.float64)
    roles = multi_head_roles([(n, p.detach()) for n, p in m.named_parameters()], 8, 2)
    assert best(m(x), oracles.attend(x, roles)) < 1e-12


def test_a_head_equals_the_courses():
    m = attention.Head(7, 3, 9).double()
    x = torch.randn(3, 6, 7, dtype=torch.float64)
    roles = head_roles([(n, p.detach()) for n, p in m.named_parameters()], 7, 3)
    assert best(m(x), oracles.attend(x, roles)) < 1e-12


def test_cross_attention_equals_the_courses():
    m = attention.CrossAttention(8, 2).double()
    x, memory = torch.randn(3, 5, 8).double(), torch.randn(3, 4, 8).double()
    mask = torch.tensor([[True, True, False, True]] * 3)
    roles = multi_head_roles([(n, p.detach()) for n, p in m.named_parameters()], 8, 2)
    for given in (None, mask):
        assert best(m(x, memory, given), encoder_decoder.cross(x, memory, given, roles)) < 1e-12


def test_positions_schedule_and_count_equal_the_courses():
    assert torch.allclose(
        positions.sinusoidal(40, 12).double(), checked_positions.right_sinusoidal(40, 12), atol=1e-5
    )
    x, pos = torch.randn(2, 5, 8), torch.tensor([3, 0, 7, 100, 2])
    assert torch.allclose(
        positions.apply_rope(x, pos, 500.0), checked_positions.rope(x, pos, 500.0), atol=1e-5
    )
    for H in (1, 2, 6, 8, 12, 16, 20):
        assert torch.allclose(
            positions.alibi_bias(H, 5).double(), checked_positions.right_alibi(H, 5)
        )
    for case in ((1, 512, 4000), (9000, 256, 400)):
        assert noam_rate(*case) == pytest.approx(encoder_decoder.right_rate(*case), rel=1e-12)
    assert count(768, 12, 50257, 1024) == 124_439_808
    ours = gpt_parameters(768, 12, 50257, 1024)
    assert count(768, 12, 50257, 1024) in ours.values()


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_changes_the_result(name):
    torch.manual_seed(1)
    C, H = 12, 2
    parameters = [(n, torch.randn(C, C) * 0.4) for n in "qkvo"]
    roles = multi_head_roles(parameters, C, H).only(0)
    x = torch.randn(3, 5, C)
    right, wrong = oracles.attend(x, roles), oracles.attend(x, roles, FAULTS[name])
    assert not torch.allclose(right, wrong.nan_to_num(9.0), atol=1e-3)


def test_pairs_of_faults_concern_different_parts():
    for a, b, fault in oracles.pairs(["no-mask", "mask-upside-down", "not-divided"]):
        assert {a, b} != {"no-mask", "mask-upside-down"}
        assert fault != Fault()
    assert len(list(oracles.pairs(list(FAULTS)))) > 200


def layouts(q, k, v, o, H):
    """Ways to keep the same matrices (C, C), as inputs × outputs. name → parameters."""
    C = q.shape[0]
    D = C // H
    heads = [w.reshape(C, H, D).transpose(0, 1) for w in (q, k, v)]  # (H, C, D)
    yield "linear", [("q.weight", q.T), ("k.weight", k.T), ("v.weight", v.T), ("o.weight", o.T)]
    yield "raw", [("a", q), ("b", k), ("c", v), ("d", o)]
    yield (
        "output first",
        [("o.weight", o.T), ("v.weight", v.T), ("q.weight", q.T), ("k.weight", k.T)],
    )
    yield "fused", [("qkv.weight", torch.cat([q, k, v], 1).T), ("o.weight", o.T)]
    yield "fused raw", [("qkv", torch.cat([v, k, q], 1)), ("o", o)]
    fused = torch.cat(heads, 2).transpose(0, 1).reshape(C, 3 * C)  # in each head: q, k, v
    yield "fused per head", [("c.weight", fused.T), ("o.weight", o.T)]
    yield (
        "three-dimensional",
        [("q", heads[0]), ("k", heads[1]), ("v", heads[2]), ("o", o.reshape(H, D, C))],
    )
    yield "four-dimensional", [("w", torch.stack(heads)), ("o", o)]
    yield (
        "list of heads",
        [
            *(
                (f"heads.{h}.{n}.weight", heads[i][h].T)
                for h in range(H)
                for i, n in enumerate("qkv")
            ),
            ("o.weight", o.T),
        ],
    )
    yield (
        "list by role",
        [
            *((f"{n}.{h}.weight", heads[i][h].T) for i, n in enumerate("qkv") for h in range(H)),
            ("o.weight", o.T),
        ],
    )
    yield "fused kv", [("q.weight", q.T), ("kv.weight", torch.cat([k, v], 1).T), ("o.weight", o.T)]
    mixed = [w.reshape(C, H, D).transpose(1, 2).reshape(C, C) for w in (q, k, v)]
    yield (
        "interleaved",
        [
            ("q.weight", mixed[0].T),
            ("k.weight", mixed[1].T),
            ("v.weight", mixed[2].T),
            ("o.weight", o.T),
        ],
    )


@pytest.mark.parametrize("index", range(12))
@pytest.mark.parametrize(("C", "H"), [(8, 2), (10, 5), (12, 3)])
def test_every_layout_of_the_same_matrices_is_read(index, C, H):
    torch.manual_seed(index)
    q, k, v, o = (torch.randn(C, C) * 0.5 for _ in range(4))
    x = torch.randn(2, 5, C)
    truth = multi_head_roles([("q", q), ("k", k), ("v", v), ("o", o)], C, H)
    out = None
    for i in range(len(truth)):
        one = truth.only(i)
        if (
            torch.equal(one.wq[0].transpose(0, 1).reshape(C, C), q)
            and torch.equal(one.wk[0].transpose(0, 1).reshape(C, C), k)
            and torch.equal(one.wo[0].reshape(C, C), o)
        ):
            out = oracles.attend(x, one)[0]
    assert out is not None
    name, parameters = list(layouts(q, k, v, o, H))[index]
    roles = multi_head_roles(parameters, C, H)
    assert roles is not None, name
    assert best(out, oracles.attend(x, roles)) < 1e-5, name


def test_biases_find_their_matrices_by_name():
    parameters = [
        ("in_proj_weight", torch.zeros(12, 4)),
        ("in_proj_bias", torch.ones(12)),
        ("out_proj.weight", torch.zeros(4, 4)),
        ("out_proj.bias", torch.ones(4)),
    ]
    paired = {n: None if b is None else b.shape[0] for n, _, b in pair_biases(parameters)}
    assert paired == {"in_proj_weight": 12, "out_proj.weight": 4}


def test_parameters_that_do_not_fit_have_no_reading():
    assert head_roles([("w", torch.zeros(3, 5))], 5, 3) is None
    assert multi_head_roles([("w", torch.zeros(8, 8))], 8, 2) is None
