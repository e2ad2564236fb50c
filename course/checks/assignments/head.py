"""``Head(d_model, d_head, context_length, dropout=0.0)``: one causal attention head."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from course.checks.attention_checks import (
    Design,
    check_values,
    find_faults,
    weight_dropout_seen,
)
from course.checks.engine import Exercise, Finding, Trial, agree
from course.checks.roles import Named, Roles, head_roles
from course.checks.toolkit import (
    Target,
    build,
    expect_causal,
    expect_dtypes,
    expect_gradients,
    expect_lengths,
    expect_pure,
    expect_registered,
    expect_rows_apart,
    twice,
)

CONTEXT = 16


def sizes(t: Trial) -> tuple[list[int], int]:
    """d_model and d_head, no small multiple of each other, so that a shape has one reading."""
    C, D = t.pick([(5, 3), (7, 3), (7, 4), (10, 3), (11, 4), (9, 4), (5, 7), (13, 3), (11, 3)])
    return [C, D, CONTEXT], C


def read(parameters: Sequence[Named], args: Sequence[int]) -> Roles | None:
    """Candidates for the roles of the parameters."""
    return head_roles(parameters, args[0], args[1])


DESIGN = Design(
    "Head",
    sizes,
    read,
    small=[[2, 1, 4], [3, 2, 4], [5, 3, 4]],
    faults=(
        "not-divided",
        "divided-by-d-model",
        "divided-by-d-head-itself",
        "multiplied-by-root",
        "divided-by-length",
        "divided-by-d-model-itself",
        "divided-by-fourth-root",
        "no-mask",
        "mask-upside-down",
        "mask-inverted",
        "mask-hides-self",
        "mask-hides-self-zeros",
        "mask-one-too-far",
        "mask-after-softmax",
        "mask-with-zero",
        "mask-with-small-number-1",
        "mask-with-small-number-10",
        "mask-with-plus-infinity",
        "mask-added",
        "softmax-over-queries",
        "softmax-over-batch",
        "no-softmax",
        "linear-weights",
        "sigmoid-weights",
        "log-softmax",
        "exp-not-normalised",
        "weights-transposed",
        "averaged-twice",
        "shared-qk",
        "shared-kv",
    ),
)

MISTAKES = {
    "not-divided": "Your scores are not divided: divide q·k by √d_head before the softmax. With "
    "d_head = {d_head} your scores spread √{d_head} times too widely, and the softmax hardens.",
    "divided-by-d-model": "Your scores are divided by √d_model; divide by √d_head. With d_model = "
    "{d_model} and d_head = {d_head} their spread is {ratio} times too small.",
    "divided-by-d-head-itself": "Your scores are divided by d_head itself; divide by its square "
    "root: the spread of q·k grows as √d_head (its variance as d_head).",
    "multiplied-by-root": "Your scores are multiplied by √d_head; they have to be divided by it.",
    "divided-by-length": "Your scores are divided by √T, the number of tokens; what makes q·k "
    "spread is the number of terms in it, d_head: divide by √d_head.",
    "divided-by-d-model-itself": "Your scores are divided by d_model; divide by √d_head.",
    "divided-by-fourth-root": "Only q or only k was multiplied by d_head^(−1/4): the product needs "
    "d_head^(−1/2) in all.",
    "no-mask": "There is no causal mask: every token sees the whole sequence, also what follows "
    "it. "
    "Set the scores of later tokens to −∞ before the softmax.",
    "mask-upside-down": "Your mask is the wrong way up: token t sees itself and what FOLLOWS it. "
    "Row t (a query) may attend to the columns 0 … t: torch.tril, not triu.",
    "mask-inverted": "Your mask is inverted: you hide what may be seen and show what may not. "
    "masked_fill fills where its mask is True, so give it ~may_attend.",
    "mask-hides-self": "Your mask hides each token from itself too, so the first row has nothing "
    "to "
    "attend to and becomes NaN: keep the diagonal (tril(diagonal=0)).",
    "mask-hides-self-zeros": "Your mask hides each token from itself: keep the diagonal "
    "(tril(diagonal=0)); token t attends to 0 … t, itself included.",
    "mask-one-too-far": "Your mask lets each token see one token of its future: use diagonal=0, "
    "not 1 (triu(diagonal=1) marks what is FORBIDDEN).",
    "mask-after-softmax": "You mask after the softmax, so the rows no longer sum to 1: future "
    "tokens have taken part of the weight. Mask the scores with −∞ BEFORE the softmax.",
    "mask-with-zero": "You set masked scores to 0, but exp(0) = 1 is a perfectly good weight: a "
    "masked score has to be −∞, whose exponential is 0.",
    "mask-with-small-number-1": "You set masked scores to a small finite number, which still has a "
    "weight: use float('-inf').",
    "mask-with-small-number-10": "You set masked scores to −10, which still has weight e^−10 and "
    "more when the other scores are low: use float('-inf').",
    "mask-with-plus-infinity": "You set masked scores to +∞: use −∞, whose exponential is 0.",
    "mask-added": "You add the 0/1 mask to the scores: that only raises the visible ones by 1. "
    "Hidden ones have to become −∞.",
    "mask-finite": "Your mask is a finite number (such as −1e9 or −1e4): a visible score can be "
    "lower still, and then the future leaks through. Use float('-inf').",
    "mask-with-tiny": "You fill masked scores with ±1e-9, which is next to 0, and exp(0) = 1: use "
    "float('-inf').",
    "masks-zero-scores": "You hide every score that equals 0, also one that may be seen and "
    "happens "
    "to be 0: a row of zeros becomes NaN. Mask by position, not by value.",
    "softmax-over-queries": "Your softmax runs over the queries (dim=1, the rows): each QUERY's "
    "weights have to sum to 1, so it runs over the keys, dim=-1.",
    "softmax-over-batch": "Your softmax runs over the batch dimension (dim=0): it has to run over "
    "the keys, dim=-1.",
    "no-softmax": "Your weights are the raw scores: pass them through a softmax over the keys.",
    "linear-weights": "Your weights are scores divided by their sum, which can be negative or "
    "explode: use a softmax.",
    "sigmoid-weights": "Your weights come from a sigmoid; a row has to sum to 1: use a softmax.",
    "log-softmax": "You use log_softmax: its values are logarithms, not weights. Use softmax.",
    "exp-not-normalised": "You exponentiate the scores but do not divide by the row's sum.",
    "weights-transposed": "You multiply by the transposed weights: out = weights @ v, with queries "
    "in the rows and keys in the columns.",
    "averaged-twice": "You divide the output by the number of tokens as well: the weights already "
    "sum to 1.",
    "shared-qk": "Queries and keys come from one and the same projection, which makes the scores "
    "symmetric: give each its own.",
    "shared-kv": "Keys and values come from one and the same projection: give each its own.",
    "not-registered": "Your parameters are not registered (a plain tensor, or modules in a Python "
    "list): they would be neither trained nor saved. Use nn.Linear or nn.Parameter.",
    "unstable": "Large scores overflow to NaN: subtract the row's maximum before exponentiating, "
    "or use torch.softmax.",
    "dropout-ignored": "The dropout argument has no effect in training: drop the weights, after "
    "the softmax, with nn.Dropout.",
    "dropout-in-evaluation": "Dropout is still active in evaluation: use nn.Dropout, which "
    "model.eval() turns off (F.dropout needs training=self.training).",
    "dropout-on-output": "Dropout falls on single features of the output (or the values); it "
    "belongs on the weights, after the softmax and before they meet the values.",
    "dropout-on-scores": "Dropout falls on the scores, before the softmax: a dropped score is 0, "
    "which is a weight like any other. Drop the weights, after the softmax.",
    "dropout-unscaled": "Your dropout does not scale what it keeps by 1 / (1 − p): nn.Dropout "
    "does.",
    "only-context-length": "Your head only takes T = context_length: cut the mask to the T tokens "
    "that came, mask[:T, :T].",
    "edits-input": "Your head edits its input in place: make a new tensor.",
    "detached": "Part of the computation is detached from the gradient (detach, .data, no_grad, "
    "torch.tensor(…) or .item()): that part cannot learn.",
    "fixed-dtype": "A tensor you make has a fixed floating type: make it with x.new_zeros(…) or "
    "dtype=x.dtype so that float64 and half precision work.",
    "returns-weights": "You return the weights (B, T, T): multiply them with the values.",
    "returns-tuple": "You return a tuple: forward returns only the output, (B, T, d_head).",
    "output-width": "Your output has d_model features: each head returns d_head.",
    "values-are-x": "You weigh x itself instead of the values: project x to v first.",
    "random": "Two calls in evaluation give two results: something random is drawn in forward.",
    "batch-mixed": "Rows of the batch influence each other.",
}

head = Exercise(
    "head", "One causal attention head", ("Head",), MISTAKES, refused=("MultiheadAttention",)
)


@head.prop("shape", 1, "x (B, T, d_model) becomes (B, T, d_head), for every T up to context_length")
def _shape(t: Trial) -> None:
    for C, D, B, T, n in ((12, 5, 2, 7, 9), (5, 7, 3, 1, 4), (6, 4, 1, 11, 11)):
        out = build(t, "Head", [C, D, n])(t.normal(B, T, C))
        t.tensor(out, (B, T, D), f"Head({C}, {D}, {n}) on x of shape ({B}, {T}, {C})")


@head.prop("values", 4, "The values equal an independent calculation at T = 1, 2, 5 and 8")
def _values(t: Trial) -> None:
    check_values(t, DESIGN, (1, 2, 5, 8))


@head.prop("causal", 2, "No output depends on a later token; each depends on all before and itself")
def _causal(t: Trial) -> None:
    args, C = sizes(t)
    T = t.integer(4, 7)
    expect_causal(build(t, "Head", args), t.normal(2, T, C))


@head.prop(
    "weights",
    1,
    "Equal tokens give the plain average; huge scores, masked or not, leak "
    "nothing and overflow nowhere",
)
def _weights(t: Trial) -> None:
    args, C = sizes(t)
    target = build(t, "Head", args)
    same = t.normal(2, 1, C).expand(2, 6, C).clone()
    out = target(same)
    t.expect(
        agree(out, out[:, :1].expand_as(out)),
        "With equal tokens every weight is equal, and "
        "every output is that token's value; yours differ between positions.",
    )
    zero = target(torch.zeros(1, 3, C))
    t.expect(
        bool(torch.isfinite(zero).all()),
        "With x = 0, where all scores may be 0, your output "
        "has NaN: a visible score of 0 is a score like any other.",
    )
    for big in (30.0, 1e3):
        # Enough rows that some visible score is far below zero, where a finite mask shows.
        target = build(t, "Head", args)
        x = t.normal(40, 5, C)
        y = x.clone()
        y[:, 4] *= big
        a, b, large, single = target.many([x, y, x * big, x[:, :1] * big])
        t.expect(
            agree(b[:, :4], a[:, :4]),
            "A token with a huge key changed the outputs before "
            f"it (its entries were multiplied by {big:g}): the mask leaks.",
        )
        t.expect(
            bool(torch.isfinite(large).all()),
            f"Large scores (entries of x times {big:g}) give NaN or infinite outputs.",
        )
        t.expect(
            agree(large[:, :1], single),
            "With large scores (entries of x times "
            f"{big:g}) the first output depends on later tokens: the mask leaks.",
        )


@head.prop(
    "lengths",
    1,
    "A prefix gives the prefix; shorter after longer, one token, one row work; "
    "rows of the batch are independent",
)
def _lengths(t: Trial) -> None:
    args, C = sizes(t)
    target = build(t, "Head", args)
    T = t.integer(6, CONTEXT)
    x = t.normal(3, T, C)
    expect_lengths(target, x, t.integer(2, T - 1))
    expect_rows_apart(target, x)


@head.prop(
    "pure", 1, "The input is not edited, and two calls in evaluation agree (dropout set too)"
)
def _pure(t: Trial) -> None:
    args, C = sizes(t)
    expect_pure(build(t, "Head", args), t.normal(2, 5, C))
    expect_pure(build(t, "Head", [*args, 0.5]), t.normal(2, 5, C))


def training_dropout(t: Trial) -> str:
    """Build with dropout, look at what it does in training to single tokens."""
    args, C = sizes(t)
    p = 0.4
    target = build(t, "Head", [*args, p])
    x = t.normal(64, 1, C)
    kept = target(x)
    t.tensor(kept, (64, 1, args[1]))
    target.mode(True)
    dropped = target(x, seed=t.integer(0, 10**6))
    t.tensor(dropped, kept.shape)
    return weight_dropout_seen(dropped[:, 0], kept[:, 0], p)


@head.prop(
    "dropout",
    1,
    "In training dropout falls on the weights, after the softmax; in evaluation it is off",
)
def _dropout(t: Trial) -> None:
    args, C = sizes(t)
    x = t.normal(2, 5, C)
    target = build(t, "Head", [*args, 0.5])
    a, b = (target(x, seed=s) for s in (1, 2))
    t.expect(agree(a, b, 1e-6), "In evaluation, with dropout = 0.5, two calls differ.")
    seen = training_dropout(t)
    said = {
        "none": "dropout = 0.4 changes nothing in training.",
        "unscaled": "what dropout keeps is not scaled by 1 / (1 − p).",
        "elements": "dropout falls on single features, not on whole weights.",
        "other": "what dropout does in training is not what dropping weights does.",
    }
    t.expect(seen == "weights", f"With single tokens, {said.get(seen, '')}")
    args, C = sizes(t)
    target = build(t, "Head", [*args, 0.4])
    x = t.normal(1, 3, C).expand(400, 3, C).clone()
    calm = target(x)[:1]
    target.mode(True)
    noisy = target(x, seed=t.integer(0, 10**6))
    spread = noisy.std(0) / 20
    gap = ((noisy.mean(0) - calm[0]).abs() / (spread + 1e-4 * (1 + calm[0].abs()))).max()
    t.expect(float(gap) < 8, "In training the results are not, on average, those of evaluation.")


@head.prop("gradients", 1, "Every parameter's gradient exists and equals finite differences")
def _gradients(t: Trial) -> None:
    args, C = sizes(t)
    target = build(t, "Head", args, dtype="float64")
    expect_gradients(target, t.normal(2, 4, C, dtype=torch.float64))


@head.prop("registered", 1, "Parameters are registered: counted, saved, loaded, moved")
def _registered(t: Trial) -> None:
    args, C = sizes(t)
    expect_registered(
        build(t, "Head", args), lambda: build(t, "Head", args), t.normal(2, 4, C), 3 * C * args[1]
    )


@head.prop("dtypes", 1, "float64, bfloat16 and float16 modules work and keep their type")
def _dtypes(t: Trial) -> None:
    args, C = sizes(t)

    def make(dtype: str) -> tuple[Target, Tensor]:
        target = build(t, "Head", args, dtype=dtype)
        return target, t.normal(2, 5, C).to(getattr(torch, dtype))

    expect_dtypes(make, t)


@head.diagnosis()
def _faults(t: Trial, failed: set[str]) -> list[Finding]:
    if failed & {"values"}:
        return find_faults(t, DESIGN, head)
    return []


@head.diagnosis()
def _shapes(t: Trial, failed: set[str]) -> list[Finding]:
    if not failed & {"shape", "values"}:
        return []
    C, D, T = 12, 5, 7
    out = build(t, "Head", [C, D, CONTEXT])(t.normal(2, T, C))
    if isinstance(out, tuple | list):
        return [head.finding("returns-tuple")]
    if isinstance(out, Tensor) and tuple(out.shape) == (2, T, T):
        return [head.finding("returns-weights")]
    if isinstance(out, Tensor) and tuple(out.shape) == (2, T, C):
        matrices = [p for _, p in build(t, "Head", [C, D, CONTEXT]).parameters if p.dim() > 1]
        return [head.finding("values-are-x" if len(matrices) <= 2 else "output-width")]
    return []


@head.diagnosis()
def _others(t: Trial, failed: set[str]) -> list[Finding]:
    found = []
    args, C = sizes(t)
    x = t.normal(3, 5, C)
    if failed & {"registered", "values"} and not build(t, "Head", args).parameters:
        found.append("not-registered")
    if "pure" in failed or "dropout" in failed:
        plain, with_dropout = build(t, "Head", args), build(t, "Head", [*args, 0.5])
        reply = t.subject.ask([plain.op(x, pure=True)])[0]
        if reply["changed"]:
            found.append("edits-input")
        elif not twice(plain, x):
            found.append("random")
        elif not twice(with_dropout, x):
            found.append("dropout-in-evaluation")
    if "dropout" in failed and not found:
        seen = training_dropout(t)
        found += {
            "none": ["dropout-ignored"],
            "unscaled": ["dropout-unscaled"],
            "elements": ["dropout-on-output"],
        }.get(seen, [])
        if seen == "none":
            target = build(t, "Head", [*args, 0.5])
            calm = target(x)
            target.mode(True)
            if not agree(target(x, seed=3), calm):
                found = [f for f in found if f != "dropout-ignored"] + ["dropout-on-scores"]
    return [head.finding(f) for f in found]


@head.diagnosis()
def _context(t: Trial, failed: set[str]) -> list[Finding]:
    if not failed & {"lengths", "shape", "values", "causal"}:
        return []
    args, C = sizes(t)
    target = build(t, "Head", args)
    full, short = t.subject.run([target.op(t.normal(2, n, C)) for n in (CONTEXT, CONTEXT - 3)])
    return [head.finding("only-context-length")] if "value" in full and "error" in short else []


@head.diagnosis()
def _numbers(t: Trial, failed: set[str]) -> list[Finding]:
    found = []
    args, C = sizes(t)
    if "weights" in failed and "values" not in failed:
        target = build(t, "Head", args)
        x = t.normal(40, 5, C)
        large, zero = target.many([x * 1e3, x * 0])
        if torch.isnan(zero).any():
            found.append("masks-zero-scores")
        else:
            found.append("mask-finite" if torch.isfinite(large).all() else "unstable")
    if "gradients" in failed and not failed & {"values", "registered"}:
        target = build(t, "Head", args, dtype="float64")
        x = t.normal(2, 4, C, dtype=torch.float64)
        if not t.subject.run([target.op(x)])[0].get("error"):
            found.append("detached")
    if "dtypes" in failed and not failed & {"values"}:
        half = build(t, "Head", args, dtype="float16")
        reply = t.subject.run([half.op(t.normal(2, 5, C).half())])[0]
        overflow = "overflow" in reply.get("error", {}).get("message", "")
        found.append("mask-finite" if overflow else "fixed-dtype")
    if "lengths" in failed and not failed & {"values"}:
        target = build(t, "Head", args)
        x = t.normal(3, 5, C)
        y = x.clone()
        y[0] += 1.0
        a, b = target.many([x, y])
        if not agree(a[1:], b[1:]):
            found.append("batch-mixed")
    return [head.finding(f) for f in found]
