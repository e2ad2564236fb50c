"""Claims of chapters 1 to 4 and 6 to 7 about the ladder: A1 to A13, A36."""

from __future__ import annotations

from course.claims.base import Finding, chapter, claim, record, test
from course.claims.recorded import Missing, needed, seeds, stale_note
from course.experiments import Stat, load_records


@claim(
    "A1",
    "Corpus and tokenizer",
    "Tiny Shakespeare under byte-level BPE with 1,024 tokens: GPT-2's split pattern, 256 bytes "
    "and 768 merges learned on the whole text, ties broken towards the pair met first.",
    published="1,115,394 characters → 459,760 tokens, 2.43 characters a token",
    check="exact",
    evidence=(
        chapter("01-average"),
        test("test_tokenizer.py::test_the_corpus_has_exactly_459760_tokens"),
    ),
)
def _a1() -> Finding:
    from course.corpus import load_corpus
    from course.tokenizer import load_tokens

    corpus = load_corpus(download=False)
    if not corpus.is_fallback:
        tokens = load_tokens(corpus)
        n, characters = len(tokens.train) + len(tokens.held_out), len(corpus.text)
        return Finding(
            (characters, n) == (1_115_394, 459_760),
            f"{characters:,} characters → {n:,} tokens, {characters / n:.2f} characters a token",
            values={"characters": characters, "tokens": n},
        )
    # Without the text, the runs on it still say how many tokens they read.
    counts = {r.data["corpus"]["tokens"] for row in load_records("ladder") for r in row.records}
    if not counts:
        return Finding(None, "", "The corpus is not on this machine (python -m course corpus).")
    return Finding(
        counts == {459_760},
        f"{', '.join(f'{n:,}' for n in sorted(counts))} tokens",
        "The corpus is not on this machine: this is what the recorded runs read.",
    )


def _ladder(*rungs: str) -> tuple[list[Stat], str]:
    records = needed("ladder", *rungs)
    return [records[rung]["held_out"] for rung in rungs], stale_note(records, *rungs)


@claim(
    "A2",
    "No context at all",
    "A linear layer on the token alone: the perplexity that everything else must beat.",
    published="59.71",
    check="within 1.5",
    evidence=(chapter("01-average"), record("ladder")),
)
def _a2() -> Finding:
    try:
        (alone,), note = _ladder("no-context")
    except Missing as missing:
        return missing.finding
    return Finding(abs(alone.mean - 59.71) <= 1.5, f"{alone.format()} {seeds(alone)}", note)


@claim(
    "A3",
    "The causal average instead of the token",
    "Replacing the token by the average of the tokens so far makes the model about four times "
    "worse: the present drowns.",
    published="≈ 248, about four times worse",
    check="3.5 to 4.5 times the perplexity of A2",
    evidence=(chapter("01-average"), record("ladder")),
)
def _a3() -> Finding:
    try:
        (alone, average), note = _ladder("no-context", "average")
    except Missing as missing:
        return missing.finding
    ratio = average.mean / alone.mean
    return Finding(
        3.5 <= ratio <= 4.5, f"{average.format()}, {ratio:.2f} times {seeds(alone, average)}", note
    )


@claim(
    "A4",
    "Positions added before averaging",
    "They go into the sum, and the sum forgets them: almost nothing is repaired.",
    published="≈ 246: buys 2.14 of about 188 points",
    check="a gain under 8 points",
    evidence=(chapter("01-average"), record("ladder")),
)
def _a4() -> Finding:
    try:
        (alone, average, placed), note = _ladder("no-context", "average", "average-positions")
    except Missing as missing:
        return missing.finding
    gain, lost = average.mean - placed.mean, average.mean - alone.mean
    return Finding(
        gain < 8,
        f"{placed.format()}: buys {gain:.2f} of {lost:.0f} points {seeds(average, placed)}",
        note,
    )


@claim(
    "A5",
    "Keeping the token",
    "The residual repairs what averaging broke, and beside the token the uniform average "
    "contributes nothing.",
    published="60.45",
    check="within 2 of A2",
    evidence=(chapter("01-average"), record("ladder")),
)
def _a5() -> Finding:
    try:
        (alone, kept), note = _ladder("no-context", "token-plus-average")
    except Missing as missing:
        return missing.finding
    return Finding(
        abs(kept.mean - alone.mean) <= 2,
        f"{kept.format()}, {kept.mean - alone.mean:+.2f} against A2 {seeds(alone, kept)}",
        note,
    )


@claim(
    "A6",
    "Learned weights against uniform ones",
    "One head added to the token, against the uniform average added to the token.",
    published="14 points (≈ 46.5)",
    check="10 to 18 points better than A5",
    evidence=(chapter("04-qkv"), record("ladder")),
)
def _a6() -> Finding:
    try:
        (kept, head), note = _ladder("token-plus-average", "head")
    except Missing as missing:
        return missing.finding
    gain = kept.mean - head.mean
    return Finding(
        10 <= gain <= 18, f"{head.format()}, {gain:.2f} points {seeds(kept, head)}", note
    )


@claim(
    "A7",
    "Four heads with an output projection",
    "Four narrow heads and W_o in place of one wide head, for the parameters of W_o.",
    published="3 more points (≈ 43.5) for exactly 16,512 parameters",
    check="better than one head; count exact",
    evidence=(
        chapter("06-heads"),
        record("ladder"),
        test("models/test_ladder.py::test_every_rung_has_exactly_its_parameters"),
    ),
)
def _a7() -> Finding:
    try:
        (head, four), note = _ladder("head", "four-heads")
    except Missing as missing:
        return missing.finding
    added = _parameters("four-heads") - _parameters("head")
    gain = head.mean - four.mean
    return Finding(
        gain > 0 and added == 16_512,
        f"{four.format()}, {gain:.2f} points for {added:,} parameters {seeds(head, four)}",
        note,
    )


def _parameters(rung: str) -> int:
    import torch

    from course.models.counting import count_parameters
    from course.models.ladder import build_rung

    with torch.device("meta"):  # sizes without numbers
        return count_parameters(build_rung(rung))


@claim(
    "A8",
    "The head replacing the token",
    "The same head instead of the token rather than beside it.",
    published="9 points worse (≈ 55.5)",
    check="5 to 14 points worse than A6",
    evidence=(chapter("04-qkv"), record("ladder")),
)
def _a8() -> Finding:
    try:
        (head, instead), note = _ladder("head", "head-instead")
    except Missing as missing:
        return missing.finding
    loss = instead.mean - head.mean
    return Finding(
        5 <= loss <= 14, f"{instead.format()}, {loss:.2f} points worse {seeds(head, instead)}", note
    )


@claim(
    "A9",
    "LayerNorm",
    "Three LayerNorms (two in the block, one at the end), against the block without norms.",
    published="exactly 768 parameters, 1.8 points",
    check="better; count exact",
    evidence=(
        chapter("07-block"),
        record("ladder"),
        test("models/test_ladder.py::test_every_rung_has_exactly_its_parameters"),
    ),
)
def _a9() -> Finding:
    try:
        (bare, normed), note = _ladder("feed-forward", "one-block")
    except Missing as missing:
        return missing.finding
    added = _parameters("one-block") - _parameters("feed-forward")
    gain = bare.mean - normed.mean
    return Finding(
        gain > 0 and added == 768,
        f"{normed.format()}, {gain:.2f} points for {added} parameters {seeds(bare, normed)}",
        note,
    )


@claim(
    "A10",
    "One block and two",
    "More capacity: better on what it saw, worse on what it did not.",
    published="18.77 / 38.07 and 14.49 / 40.57 (training / held out)",
    check="each within 2.5, and the reversal",
    evidence=(chapter("07-block"), record("ladder")),
)
def _a10() -> Finding:
    try:
        records = needed("ladder", "one-block", "two-blocks")
    except Missing as missing:
        return missing.finding
    one, two = records["one-block"], records["two-blocks"]
    found = [one["train"], one["held_out"], two["train"], two["held_out"]]
    near = all(
        abs(stat.mean - published) <= 2.5
        for stat, published in zip(found, (18.77, 38.07, 14.49, 40.57), strict=True)
    )
    reversal = found[2].mean < found[0].mean and found[3].mean > found[1].mean
    text = [stat.format() for stat in found]
    seen = (
        ""
        if near
        else "The reversal is there; a value is further from the published one."
        if reversal
        else "There is no reversal."
    )
    return Finding(
        near and reversal,
        f"{text[0]} / {text[1]} and {text[2]} / {text[3]} {seeds(*found)}",
        " ".join(filter(None, (seen, stale_note(records, "one-block", "two-blocks")))),
    )


@claim(
    "A11",
    "The average cannot see order",
    "Shuffle the window: the last row's summary stays, up to rounding.",
    published="max difference 3e-8",
    check="under 1e-6",
    evidence=(chapter("01-average"), test("test_averaging.py::test_the_average_cannot_see_order")),
)
def _a11() -> Finding:
    import torch

    from course.averaging import average_matmul

    x = torch.randn(32, 64, 32)  # (B, T, C)
    shuffled = x[:, torch.randperm(64)]
    difference = float((average_matmul(x)[:, -1] - average_matmul(shuffled)[:, -1]).abs().max())
    return Finding(difference < 1e-6, f"max difference {difference:.1e}")


@claim(
    "A12",
    "Loop, product, softmax",
    "Averaging by a loop, by a lower-triangular matrix and by a softmax over masked zeros is "
    "one thing.",
    published="max difference 6e-8; rows 1, ½, ⅓, …",
    check="under 1e-6; the rows exact",
    evidence=(
        chapter("02-masked-matmul"),
        chapter("03-softmax"),
        test("test_averaging.py::test_the_six_by_six_matrix"),
    ),
)
def _a12() -> Finding:
    import torch

    from course.averaging import average_loop, average_matmul, average_softmax, averaging_matrix

    x = torch.randn(8, 64, 32)  # (B, T, C)
    loop = average_loop(x)
    difference = max(
        float((loop - other(x)).abs().max()) for other in (average_matmul, average_softmax)
    )
    rows = all(
        averaging_matrix(6)[t, s] == (torch.tensor(1 / (t + 1)) if s <= t else 0)
        for t in range(6)
        for s in range(6)
    )
    return Finding(difference < 1e-6 and rows, f"max difference {difference:.1e}")


@claim(
    "A13",
    "The mask is −∞",
    "−∞ gives weight exactly zero for every score and in every floating type; −1e9 does not fit "
    "in float16, and any finite mask leaks once scores are large.",
    check="weight 0 with −∞; a finite mask leaks; −1e9 is not a float16",
    evidence=(
        chapter("03-softmax"),
        test("test_attention.py::test_the_mask_is_exact_in_every_type"),
    ),
)
def _a13() -> Finding:
    import torch

    from course.attention import masked_softmax

    scores = torch.tensor([-3.0e4, 3.0e4])  # allowed, forbidden
    allowed = torch.tensor([True, False])
    exact = [
        float(masked_softmax(scores.to(dtype), allowed)[1])
        for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16)
    ]
    leak = float((scores + torch.where(allowed, 0.0, -1.0e4)).softmax(-1)[1])
    in_half = float(torch.tensor(-1.0e9).to(torch.float16))
    return Finding(
        not any(exact) and leak > 0.5 and in_half == float("-inf"),
        f"weight {max(exact):g} with −∞ in four types; {leak:g} with a mask of −1e4 at scores of "
        f"±3e4; −1e9 as float16 is {in_half:g} (largest: {torch.finfo(torch.float16).max:g})",
    )


@claim(
    "A36",
    "A small model's maps of Shakespeare",
    "The attention maps of a model of 500,000 parameters on Shakespeare are mostly not to be "
    "interpreted, hence a language whose questions have right answers (A24 to A26).",
    check="maps of a trained rung are recorded and shown",
    evidence=(chapter("06-heads"), record("ladder")),
)
def _a36() -> Finding:
    import numpy as np

    try:
        records = needed("ladder", "one-block")
    except Missing as missing:
        return missing.finding
    arrays = next((r.arrays() for r in records["one-block"].records if r.data["arrays"]), None)
    if arrays is None:
        return Finding(None, "", "No record of the block holds maps.")
    maps = arrays["maps"][0].astype(np.float64)  # (H, T, T)
    entropy = -(maps * np.log(np.maximum(maps, 1e-12))).sum(-1)
    places = maps.shape[-1]
    tokens = ", ".join(f"{value:.1f}" for value in np.exp(entropy).mean(-1))
    pointed = float((maps.max(-1)[:, 1:] > 0.9).mean())
    return Finding(
        maps.shape[0] == 4 and pointed < 0.5,
        f"over {places} tokens the four heads attend to {tokens} tokens in effect; "
        f"{100 * pointed:.0f} % of rows put over 0.9 on one token",
    )
