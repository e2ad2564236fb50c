"""``CrossAttention``: what must hold, and which fault fits."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from course.checks.assignments.encoder_decoder.cross_oracle import CROSS_FAULTS, Cross, cross
from course.checks.assignments.encoder_decoder.exercise import CROSS, encoder_decoder
from course.checks.engine import Failure, Finding, Trial, agree, difference, fitting
from course.checks.functional import edits
from course.checks.gradients import expect_gradients
from course.checks.roles import multi_head_roles
from course.checks.toolkit import Target, build, expect_registered


def _mask(t: Trial, B: int, S: int) -> Tensor:
    mask = torch.rand(B, S, generator=t.rng) < 0.6
    mask[:, 0] |= ~mask.any(1)
    mask[0, -1] = False
    mask[0, 0] = True
    return mask


def _sizes(t: Trial) -> tuple[int, int]:
    C, H = t.pick([(10, 2), (10, 5), (12, 2), (14, 2)])
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
    return isinstance(out, Tensor) and bool(fitting(out, expected, 2e-5).any())


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
    alive = torch.ones(len(roles), dtype=torch.bool)
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
        alive &= fitting(out, expected, 2e-5)
        if not alive.any():
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
    C, H = t.pick([(10, 2), (12, 2), (14, 2)])
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
