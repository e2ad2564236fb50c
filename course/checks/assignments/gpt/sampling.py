"""``sample_next``: what must hold."""

from __future__ import annotations

import torch

from course.checks.assignments.gpt.exercise import SAMPLE, gpt
from course.checks.assignments.gpt.frequencies import (
    clear_logits,
    expect_drawn,
    spread_logits,
)
from course.checks.engine import Trial
from course.checks.subject import Gen


@gpt.prop(
    "sample-distribution",
    3,
    "Tokens come with the frequencies of softmax(logits / temperature)",
    SAMPLE,
)
def _sample_distribution(t: Trial) -> None:
    for temperature in (1.0, 0.6, 2.0):
        expect_drawn(t, spread_logits(t), f"temperature={temperature}", temperature=temperature)


@gpt.prop("sample-top-k", 2, "top_k keeps exactly the k largest, in their proportions", SAMPLE)
def _sample_top_k(t: Trial) -> None:
    for k in (1, 3, 7, 50):
        expect_drawn(t, spread_logits(t), f"top_k={k}", top_k=k)
    expect_drawn(t, spread_logits(t), "temperature=1.5, top_k=4", temperature=1.5, top_k=4)


@gpt.prop(
    "sample-top-p",
    2,
    "top_p keeps the smallest set of the largest whose mass is at least p",
    SAMPLE,
)
def _sample_top_p(t: Trial) -> None:
    for p, temperature in ((0.9, 1.0), (0.55, 1.0), (0.05, 1.0), (0.7, 2.0)):
        expect_drawn(
            t,
            clear_logits(t, p, temperature),
            f"temperature={temperature}, top_p={p}",
            top_p=p,
            temperature=temperature,
        )
    expect_drawn(t, spread_logits(t), "top_p=1.0", top_p=1.0)


@gpt.prop(
    "sample-greedy",
    1,
    "Temperature 0 is argmax, row by row; the result is (B,) whole numbers",
    SAMPLE,
)
def _sample_greedy(t: Trial) -> None:
    B, V = t.distinct(2, 3, 9)
    logits = t.normal(B, V, sd=3.0)
    for options in ({"temperature": 0.0}, {"temperature": 0}, {"top_k": 1}):
        out = t.subject.call(SAMPLE, logits, **options)
        t.tensor(out, (B,), f"for logits of shape ({B}, {V}) the result")
        said = ", ".join(f"{k}={v}" for k, v in options.items())
        t.expect(
            torch.equal(out.long(), logits.argmax(-1)),
            f"With {said} the result should be "
            f"{logits.argmax(-1).tolist()}; yours is {out.tolist()}.",
        )


@gpt.prop(
    "sample-generator", 1, "Draws follow the generator given, and rows are drawn separately", SAMPLE
)
def _sample_generator(t: Trial) -> None:
    logits = t.normal(1, 20).expand(200, 20).clone() * 0.3
    seed = t.integer(0, 10**6)
    ops = [
        {"op": "call", "on": SAMPLE, "args": [logits], "kwargs": {"generator": Gen(g)}, "seed": s}
        for g, s in ((seed, 1), (seed, 2), (seed + 1, 1))
    ]
    a, b, c = (t.tensor(r["value"], (200,)) for r in t.subject.ask(ops))
    t.expect(
        torch.equal(a, b),
        "Two generators with the same seed give two results: the generator is not used.",
    )
    t.expect(not torch.equal(a, c), "Generators with different seeds give the same 200 draws.")
    t.expect(len(set(a.tolist())) > 3, "All rows got the same token: each row has its own draw.")


@gpt.prop("sample-clean", 1, "The logits are not edited", SAMPLE)
def _sample_clean(t: Trial) -> None:
    logits = t.normal(4, 6)
    for options in ({}, {"temperature": 0.5}, {"top_k": 2}, {"top_p": 0.5}):
        op = {"op": "call", "on": SAMPLE, "args": [logits], "kwargs": options, "pure": True}
        t.expect(
            not t.subject.ask([op])[0]["changed"],
            f"With {options or 'defaults'} the logits are edited in place.",
        )
