"""``count_parameters``: GPT-2's arithmetic, and the parts people leave out."""

from __future__ import annotations

from torch import Tensor

from course.checks.assignments.gpt.exercise import COUNT, gpt
from course.checks.engine import Finding, Trial


def count(d: int, L: int, V: int, n: int, **o: int) -> int:
    """GPT-2's parameters; each option changes one part of the count."""
    attention = o.get("matrices", 4) * d * d
    attention += (o.get("attention_biases", 4)) * d
    width = o.get("width", 4)
    mlp = o.get("mlp_matrices", 2) * width * d * d + o.get("biases", 1) * (width * d + d)
    norms = o.get("norms", 2) * o.get("norm", 2) * d
    blocks = o.get("blocks", L) * (attention + mlp + norms)
    ends = (
        o.get("tokens", 1) * V * d
        + o.get("positions", 1) * n * d
        + o.get("final", 1) * o.get("norm", 2) * d
    )
    return blocks + ends + o.get("output", 0) * V * d + o.get("output_bias", 0) * V


COUNTS: dict[str, dict[str, int]] = {
    # Two norms and the four biases of the attention are equally many: the likelier comes first.
    "count-no-norms": {"norms": 0},
    "count-no-norms#1": {"norms": 0, "final": 0},
    "count-untied": {"output": 1},
    "count-untied#1": {"output": 1, "output_bias": 1},
    "count-output-bias": {"output_bias": 1},
    "count-no-positions": {"positions": 0},
    "count-no-final-norm": {"final": 0},
    "count-no-biases": {"biases": 0, "attention_biases": 0, "norm": 1},
    "count-no-biases#1": {"biases": 0, "attention_biases": 0},
    "count-no-biases#2": {"biases": 0},
    "count-no-qkv-biases": {"attention_biases": 1},
    "count-no-qkv-biases#1": {"attention_biases": 0},
    "count-one-norm": {"norms": 1},
    "count-norm-no-bias": {"norm": 1},
    "count-no-output-projection": {"matrices": 3, "attention_biases": 3},
    "count-no-output-projection#1": {"matrices": 3},
    "count-mlp-one-matrix": {"mlp_matrices": 1},
    "count-mlp-width": {"width": 2},
    "count-mlp-width#1": {"width": 3},
    "count-one-block": {"blocks": 1},
    "count-no-embedding": {"tokens": 0},
    "count-only-blocks": {"tokens": 0, "positions": 0, "final": 0},
}


GPT2 = {"small": (768, 12, 50257, 1024), "medium": (1024, 24, 50257, 1024)}


def _counted(t: Trial, case: tuple[int, ...]) -> int:
    out = t.subject.call(COUNT, *case)
    if isinstance(out, Tensor) and out.numel() == 1:
        out = out.item()
    t.expect(
        isinstance(out, int | float) and not isinstance(out, bool) and float(out) == int(out),
        f"count_parameters{case} should be a whole number; yours is {out!r}.",
    )
    return int(out)


@gpt.prop("count-gpt2", 2, "GPT-2's own sizes: 124,439,808 for the small one", COUNT)
def _count_gpt2(t: Trial) -> None:
    for name, case in GPT2.items():
        got, right = _counted(t, case), count(*case)
        t.expect(
            got == right,
            f"GPT-2 {name} has {right:,} parameters; you count {got:,} ({got - right:+,}).",
        )


@gpt.prop("count-any", 2, "Right for any width, depth, vocabulary and context", COUNT)
def _count_any(t: Trial) -> None:
    for _ in range(4):
        case = (t.integer(1, 90), t.integer(0, 7), t.integer(2, 500), t.integer(1, 300))
        got, right = _counted(t, case), count(*case)
        t.expect(
            got == right,
            f"With d_model, n_layers, vocab_size, context_length = {case} there are "
            f"{right:,} parameters; you count {got:,} ({got - right:+,}).",
        )


@gpt.diagnosis(COUNT)
def _count_faults(t: Trial, failed: set[str]) -> list[Finding]:
    cases = [(13, 3, 101, 37), (24, 5, 311, 50), (768, 12, 50257, 1024)]
    got = [_counted(t, c) for c in cases]
    for name, options in COUNTS.items():
        if got == [count(*c, **options) for c in cases]:
            return [gpt.finding(name.split("#")[0])]
    names = list(COUNTS)
    for a in names:
        for b in names:
            both = {**COUNTS[a], **COUNTS[b]}
            if (
                a < b
                and not set(COUNTS[a]) & set(COUNTS[b])
                and got == [count(*c, **both) for c in cases]
            ):
                return [gpt.finding(a.split("#")[0]), gpt.finding(b.split("#")[0])]
    return []
