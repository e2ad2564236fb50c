"""``label_smoothed_targets`` (Szegedy et al. 2016)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from course.checks.assignments.encoder_decoder.exercise import SMOOTH, encoder_decoder
from course.checks.counterexample import CounterExample
from course.checks.engine import Failure, Finding, Trial, agree, difference
from course.checks.functional import edits


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
