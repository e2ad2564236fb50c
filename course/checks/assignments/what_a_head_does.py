"""``held_out_pairs`` and ``fetches``: an honest split, and a probe of a trained map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course.checks.counterexample import CounterExample
from course.checks.engine import Exercise, Failure, Finding, Trial
from course.checks.functional import edits

PAIRS, FETCH = "held_out_pairs", "fetches"
NOUNS = ["cat", "dog", "fox", "hen", "cow", "owl", "bee", "ant", "ram", "elk"]

MISTAKES = {
    "reverse-held-out-too": "Some held-out pair's reverse is held out as well: then the two nouns "
    "were "
    "never seen together, and the test asks for something else. Hold out one order of a pair only.",
    "pairs-in-one-order": "You make each pair in one order only: (a, b) and (b, a) are two pairs.",
    "with-itself": "A noun is paired with itself: crosser and crossed are two different nouns.",
    "overlap": "Held-out pairs are in the training list as well: take them out, or nothing is "
    "held out.",
    "pairs-lost": "Some ordered pairs are in neither list: what is not held out is trained on.",
    "lists-exchanged": "The two lists are exchanged: return (train, held_out).",
    "seed-ignored": "The seed has no effect: every seed gives the same split.",
    "not-reproducible": "The same seed gives different splits: draw with random.Random(seed) (and "
    "do not "
    "rely on the order of a set).",
    "fraction-of-pairs": "The share held out is not `fraction` of all the ordered pairs, n · (n − "
    "1).",
    "whole-nouns": "You hold out whole nouns: hold out pairs, so that every noun is met in "
    "training.",
    "not-pairs": "The lists have to hold pairs, (noun, noun).",
    "nouns-edited": "You edit the list of nouns: work on a copy.",
    "transposed": "You read weights[…, key, query]: rows are queries, columns keys.",
    "first-head-only": "You read the first head only: take the mean over all leading dimensions.",
    "summed": "You sum over the heads: take the mean.",
    "largest-head": "You take the largest head: take the mean.",
    "whole-row": "You return the whole row: one number, the weight on that key, is asked for.",
    "one-per-head": "You return one number for each head: take their mean.",
    "over-uniform": "You divide by (or subtract) what a uniform average would give: the plain "
    "weight is "
    "asked for.",
    "yes-or-no": "You return whether the key is the largest: return how much weight it has.",
    "not-last-two": "You count dimensions from the left: query and key are the LAST two "
    "dimensions, "
    "however many come before.",
}

what_a_head_does = Exercise(
    "what-a-head-does", "An honest split and a probe", (PAIRS, FETCH), MISTAKES
)


def _split(t: Trial, nouns: list[str], fraction: float, seed: int) -> tuple[list[Any], list[Any]]:
    out = t.subject.call(PAIRS, nouns, fraction, seed)
    t.expect(
        isinstance(out, tuple | list) and len(out) == 2, "The result should be (train, held_out)."
    )
    lists = []
    for part in out:
        t.expect(isinstance(part, list | tuple), "Each half should be a list of pairs.")
        good = all(
            isinstance(p, tuple | list) and len(p) == 2 and all(isinstance(n, str) for n in p)
            for p in part
        )
        t.expect(good, f"Each entry should be a pair of nouns; yours has {list(part)[:1]}.")
        lists.append([tuple(p) for p in part])
    return lists[0], lists[1]


def _draw(t: Trial) -> tuple[list[str], float, int]:
    n = t.integer(4, 10)
    return NOUNS[:n], t.pick([0.1, 0.2, 0.25, 0.4]), t.integer(0, 10**6)


def _all(nouns: list[str]) -> set[tuple[str, str]]:
    return {(a, b) for a in nouns for b in nouns if a != b}


@what_a_head_does.prop(
    "pairs-complete",
    2,
    "Every ordered pair of two different nouns once, in one of the two lists",
    PAIRS,
)
def _complete(t: Trial) -> None:
    for _ in range(3):
        nouns, fraction, seed = _draw(t)
        train, held = _split(t, nouns, fraction, seed)
        both = set(train) & set(held)
        t.expect(not both, f"{next(iter(both), '')} is in both lists.")
        t.expect(len(train) + len(held) == len(set(train) | set(held)), "A pair comes twice.")
        seen, wanted = set(train) | set(held), _all(nouns)
        extra, lost = seen - wanted, wanted - seen
        t.expect(
            not extra, f"{next(iter(extra), '')} is no pair of two different nouns of the list."
        )
        t.expect(not lost, f"{next(iter(lost), '')} is in neither list ({len(lost)} are missing).")


@what_a_head_does.prop("pairs-reverse", 3, "Every held-out pair's reverse is in train", PAIRS)
def _reverse(t: Trial) -> None:
    # A split at random keeps a pair and its reverse apart by chance, where few are held out.
    for nouns, fraction, seed in [*(_draw(t) for _ in range(3)), (NOUNS, 0.5, t.integer(0, 999))]:
        train, held = _split(t, nouns, fraction, seed)
        t.expect(
            bool(held), f"With {len(nouns)} nouns and fraction = {fraction} nothing is held out."
        )
        for a, b in held:
            if (b, a) not in set(train):
                shown = CounterExample(f"held_out_pairs({nouns[:4]} …, {fraction}, {seed})", [])
                raise Failure(f"({a}, {b}) is held out and ({b}, {a}) is not in train.", shown)


@what_a_head_does.prop("pairs-fraction", 1, "fraction of the ordered pairs is held out", PAIRS)
def _fraction(t: Trial) -> None:
    for fraction in (0.1, 0.25, 0.4, 0.5):
        nouns = NOUNS[: t.integer(5, 10)]
        total = len(nouns) * (len(nouns) - 1)
        _, held = _split(t, nouns, fraction, t.integer(0, 999))
        t.expect(
            abs(len(held) - fraction * total) <= 1,
            f"With {len(nouns)} nouns there are {total} ordered "
            f"pairs; fraction = {fraction} should hold out {fraction * total:g}; yours "
            f"{len(held)}.",
        )


@what_a_head_does.prop(
    "pairs-seed",
    1,
    "The same seed gives the same split, another seed another; nouns unedited",
    PAIRS,
)
def _seed(t: Trial) -> None:
    nouns = NOUNS[:9]
    seeds = [t.integer(0, 10**6) for _ in range(5)]
    a, again = (_split(t, nouns, 0.25, seeds[0]) for _ in range(2))
    t.expect(a == again, "The same seed gave two splits.")
    held = {tuple(sorted(_split(t, nouns, 0.25, s)[1])) for s in seeds}
    t.expect(len(held) > 1, "Five seeds gave the same split.")
    before = t.subject.run([{"op": "keeps", "on": PAIRS, "args": [nouns, 0.25, 1]}])[0]
    t.expect(before.get("value") is True, "The list of nouns is edited.")


@what_a_head_does.diagnosis(PAIRS)
def _pair_faults(t: Trial, failed: set[str]) -> list[Finding]:
    nouns = NOUNS[:8]
    try:
        train, held = _split(t, nouns, 0.25, 5)
    except Failure:
        return [what_a_head_does.finding("not-pairs")]
    found = []
    everything, seen = _all(nouns), set(train) | set(held)
    if any(a == b for a, b in seen):
        found.append("with-itself")
    elif set(train) & set(held):
        found.append("overlap")
    elif len(held) > len(train) and abs(len(train) - 14) <= 1:
        found.append("lists-exchanged")
    elif (held and {n for p in held for n in p}.isdisjoint(n for p in train for n in p)) or (
        held and any(all(n in p for p in held) or not any(n in p for p in train) for n in nouns)
    ):
        found.append("whole-nouns")
    elif len(seen) == len(everything) // 2:
        found.append("pairs-in-one-order")
    elif seen < everything:
        found.append("pairs-lost")
    elif any((b, a) in set(held) for a, b in held) or (
        "pairs-reverse" in failed and "pairs-fraction" not in failed
    ):
        found.append("reverse-held-out-too")
    elif "pairs-fraction" in failed:
        found.append("fraction-of-pairs")
    if "pairs-seed" in failed and not found:
        same = _split(t, nouns, 0.25, 5) == (train, held)
        others = [_split(t, nouns, 0.25, s)[1] for s in (6, 7, 8, 9)]
        if not same:
            found.append("not-reproducible")
        elif all(o == held for o in others):
            found.append("seed-ignored")
        else:
            found.append("nouns-edited")
    return [what_a_head_does.finding(f) for f in found]


# ---------------------------------------------------------------------------------------- the probe


def right_fetch(w: Tensor, query: int, key: int) -> float:
    """The mean weight of a query on a key."""
    return float(w[..., query, key].double().mean())


Probe = Callable[[Tensor, int, int], Any]
PROBES: dict[str, Probe] = {
    "transposed": lambda w, q, k: w[..., k, q].mean(),
    "first-head-only": lambda w, q, k: w.reshape(-1, *w.shape[-2:])[0, q, k],
    "first-head-only#1": lambda w, q, k: w.reshape(-1, *w.shape[-2:])[-1, q, k],
    "summed": lambda w, q, k: w[..., q, k].sum(),
    "largest-head": lambda w, q, k: w[..., q, k].max(),
    "over-uniform": lambda w, q, k: w[..., q, k].mean() * (q + 1),
    "over-uniform#1": lambda w, q, k: w[..., q, k].mean() - 1 / (q + 1),
    "over-uniform#2": lambda w, q, k: w[..., q, k].mean() * w.shape[-1],
    "yes-or-no": lambda w, q, k: float(w.reshape(-1, *w.shape[-2:]).mean(0)[q].argmax() == k),
}


def _map(t: Trial, *shape: int) -> Tensor:
    return t.normal(*shape, sd=1.5).softmax(-1)


def _number(value: Any) -> float | None:
    if isinstance(value, Tensor) and value.numel() == 1:
        return float(value)
    return float(value) if isinstance(value, int | float) else None


def _fetch_cases(t: Trial) -> list[tuple[Tensor, int, int]]:
    cases = []
    for shape in ((4, 7, 7), (2, 6, 9), (3, 5, 5), (1, 8, 8), (5, 6, 6), (4, 5, 9), (6, 4, 4)):
        w = _map(t, *shape)
        cases.append((w, t.integer(1, shape[1] - 1), t.integer(0, shape[1] - 2)))
    return cases


@what_a_head_does.prop(
    "fetches-values",
    3,
    "The weight that the query's row puts on the key, mean over the heads",
    FETCH,
)
def _fetch_values(t: Trial) -> None:
    for w, q, k in _fetch_cases(t):
        got = _number(t.subject.call(FETCH, w, q, k))
        t.expect(got is not None, "The result should be one number.")
        right = right_fetch(w, q, k)
        if got is None or abs(got - right) > 1e-5:
            small = torch.tensor([[[1.0, 0.0], [0.75, 0.25]], [[1.0, 0.0], [0.25, 0.75]]])
            yours = _number(
                t.subject.run([{"op": "call", "on": FETCH, "args": [small, 1, 0]}])[0].get("value")
            )
            shown = CounterExample(
                "fetches(weights, query=1, key=0), two heads below one another",
                [
                    ("weights", small),
                    ("yours", torch.tensor(float("nan") if yours is None else yours)),
                    ("expected", torch.tensor(0.5)),
                ],
            )
            raise Failure(
                f"For a map of shape {tuple(w.shape)}, query {q} and key {k} the result should be "
                f"{right:.4f}; yours is {got}.",
                shown,
            )


@what_a_head_does.prop(
    "fetches-shapes",
    1,
    "One head (T, S) or a batch (B, H, T, S) works as well; nothing edited",
    FETCH,
)
def _fetch_shapes(t: Trial) -> None:
    for shape in ((6, 6), (2, 3, 5, 7)):
        w = _map(t, *shape)
        got = _number(t.subject.call(FETCH, w, 3, 1))
        right = right_fetch(w, 3, 1)
        t.expect(
            got is not None and abs(got - right) < 1e-5,
            f"For a map of shape {shape} the result should "
            f"be {right:.4f}, the mean over all leading dimensions; yours is {got}.",
        )
    t.expect(not edits(t, FETCH, [_map(t, 2, 4, 4), 2, 1]), "The map is edited in place.")


@what_a_head_does.diagnosis(FETCH)
def _fetch_faults(t: Trial, failed: set[str]) -> list[Finding]:
    cases = _fetch_cases(t)
    outs = [t.subject.call(FETCH, *c) for c in cases]
    for out, (w, _, _) in zip(outs, cases, strict=True):
        if isinstance(out, Tensor) and out.shape == (w.shape[0],) and w.shape[0] > 1:
            return [what_a_head_does.finding("one-per-head")]
        if isinstance(out, Tensor) and out.numel() > 1:
            return [what_a_head_does.finding("whole-row")]
    numbers = [_number(o) for o in outs]
    for name, probe in PROBES.items():
        hits = [
            n is not None and abs(n - float(probe(*c))) < 1e-5
            for n, c in zip(numbers, cases, strict=True)
        ]
        if all(hits) and any(abs(float(probe(*c)) - right_fetch(*c)) > 1e-5 for c in cases):
            return [what_a_head_does.finding(name.split("#")[0])]
    return [what_a_head_does.finding("not-last-two")] if "fetches-values" not in failed else []
