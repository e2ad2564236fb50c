"""``CrossAttention``, ``noam_rate`` and ``label_smoothed_targets``: parts of the 2017 model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from course.checks.assignments.head import MISTAKES as OF_ONE_HEAD
from course.checks.counterexample import CounterExample
from course.checks.engine import Exercise, Failure, Finding, Trial, agree, difference
from course.checks.functional import edits
from course.checks.oracles import Fault, factor
from course.checks.roles import Roles, multi_head_roles
from course.checks.toolkit import Target, build, expect_gradients, expect_registered

CROSS, NOAM, SMOOTH = "CrossAttention", "noam_rate", "label_smoothed_targets"

MISTAKES = {
    **{
        k: OF_ONE_HEAD[k]
        for k in (
            "not-divided",
            "softmax-over-queries",
            "not-registered",
            "detached",
            "returns-tuple",
            "edits-input",
            "mask-with-zero",
            "mask-after-softmax",
        )
    },
    "divided-by-d-model": "Your scores are divided by √d_model; divide by √d_head, where d_head = "
    "d_model / n_heads.",
    "self-attention": "The memory is not used: queries come from x, keys AND values from the "
    "memory.",
    "keys-from-x": "Your keys come from x: they come from the memory, as the values do.",
    "values-from-x": "Your values come from x: they come from the memory, as the keys do.",
    "roles-exchanged": "Queries and keys have changed places: queries come from x, keys and "
    "values from "
    "the memory.",
    "causal": "You mask causally: the memory is known as a whole, every query may see all of it.",
    "mask-ignored": "memory_mask has no effect: set the scores of memory tokens where it is False "
    "to "
    "−∞.",
    "mask-inverted": "memory_mask is read the wrong way round: True means MAY attend.",
    "mask-required": "memory_mask=None fails: without a mask every memory token may be seen.",
    "mask-finite": "You hide with a finite number; a visible score can be lower. Use −∞.",
    "split-without-transpose": "You view (B, T, C) as (B, H, T, D) directly: view as (B, T, H, "
    "D), then "
    "transpose(1, 2).",
    "merge-without-transpose": "You join the heads by viewing (B, H, T, D) as (B, T, C): "
    "transpose(1, 2) first.",
    "no-output-projection": "The output projection is missing: the joined heads are mixed by one "
    "more "
    "linear map.",
    "residual-added": "You add x to the result: the residual is the layer's business.",
    "one-wide-head": "You compute one head of the full width: split into n_heads parts.",
    "lengths-equal": "Your code needs the memory to be as long as x: T and S differ in general.",
    "output-length": "Your result is as long as the memory: there is one output for each query, "
    "(B, T, "
    "C).",
    "noam-no-model": "The factor d_model^(−1/2) is missing.",
    "noam-model-root": "The factor is d_model to the power MINUS one half.",
    "noam-maximum": "You take the larger of the two: min(step^(−1/2), step · warmup^(−3/2)).",
    "noam-warmup-power": "The warm-up's power is −3/2, so that both branches meet at step = "
    "warmup.",
    "noam-fixed-warmup": "The warmup argument has no effect.",
    "noam-no-warmup": "There is no warm-up: min(step^(−1/2), step · warmup^(−3/2)).",
    "noam-only-warmup": "The rate rises for ever: after the warm-up it falls as step^(−1/2).",
    "noam-linear-decay": "After the warm-up the rate falls as step^(−1/2), not as 1/step.",
    "noam-flat": "After the warm-up the rate falls as step^(−1/2); yours stays.",
    "noam-step-zero": "Steps count from 1: below, raise a ValueError that says so.",
    "noam-off-by-one": "Your steps are counted one off: step 1 is the first.",
    "smooth-others": "You share ε among the K − 1 other classes: ε/K goes to EVERY class, so the "
    "true one "
    "has 1 − ε + ε/K.",
    "smooth-true": "The true class gets 1 − ε + ε/K: it has its own share of ε as well.",
    "smooth-ignored": "There is no smoothing: mix the one-hot target with ε/K for each class.",
    "smooth-fixed": "The eps argument has no effect.",
    "smooth-whole-epsilon": "You add the whole ε to every class: divide it by the number of "
    "classes.",
    "smooth-wrong-class": "The large share is on the wrong class.",
    "smooth-uniform": "All classes have the same share: the true one gets 1 − ε more.",
    "smooth-log": "You return logarithms: probabilities are asked for.",
    "smooth-shape": "The result has shape targets.shape + (n_classes,), of a floating type.",
    "smooth-swapped": "ε and 1 − ε have changed places.",
}

encoder_decoder = Exercise(
    "encoder-decoder",
    "Cross-attention, the schedule, smoothed targets",
    (CROSS, NOAM, SMOOTH),
    MISTAKES,
    refused=("MultiheadAttention", "multi_head_attention_forward", "TransformerDecoderLayer"),
)


# ---------------------------------------------------------------------------------- cross-attention


@dataclass(frozen=True)
class Cross:
    """What differs from the right cross-attention."""

    fault: Fault = field(default_factory=lambda: Fault(mask="none"))
    query: str = "x"
    key: str = "memory"
    value: str = "memory"
    mask: str = "right"


def cross(x: Tensor, memory: Tensor, mask: Tensor | None, r: Roles, c: Cross = Cross()) -> Tensor:
    """(Faulty) cross-attention for every candidate. → (K, B, T, C)"""
    C = x.shape[-1]
    _, H, _, D = r.wq.shape
    source = {"x": x, "memory": memory}

    def project(name: str, w: Tensor, b: Tensor) -> Tensor:
        y = torch.einsum("btc,khcd->kbhtd", source[name], w) + b[:, None, :, None]
        if c.fault.split == "view":
            y = y.transpose(2, 3).reshape(y.shape)
        return y

    q, k, v = project(c.query, r.wq, r.bq), project(c.key, r.wk, r.bk), project(c.value, r.wv, r.bv)
    scores = q @ k.transpose(-2, -1) * factor(c.fault.scale, C, D, H, q.shape[-2])
    may = torch.ones(scores.shape[-2:], dtype=torch.bool)
    if mask is not None and c.mask != "ignored":
        may = (~mask if c.mask == "inverted" else mask)[:, None, None, :]
    if c.mask == "causal":
        may = may & torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    axis = {"keys": -1, "queries": -2, "heads": -3, "batch": -4}[c.fault.axis]
    if c.mask == "after":
        weights = scores.softmax(axis) * may
    elif c.mask == "zero":
        weights = scores.masked_fill(~may, 0.0).softmax(axis)
    else:
        weights = scores.masked_fill(~may, float("-inf")).softmax(axis)
    out = weights @ v
    if c.fault.merge == "no_transpose":
        out = out.reshape(out.shape[0], out.shape[1], out.shape[3], H * D)
    else:
        out = out.transpose(2, 3).flatten(-2)
    if r.wo is not None:
        out = out @ r.wo.reshape(-1, H * D, C)[:, None]
        if r.bo is not None:
            out = out + r.bo[:, None, None]
    return out + x if c.fault.residual else out


CROSS_FAULTS: dict[str, Cross] = {
    "not-divided": Cross(Fault(mask="none", scale="none")),
    "divided-by-d-model": Cross(Fault(mask="none", scale="sqrt_model")),
    "softmax-over-queries": Cross(Fault(mask="none", axis="queries")),
    "self-attention": Cross(key="x", value="x"),
    "self-attention#1": Cross(key="x", value="x", mask="ignored"),
    "keys-from-x": Cross(key="x"),
    "values-from-x": Cross(value="x"),
    "roles-exchanged": Cross(query="memory", key="x", value="x"),
    "roles-exchanged#1": Cross(query="memory", key="x"),
    "causal": Cross(mask="causal"),
    "mask-ignored": Cross(mask="ignored"),
    "mask-inverted": Cross(mask="inverted"),
    "mask-with-zero": Cross(mask="zero"),
    "mask-after-softmax": Cross(mask="after"),
    "split-without-transpose": Cross(Fault(mask="none", split="view")),
    "split-without-transpose#1": Cross(Fault(mask="none", split="view", merge="no_transpose")),
    "merge-without-transpose": Cross(Fault(mask="none", merge="no_transpose")),
    "residual-added": Cross(Fault(mask="none", residual=True)),
}


def _mask(t: Trial, B: int, S: int) -> Tensor:
    mask = torch.rand(B, S, generator=t.rng) < 0.6
    mask[:, 0] |= ~mask.any(1)
    mask[0, -1] = False
    mask[0, 0] = True
    return mask


def _sizes(t: Trial) -> tuple[int, int]:
    C, H = t.pick([(8, 2), (10, 2), (10, 5), (12, 2)])
    return C, H


def _ask(t: Trial, target: Target, x: Tensor, memory: Tensor, mask: Tensor | None) -> Any:
    """Call with a (B, S) mask; an answer that wants (B, 1, 1, S) is as right."""
    forms = [()] if mask is None else [(mask,), (mask[:, None, None, :],)]
    reply: dict[str, Any] = {}
    for form in forms:
        reply = t.subject.run([{"op": "call", "on": target.on, "args": [x, memory, *form]}])[0]
        if "value" in reply:
            return reply["value"]
    e = reply["error"]
    raise Failure(
        f"Your code raised {e['type']}: {e['message']}"
        + (f" (line {e['line']} of your code)" if e.get("line") else "")
    )


def _hit(out: Any, expected: Tensor) -> bool:
    return isinstance(out, Tensor) and any(agree(out, e, 2e-5) for e in expected)


def _check_cross(t: Trial, masked: bool) -> None:
    C, H = _sizes(t)
    target = build(t, CROSS, [C, H])
    roles = multi_head_roles(target.parameters, C, H)
    if roles is None:
        shapes = ", ".join(f"{n} {tuple(p.shape)}" for n, p in target.parameters) or "none"
        raise Failure(
            "Your module's parameters do not fit: one matrix each for queries, keys, values "
            f"and the output. Found: {shapes}."
        )
    alive = set(range(len(roles)))
    for T, S in ((1, 3), (4, 2), (3, 7), (5, 1)):
        B = t.pick([b for b in (2, 3, 4) if b not in (T, S)])
        x, memory = t.normal(B, T, C), t.normal(B, S, C)
        mask = _mask(t, B, S) if masked and S > 1 else None
        out = t.tensor(
            _ask(t, target, x, memory, mask),
            x.shape,
            f"for x ({B}, {T}, {C}) and memory ({B}, {S}, {C}) the result",
        )
        expected = cross(x, memory, mask, roles)
        alive &= {i for i, e in enumerate(expected) if agree(out, e, 2e-5)}
        if not alive:
            near = expected[(expected - out).abs().nan_to_num(1e9).flatten(1).mean(1).argmin()]
            raise Failure(
                f"With T = {T} and S = {S}{' and a mask' if mask is not None else ''} the values "
                f"are wrong. {difference(out, near)}"
            )


@encoder_decoder.prop(
    "cross-values", 4, "Queries from x, keys and values from the memory; any T and S", CROSS
)
def _cross_values(t: Trial) -> None:
    _check_cross(t, masked=False)


@encoder_decoder.prop(
    "cross-mask", 2, "memory_mask hides memory tokens entirely; True = may attend", CROSS
)
def _cross_mask(t: Trial) -> None:
    _check_cross(t, masked=True)
    C, H = _sizes(t)
    target = build(t, CROSS, [C, H])
    # Large scores: among so many rows some have all their visible ones far below zero.
    x, memory = t.normal(60, 4, C) * 1e3, t.normal(60, 6, C) * 1e3
    mask = torch.tensor([[False, False, True, True, False, False]]).expand(60, 6).clone()
    other = memory.clone()
    other[:, [0, 1, 4, 5]] = t.normal(60, 4, C) * 1e3
    a, b = (_ask(t, target, x, m, mask) for m in (memory, other))
    t.expect(agree(a, b, 1e-5), "Changing hidden memory tokens changed the result: the mask leaks.")


@encoder_decoder.prop(
    "cross-clean", 2, "Every query by itself; nothing edited; gradients; registered", CROSS
)
def _cross_clean(t: Trial) -> None:
    C, H = _sizes(t)
    target = build(t, CROSS, [C, H])
    x, memory = t.normal(2, 5, C), t.normal(2, 3, C)
    y = x.clone()
    y[:, 1] += 1.0
    a, b = (_ask(t, target, q, memory, None) for q in (x, y))
    rest = [0, 2, 3, 4]
    t.expect(agree(b[:, rest], a[:, rest]), "Changing one query changed the result of another.")
    op = {"op": "call", "on": target.on, "args": [x, memory], "pure": True}
    t.expect(not t.subject.ask([op])[0]["changed"], "An argument is edited in place.")
    double = build(t, CROSS, [C, H], dtype="float64")
    double.rest = (memory.double(),)
    expect_gradients(double, x.double(), inputs=(0, 1))

    def rebuild() -> Target:
        fresh = build(t, CROSS, [C, H])
        fresh.rest = (memory,)
        return fresh

    target.rest = (memory,)
    expect_registered(target, rebuild, x, 4 * C * C)


@encoder_decoder.diagnosis(CROSS)
def _cross_faults(t: Trial, failed: set[str]) -> list[Finding]:
    C, H = t.pick([(8, 2), (10, 2), (12, 2)])
    target = build(t, CROSS, [C, H])
    if sum(p.numel() for _, p in target.parameters) < 2 * C * C:
        return [encoder_decoder.finding("not-registered")]
    x, memory, mask = t.normal(3, 5, C), t.normal(3, 5, C), _mask(t, 3, 5)
    uneven = t.normal(3, 7, C)
    replies = t.subject.run(
        [
            {"op": "call", "on": target.on, "args": a}
            for a in ([x, memory], [x, uneven], [x, memory, mask])
        ]
    )
    plain, longer, hidden = (r.get("value") for r in replies)
    if isinstance(plain, tuple | list):
        return [encoder_decoder.finding("returns-tuple")]
    if "error" in replies[0] and "error" not in replies[2]:
        return [encoder_decoder.finding("mask-required")]
    with_mask = (_hidden(t, target, x, memory, mask), mask)
    without = (plain, None)
    for output in (True, False):
        roles = multi_head_roles(target.parameters, C, H, output)
        if roles is None:
            continue
        for name, c in {"right": Cross(), **CROSS_FAULTS}.items():
            if _hit(without[0], cross(x, memory, None, roles, c)):
                masks_too = _hit(with_mask[0], cross(x, memory, mask, roles, c))
                if c.mask == "right" and not masks_too:
                    continue  # perhaps a fault of the mask, which only the masked case shows
                if name == "right" and output:
                    continue
                found = (
                    []
                    if name == "right"
                    else [encoder_decoder.finding(name.split("#")[0], d_model=C, d_head=C // H)]
                )
                if not output:
                    found.insert(0, encoder_decoder.finding("no-output-projection"))
                if c.mask in ("right", "causal") or masks_too:
                    return found
    wide = multi_head_roles(target.parameters, C, 1)
    if wide is not None and _hit(plain, cross(x, memory, None, wide)):
        return [encoder_decoder.finding("one-wide-head")]
    if "error" in replies[1] and "value" in replies[0]:
        return [encoder_decoder.finding("lengths-equal")]
    if isinstance(longer, Tensor) and longer.shape[1] == 7:
        return [encoder_decoder.finding("output-length")]
    return _cross_clean_faults(t, failed, target, x, memory, hidden)


def _hidden(t: Trial, target: Target, x: Tensor, memory: Tensor, mask: Tensor) -> Any:
    try:
        return _ask(t, target, x, memory, mask)
    except Failure:
        return None


def _cross_clean_faults(
    t: Trial, failed: set[str], target: Target, x: Tensor, memory: Tensor, hidden: Any
) -> list[Finding]:
    if edits(t, target.on, [x, memory]):
        return [encoder_decoder.finding("edits-input")]
    if "cross-mask" in failed and "cross-values" not in failed:
        return [encoder_decoder.finding("mask-finite")]
    if failed & {"cross-clean"} and "cross-values" not in failed:
        return [encoder_decoder.finding("detached")]
    return []


# ------------------------------------------------------------------------------------- the schedule


def right_rate(step: int, d_model: int, warmup: int = 4000) -> float:
    """Vaswani et al. 2017, equation 3."""
    return float(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))


Rate = Callable[[int, int, int], float]
RATES: dict[str, Rate] = {
    "noam-no-warmup": lambda s, d, w: d**-0.5 * s**-0.5,
    "noam-no-model": lambda s, d, w: min(s**-0.5, s * w**-1.5),
    "noam-model-root": lambda s, d, w: d**0.5 * min(s**-0.5, s * w**-1.5),
    "noam-maximum": lambda s, d, w: d**-0.5 * max(s**-0.5, s * w**-1.5),
    "noam-warmup-power": lambda s, d, w: d**-0.5 * min(s**-0.5, s * w**-0.5),
    "noam-warmup-power#1": lambda s, d, w: d**-0.5 * min(s**-0.5, s / w),
    "noam-warmup-power#2": lambda s, d, w: d**-0.5 * min(s**-0.5, s * w**-1.0),
    "noam-warmup-power#3": lambda s, d, w: d**-0.5 * min(s**-0.5, s * w**1.5),
    "noam-fixed-warmup": lambda s, d, w: right_rate(s, d, 4000),
    "noam-only-warmup": lambda s, d, w: d**-0.5 * s * w**-1.5,
    "noam-linear-decay": lambda s, d, w: d**-0.5 * (s * w**-1.5 if s <= w else w**0.5 / s),
    "noam-linear-decay#1": lambda s, d, w: d**-0.5 * min(s**-1.0, s * w**-1.5),
    "noam-flat": lambda s, d, w: d**-0.5 * min(s, w) * w**-1.5,
    "noam-off-by-one": lambda s, d, w: right_rate(s + 1, d, w),
    "noam-off-by-one#1": lambda s, d, w: right_rate(max(1, s - 1), d, w),
}


def _same(a: Any, b: float) -> bool:
    if isinstance(a, Tensor) and a.numel() == 1:
        a = a.item()
    return isinstance(a, int | float) and abs(a - b) <= 1e-6 * abs(b)


def _rates(t: Trial, cases: Sequence[Sequence[int]]) -> list[Any]:
    return [
        r["value"]
        for r in t.subject.ask([{"op": "call", "on": NOAM, "args": list(c)} for c in cases])
    ]


@encoder_decoder.prop(
    "noam-values", 3, "d_model^(−1/2) · min(step^(−1/2), step · warmup^(−3/2))", NOAM
)
def _noam_values(t: Trial) -> None:
    cases = [(1, 512), (4000, 512), (100_000, 512)]
    cases += [(t.integer(1, 3000), t.integer(8, 900), t.integer(2, 1500)) for _ in range(8)]  # type: ignore[misc]
    for c, got in zip(cases, _rates(t, cases), strict=True):
        right = right_rate(*c)
        t.expect(_same(got, right), f"noam_rate{c} should be {right:.6g}; yours is {got}.")


@encoder_decoder.prop("noam-shape", 1, "It rises to step = warmup and falls from there", NOAM)
def _noam_shape(t: Trial) -> None:
    w = t.integer(20, 60)
    steps = [w - 9, w - 1, w, w + 1, w + 15]
    a, b, c, d, e = (float(v) for v in _rates(t, [(s, 64, w) for s in steps]))
    t.expect(
        a < b < c > d > e, f"With warmup = {w} the rate should rise to step {w} and fall after it."
    )


@encoder_decoder.prop("noam-errors", 1, "A ValueError for every step below 1", NOAM)
def _noam_errors(t: Trial) -> None:
    for step in (0, -1, -4000):
        reply = t.subject.run([{"op": "call", "on": NOAM, "args": [step, 512]}])[0]
        kind = reply.get("error", {}).get("type", f"no error but {reply.get('value')}")
        t.expect(
            kind == "ValueError",
            f"noam_rate({step}, 512) should raise a ValueError; it gives {kind}.",
        )


@encoder_decoder.diagnosis(NOAM)
def _noam_faults(t: Trial, failed: set[str]) -> list[Finding]:
    if "noam-values" not in failed:
        return [encoder_decoder.finding("noam-step-zero")] if "noam-errors" in failed else []
    cases = [(1, 512, 40), (7, 64, 30), (30, 64, 30), (200, 100, 30), (5000, 256, 900)]
    got = _rates(t, cases)
    for name, rate in RATES.items():
        if all(_same(g, rate(*c)) for g, c in zip(got, cases, strict=True)):
            return [encoder_decoder.finding(name.split("#")[0])]
    return []


# --------------------------------------------------------------------------------- smoothed targets


def right_targets(targets: Tensor, n_classes: int, eps: float = 0.1) -> Tensor:
    """(…) → (…, K): Szegedy et al. 2016."""
    hot = torch.nn.functional.one_hot(targets, n_classes).double()
    return (1 - eps) * hot + eps / n_classes


def _hot(y: Tensor, K: int) -> Tensor:
    return torch.nn.functional.one_hot(y, K).double()


SMOOTHED: dict[str, Callable[[Tensor, int, float], Tensor]] = {
    "smooth-others": lambda y, K, e: (1 - e) * _hot(y, K) + (1 - _hot(y, K)) * e / (K - 1),
    "smooth-true": lambda y, K, e: (1 - e) * _hot(y, K) + (1 - _hot(y, K)) * e / K,
    "smooth-ignored": lambda y, K, e: _hot(y, K),
    "smooth-fixed": lambda y, K, e: right_targets(y, K, 0.1),
    "smooth-whole-epsilon": lambda y, K, e: (1 - e) * _hot(y, K) + e,
    "smooth-wrong-class": lambda y, K, e: right_targets((y + 1) % K, K, e),
    "smooth-wrong-class#1": lambda y, K, e: right_targets((y - 1) % K, K, e),
    "smooth-uniform": lambda y, K, e: torch.full((*y.shape, K), 1 / K).double(),
    "smooth-uniform#1": lambda y, K, e: torch.full((*y.shape, K), e / K).double(),
    "smooth-log": lambda y, K, e: right_targets(y, K, e).log(),
    "smooth-swapped": lambda y, K, e: e * _hot(y, K) + (1 - e) / K,
}


@encoder_decoder.prop(
    "smooth-values", 3, "1 − ε + ε/K for the true class, ε/K for the others", SMOOTH
)
def _smooth_values(t: Trial) -> None:
    for shape, K, eps in (((3,), 4, 0.1), ((2, 5), 7, 0.3), ((2, 2, 3), 5, 0.05), ((4,), 2, 0.0)):
        y = torch.randint(0, K, shape, generator=t.rng)
        out = t.tensor(
            t.subject.call(SMOOTH, y, K, eps),
            (*shape, K),
            f"for targets of shape {shape} and {K} classes the result",
        )
        right = right_targets(y, K, eps)
        if not agree(out, right, 1e-6):
            small = torch.tensor([0, 2])
            got = t.subject.call(SMOOTH, small, 4, 0.1)
            shown = [("yours", got)] if isinstance(got, Tensor) else []
            raise Failure(
                f"With {K} classes and eps = {eps} the values are wrong. {difference(out, right)}",
                CounterExample(
                    "label_smoothed_targets([0, 2], 4, eps=0.1)",
                    [*shown, ("expected", right_targets(small, 4))],
                ),
            )
    y = torch.tensor([1, 0])
    t.close(t.subject.call(SMOOTH, y, 4), right_targets(y, 4), "Without eps, 0.1 should be used.")


@encoder_decoder.prop(
    "smooth-sums", 1, "Floating, and every target sums to 1; the argument unedited", SMOOTH
)
def _smooth_sums(t: Trial) -> None:
    y = torch.randint(0, 9, (6,), generator=t.rng)
    out = t.tensor(t.subject.call(SMOOTH, y, 9, 0.2), (6, 9))
    t.expect(out.is_floating_point(), f"The result should be floating; it is {out.dtype}.")
    t.expect(agree(out.sum(-1), torch.ones(6), 1e-6), "The targets do not sum to 1.")
    t.expect(not edits(t, SMOOTH, [y, 9]), "targets is edited in place.")


@encoder_decoder.diagnosis(SMOOTH)
def _smooth_faults(t: Trial, failed: set[str]) -> list[Finding]:
    y, z = torch.tensor([0, 3, 1, 2]), torch.tensor([[0, 1, 4], [2, 3, 3]])
    cases = [(y, 4, 0.3), (z, 5, 0.2)]
    outs = [t.subject.call(SMOOTH, *c) for c in cases]
    if not all(
        isinstance(o, Tensor) and o.shape == (*c[0].shape, c[1]) and o.is_floating_point()
        for o, c in zip(outs, cases, strict=True)
    ):
        return [encoder_decoder.finding("smooth-shape")]
    for name, oracle in SMOOTHED.items():
        if all(agree(o, oracle(*c), 1e-6) for o, c in zip(outs, cases, strict=True)):
            return [encoder_decoder.finding(name.split("#")[0])]
    return []
