"""``MultiHeadAttention(d_model, n_heads, context_length, dropout=0.0)``."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from course.checks.assignments.head import MISTAKES as OF_ONE_HEAD
from course.checks.attention_checks import (
    Design,
    check_values,
    find_faults,
    several_heads_dropout_seen,
)
from course.checks.engine import Exercise, Finding, Trial, agree
from course.checks.oracles import FAULTS, Fault, attend
from course.checks.roles import Named, Roles, multi_head_roles
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

CLS = "MultiHeadAttention"
CONTEXT = 12


def sizes(t: Trial) -> tuple[list[int], int]:
    """d_model and n_heads, d_head differing from both."""
    C, H = t.pick([(8, 2), (10, 2), (10, 5), (8, 4), (14, 2)])
    return [C, H, CONTEXT], C


def read(parameters: Sequence[Named], args: Sequence[int]) -> Roles | None:
    """Candidates for the roles of the parameters."""
    return multi_head_roles(parameters, args[0], args[1])


DESIGN = Design(
    CLS,
    sizes,
    read,
    small=[[2, 1, 4], [4, 2, 4], [8, 2, 4]],
    faults=(
        "not-divided",
        "divided-by-d-model",
        "divided-by-d-head-itself",
        "multiplied-by-root",
        "divided-by-length",
        "divided-by-heads",
        "no-mask",
        "mask-upside-down",
        "mask-inverted",
        "mask-hides-self",
        "mask-one-too-far",
        "mask-after-softmax",
        "mask-with-zero",
        "mask-with-small-number-1",
        "mask-with-small-number-10",
        "mask-added",
        "softmax-over-queries",
        "softmax-over-batch",
        "softmax-over-heads",
        "no-softmax",
        "linear-weights",
        "sigmoid-weights",
        "exp-not-normalised",
        "weights-transposed",
        "shared-qk",
        "shared-kv",
        "split-without-transpose",
        "merge-without-transpose",
        "split-and-merge-without-transpose",
        "heads-averaged",
        "residual-added",
    ),
)

MISTAKES = {
    **{
        k: v
        for k, v in OF_ONE_HEAD.items()
        if k
        not in (
            "output-width",
            "values-are-x",
            "divided-by-fourth-root",
            "divided-by-d-model-itself",
        )
    },
    "divided-by-d-model": "Your scores are divided by √d_model; divide by √d_head, where d_head = "
    "d_model / n_heads. With d_model = {d_model} and {n_heads} heads their spread is {ratio} times "
    "too small.",
    "divided-by-heads": "Your scores are divided by √n_heads; divide by √d_head, where d_head = "
    "d_model / n_heads.",
    "softmax-over-heads": "Your softmax runs over the heads (dim=1 of (B, H, T, T)): it has to run "
    "over the keys, dim=-1.",
    "split-without-transpose": "You view (B, T, C) as (B, H, T, D) directly, which hands a head "
    "the "
    "features of other tokens: view as (B, T, H, D), then transpose(1, 2).",
    "merge-without-transpose": "You join the heads by viewing (B, H, T, D) as (B, T, C), which "
    "mixes "
    "tokens: transpose(1, 2) first, then reshape.",
    "split-and-merge-without-transpose": "You view (B, T, C) as (B, H, T, D) and back without a "
    "transpose: heads get features of other tokens. View as (B, T, H, D), then transpose(1, 2).",
    "heads-averaged": "You average the heads: join them side by side, to width d_model again.",
    "no-output-projection": "The output projection is missing: the joined heads are mixed by one "
    "more linear map, d_model → d_model.",
    "output-unused": "You make an output projection and do not use it: return self.o_proj(out).",
    "one-wide-head": "You compute one head of the full width: split queries, keys and values into "
    "n_heads parts, each with a softmax of its own.",
    "repeated-head": "Your heads share their matrices, so all of them see the same: each head has "
    "its own projections.",
    "dropout-on-output": "Dropout falls on the output only; it belongs on the weights, after the "
    "softmax and before they meet the values.",
    "dropout-on-elements": "Dropout falls on single features (of queries, keys or values); it "
    "belongs on the weights.",
    "identity": "Your module returns its input.",
    "residual-added": "You add x to the result: the residual is the block's business (chapter 7).",
    "heads-as-batch-mixed": "Rows of the batch influence each other: are the heads folded into the "
    "batch in one order and unfolded in another?",
}

heads = Exercise(
    "heads",
    "Several heads",
    (CLS,),
    MISTAKES,
    refused=("MultiheadAttention", "multi_head_attention_forward"),
)


@heads.prop(
    "shape",
    1,
    "x (B, T, d_model) keeps its shape, for every T up to context_length, also with one head",
)
def _shape(t: Trial) -> None:
    for C, H, B, T, n in ((12, 3, 2, 7, 9), (6, 1, 3, 1, 4), (8, 4, 1, 11, 11)):
        out = build(t, CLS, [C, H, n])(t.normal(B, T, C))
        t.tensor(out, (B, T, C), f"{CLS}({C}, {H}, {n}) on x of shape ({B}, {T}, {C})")


@heads.prop("values", 5, "The values equal an independent calculation at T = 1, 2, 5 and 9")
def _values(t: Trial) -> None:
    check_values(t, DESIGN, (1, 2, 5, 9))


@heads.prop(
    "causal", 2, "No output depends on a later token; each depends on all before and itself"
)
def _causal(t: Trial) -> None:
    args, C = sizes(t)
    expect_causal(build(t, CLS, args), t.normal(2, t.integer(4, 7), C))


@heads.prop(
    "weights",
    1,
    "Equal tokens give equal outputs; huge scores, masked or not, leak nothing "
    "and overflow nowhere",
)
def _weights(t: Trial) -> None:
    for big in (30.0, 1e3):
        args, C = sizes(t)
        target = build(t, CLS, args)
        same = t.normal(2, 1, C).expand(2, 6, C).clone()
        x = t.normal(40, 5, C)
        y = x.clone()
        y[:, 4] *= big
        out, a, b, large, single = target.many([same, x, y, x * big, x[:, :1] * big])
        t.expect(
            agree(out, out[:, :1].expand_as(out)),
            "With equal tokens every output should be the same; yours differ between positions.",
        )
        t.expect(
            agree(b[:, :4], a[:, :4]),
            "A token with a huge key changed the outputs before it: the mask leaks.",
        )
        t.expect(bool(torch.isfinite(large).all()), "Large scores give NaN or infinite outputs.")
        t.expect(
            agree(large[:, :1], single),
            "With large scores the first output depends on later tokens: the mask leaks.",
        )


@heads.prop(
    "lengths",
    1,
    "A prefix gives the prefix; shorter after longer, one token, one row work; "
    "rows of the batch are independent",
)
def _lengths(t: Trial) -> None:
    args, C = sizes(t)
    target = build(t, CLS, args)
    T = t.integer(6, CONTEXT)
    x = t.normal(3, T, C)
    expect_lengths(target, x, t.integer(2, T - 1))
    expect_rows_apart(target, x)


@heads.prop(
    "pure", 1, "The input is not edited, and two calls in evaluation agree (dropout set too)"
)
def _pure(t: Trial) -> None:
    args, C = sizes(t)
    expect_pure(build(t, CLS, args), t.normal(2, 5, C))
    expect_pure(build(t, CLS, [*args, 0.5]), t.normal(2, 5, C))


def training_dropout(t: Trial) -> str:
    """Where dropout acts in training."""
    C = t.pick([8, 10, 14])
    target = build(t, CLS, [C, 2, CONTEXT, 0.4])
    x = t.normal(1, 1, C).expand(400, 1, C).clone()
    kept = t.tensor(target(x), x.shape)
    target.mode(True)
    dropped = t.tensor(target(x, seed=t.integer(0, 10**6)), x.shape)
    return several_heads_dropout_seen(dropped[:, 0], kept[0, 0])


@heads.prop(
    "dropout",
    1,
    "In training dropout falls on the weights, after the softmax (on the output "
    "too, if you like); in evaluation it is off",
)
def _dropout(t: Trial) -> None:
    args, C = sizes(t)
    target = build(t, CLS, [*args, 0.4])
    x = t.normal(1, 3, C).expand(400, 3, C).clone()
    a, b = (target(x[:2], seed=s) for s in (1, 2))
    t.expect(agree(a, b, 1e-6), "In evaluation, with dropout = 0.4, two calls differ.")
    seen = training_dropout(t)
    said = {
        "none": "dropout = 0.4 changes nothing in training.",
        "output": "dropout falls on the output only, not on the weights of the heads.",
        "elements": "dropout falls on single features, not on whole weights.",
    }
    t.expect(seen == "weights", f"With single tokens, {said.get(seen, '')}")
    target.mode(True)
    noisy = target(x, seed=t.integer(0, 10**6))
    spread = noisy.std(0) / 20
    gap = ((noisy.mean(0) - a[0]).abs() / (spread + 1e-4 * (1 + a[0].abs()))).max()
    t.expect(
        float(gap) < 8,
        "In training the results are not, on average, those of evaluation: "
        "what is kept grows by 1 / (1 − p).",
    )


@heads.prop("gradients", 1, "Every parameter's gradient exists and equals finite differences")
def _gradients(t: Trial) -> None:
    args, C = sizes(t)
    target = build(t, CLS, args, dtype="float64")
    expect_gradients(target, t.normal(2, 4, C, dtype=torch.float64))


@heads.prop("registered", 1, "Parameters are registered: counted, saved, loaded, moved")
def _registered(t: Trial) -> None:
    args, C = sizes(t)
    expect_registered(
        build(t, CLS, args), lambda: build(t, CLS, args), t.normal(2, 4, C), 4 * C * C
    )


@heads.prop("dtypes", 1, "float64, bfloat16 and float16 modules work and keep their type")
def _dtypes(t: Trial) -> None:
    args, C = sizes(t)

    def make(dtype: str) -> tuple[Target, Tensor]:
        target = build(t, CLS, args, dtype=dtype)
        return target, t.normal(2, 5, C).to(getattr(torch, dtype))

    expect_dtypes(make, t)


@heads.diagnosis()
def _identity(t: Trial, failed: set[str]) -> list[Finding]:
    args, C = sizes(t)
    x = t.normal(2, 5, C)
    out = build(t, CLS, args)(x)
    if isinstance(out, tuple | list):
        return [heads.finding("returns-tuple")]
    if isinstance(out, Tensor) and out.dim() == 4:
        return [heads.finding("returns-weights")]
    return [heads.finding("identity")] if isinstance(out, Tensor) and agree(out, x) else []


@heads.diagnosis()
def _faults(t: Trial, failed: set[str]) -> list[Finding]:
    if "values" not in failed:
        return []
    return (
        find_faults(t, DESIGN, heads, also={"output-unused": Fault(merge="no_output")})
        or _without_output(t)
        or _shared(t)
        or _undivided_width(t)
    )


def _built(t: Trial) -> tuple[Target, list[int], Tensor, Tensor]:
    C, H = t.pick([(8, 2), (10, 2), (14, 2)])
    args = [C, H, CONTEXT]
    target = build(t, CLS, args)
    x = t.normal(3, 5, C)
    return target, args, x, target(x)


def _hit(out: Tensor, expected: Tensor) -> bool:
    return any(agree(out, e, 2e-5) for e in expected)


def _without_output(t: Trial) -> list[Finding]:
    """Three matrices only: is it right but for the output projection?"""
    target, args, x, out = _built(t)
    roles = multi_head_roles(target.parameters, args[0], args[1], output=False)
    if roles is not None and _hit(out, attend(x, roles)):
        return [heads.finding("no-output-projection")]
    if roles is None:
        return []
    for name in DESIGN.faults:
        if _hit(out, attend(x, roles, FAULTS[name])):
            return [
                heads.finding("no-output-projection"),
                heads.finding(
                    name,
                    d_model=args[0],
                    d_head=args[0] // args[1],
                    n_heads=args[1],
                    ratio=round(args[1] ** 0.5, 2),
                ),
            ]
    return []


def _shared(t: Trial) -> list[Finding]:
    """One head's matrices for all heads: (D, C) three times and an output (C, C)."""
    target, args, x, out = _built(t)
    C, H = args[0], args[1]
    D = C // H
    repeated = []
    for n, p in target.parameters:
        if p.numel() in (C * D, D) and not (p.numel() == D and p.dim() > 1):
            axis = 0 if p.shape[0] == D else 1
            p = torch.cat([p] * H, axis)
        repeated.append((n, p))
    roles = multi_head_roles(repeated, C, H)
    return [heads.finding("repeated-head")] if roles and _hit(out, attend(x, roles)) else []


def _undivided_width(t: Trial) -> list[Finding]:
    """The oracle with a single head of the full width."""
    target, args, x, out = _built(t)
    roles = multi_head_roles(target.parameters, args[0], 1)
    scales = ("sqrt_head", "none")
    found = roles is not None and any(
        _hit(out, attend(x, roles, FAULTS["not-divided"] if s == "none" else Fault()))
        for s in scales
    )
    if not found and roles is not None:
        # Divided by the root of the width a head would have.
        D = args[0] // args[1]
        roles.wq *= args[0] ** 0.5 / D**0.5
        roles.bq *= args[0] ** 0.5 / D**0.5
        found = _hit(out, attend(x, roles))
    return [heads.finding("one-wide-head")] if found else []


@heads.diagnosis()
def _others(t: Trial, failed: set[str]) -> list[Finding]:
    found = []
    args, C = sizes(t)
    x = t.normal(3, 5, C)
    if not build(t, CLS, args).parameters:
        found.append("not-registered")
    elif "registered" in failed and "values" in failed:
        count = sum(p.numel() for _, p in build(t, CLS, args).parameters)
        if count <= C * C + C:
            found.append("not-registered")
    if "pure" in failed or "dropout" in failed:
        plain, with_dropout = build(t, CLS, args), build(t, CLS, [*args, 0.5])
        if t.subject.ask([plain.op(x, pure=True)])[0]["changed"]:
            found.append("edits-input")
        elif not twice(plain, x):
            found.append("random")
        elif not twice(with_dropout, x):
            found.append("dropout-in-evaluation")
    if "dropout" in failed and not found:
        seen = training_dropout(t)
        if seen == "none":
            target = build(t, CLS, [*args, 0.5])
            calm = target(x)
            target.mode(True)
            moved = not agree(target(x, seed=3), calm)
            found.append("dropout-on-scores" if moved else "dropout-ignored")
        else:
            found.append(
                {"output": "dropout-on-output", "elements": "dropout-on-elements"}.get(
                    seen, "dropout-unscaled"
                )
            )
    return [heads.finding(f) for f in found]


@heads.diagnosis()
def _context(t: Trial, failed: set[str]) -> list[Finding]:
    if not failed & {"lengths", "shape", "values", "causal"}:
        return []
    args, C = sizes(t)
    target = build(t, CLS, args)
    full, short = t.subject.run([target.op(t.normal(2, n, C)) for n in (CONTEXT, CONTEXT - 3)])
    return [heads.finding("only-context-length")] if "value" in full and "error" in short else []


@heads.diagnosis()
def _numbers(t: Trial, failed: set[str]) -> list[Finding]:
    if "values" in failed:
        return []
    found = []
    args, C = sizes(t)
    if "weights" in failed:
        target = build(t, CLS, args)
        x = t.normal(40, 5, C)
        large, zero = target.many([x * 1e3, x * 0])
        if torch.isnan(zero).any():
            found.append("masks-zero-scores")
        else:
            found.append("mask-finite" if torch.isfinite(large).all() else "unstable")
    if "gradients" in failed and not failed & {"registered", "dtypes"}:
        found.append("detached")
    if "dtypes" in failed:
        half = build(t, CLS, args, dtype="float16")
        reply = t.subject.run([half.op(t.normal(2, 5, C).half())])[0]
        overflow = "overflow" in reply.get("error", {}).get("message", "")
        found.append("mask-finite" if overflow else "fixed-dtype")
    if "lengths" in failed:
        found.append("heads-as-batch-mixed")
    return [heads.finding(f) for f in dict.fromkeys(found)]
