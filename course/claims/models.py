"""Claims about whole models and what trained ones do: A19, A20, A23 to A26, A29, A32."""

from __future__ import annotations

from course.claims.base import Finding, chapter, claim, page, record, test
from course.claims.recorded import Missing, needed, seeds, stale_note


@claim(
    "A19",
    "Where the parameters sit",
    "Two thirds of every block are the feed-forward network, at every scale: attention has four "
    "d × d matrices, the MLP the equivalent of eight.",
    published="2/3; without biases on q, k, v a d = 768 block has 2,304 fewer than 7,087,872",
    check="share within 0.003 of 2/3; counts exact",
    evidence=(
        chapter("07-block"),
        test("models/test_gpt.py::test_without_qkv_biases_a_block_is_2304_smaller"),
    ),
)
def _a19() -> Finding:
    import torch

    from course.block import Block
    from course.models.counting import count_parameters

    shares = {}
    with torch.device("meta"):
        for d in (128, 256, 768, 2048, 12288):
            block = Block(d, d // 64, 8, qkv_bias=True)
            shares[d] = count_parameters(block.feed_forward) / count_parameters(block)
        whole = count_parameters(Block(768, 12, 8, qkv_bias=True))
        fewer = whole - count_parameters(Block(768, 12, 8, qkv_bias=False))
    return Finding(
        all(abs(share - 2 / 3) <= 0.003 for share in shares.values())
        and whole == 7_087_872
        and fewer == 2_304,
        f"{100 * min(shares.values()):.1f} to {100 * max(shares.values()):.1f} % from d = "
        f"{min(shares)} to {max(shares)}; {fewer:,} fewer than {whole:,}",
    )


@claim(
    "A20",
    "Pre-norm against post-norm",
    "Twelve blocks, 1000 steps at 3e-3: before any step post-norm's gradients are larger and "
    "grow more towards the last block; without warm-up it does not train.",
    published="gradient per block: pre 0.0498 … 0.0657 (last/first 1.32), post 0.0977 … 0.1613 "
    "(1.65); perplexity: pre 37.82, with warm-up 37.62; post 308.05, with warm-up "
    "37.88",
    check="post's ratio above pre's and its norms about twice as large; post without warm-up at "
    "least 3 times worse than the others, which agree within 3",
    ours="learning rate and batch were found by trial; the gradient sizes are those of the "
    "output projection W_o (over all of a block's parameters the ratios are nearer 1), "
    "averaged over five fresh models a seed",
    evidence=(chapter("07-block"), record("norms")),
)
def _a20() -> Finding:
    names = ("pre-plain", "pre-warmup", "post-plain", "post-warmup")
    try:
        records = needed("norms", *names)
    except Missing as missing:
        return missing.finding
    pre, warm, post, rescued = (records[name]["held_out"] for name in names)
    gradients = {
        name: [
            records[f"{name}-plain"][f"gradient_output_{which}"].mean
            for which in ("first", "last", "ratio")
        ]
        for name in ("pre", "post")
    }
    everything = {
        name: records[f"{name}-plain"]["gradient_all_ratio"].mean for name in ("pre", "post")
    }
    larger = gradients["post"][0] / gradients["pre"][0]
    others = [pre.mean, warm.mean, rescued.mean]
    checks = {
        "post-norm's gradients do not grow more over depth": gradients["post"][2]
        > gradients["pre"][2],
        "post-norm's gradients are not about twice as large": 1.5 <= larger <= 3,
        "post-norm without warm-up is less than three times worse": post.mean >= 3 * max(others),
        "the other three differ by more than 3": max(others) - min(others) <= 3,
    }
    seen = [name for name, holds in checks.items() if not holds]
    first, last, ratio = gradients["pre"]
    first_post, last_post, ratio_post = gradients["post"]
    return Finding(
        all(checks.values()),
        f"gradient of W_o: pre {first:.4f} … {last:.4f} ({ratio:.2f}), post {first_post:.4f} … "
        f"{last_post:.4f} ({ratio_post:.2f}); over all parameters {everything['pre']:.2f} and "
        f"{everything['post']:.2f}; perplexity: pre {pre.format()}, with warm-up {warm.format()}; "
        f"post {post.format()}, with warm-up {rescued.format()} "
        f"{seeds(pre, warm, post, rescued)}",
        " ".join(
            filter(None, (("; ".join(seen) + ".") if seen else "", stale_note(records, *names)))
        ),
    )


@claim(
    "A23",
    "Model size is arithmetic",
    "Attention 4d² + 4d, MLP 8d² + 5d, norms 4d: 12d² + 13d a block.",
    published="GPT-2 small: 38,597,376 + 786,432 + 12 × 7,087,872 (85,054,464) + 1,536 = "
    "124,439,808; 31.0 % in the embedding table",
    check="exact, and equal to what the course's GPT counts",
    evidence=(
        chapter("10-gpt"),
        test("models/test_gpt.py::test_gpt2_small_has_its_124439808_parameters"),
    ),
)
def _a23() -> Finding:
    import torch

    from course.models.counting import count_parameters, gpt_parameters
    from course.models.gpt import GPT

    parts = gpt_parameters(768, 12, 50257, 1024)
    with torch.device("meta"):
        counted = count_parameters(GPT(50257, 1024, 768, 12, 12))
    named = (
        parts["token_embedding"],
        parts["position_embedding"],
        parts["block"],
        parts["blocks"],
        parts["final_norm"],
        parts["total"],
    )
    exact = named == (38_597_376, 786_432, 7_087_872, 85_054_464, 1_536, 124_439_808)
    return Finding(
        exact and counted == parts["total"],
        f"{named[0]:,} + {named[1]:,} + 12 × {named[2]:,} ({named[3]:,}) + {named[4]:,} "
        f"= {named[5]:,}; the model counts {counted:,}; "
        f"{100 * named[0] / named[5]:.1f} % in the embedding table",
    )


@claim(
    "A24",
    "The demonstration that proves nothing",
    "With animals and places as candidates and adjectives that give the category away, a bag of "
    "words names the pronoun's referent.",
    published="uniform average 100 %, one transformer block 91.7 %",
    check="average at least 99 %, and not below the block",
    ours="the language, its size and the budget",
    evidence=(chapter("12-what-a-head-does"), record("pronouns")),
)
def _a24() -> Finding:
    names = ("leaky-average", "leaky-one-block")
    try:
        records = needed("pronouns", *names)
    except Missing as missing:
        return missing.finding
    average, block = (records[name]["right"] for name in names)
    return Finding(
        average.mean >= 0.99 and average.mean >= block.mean,
        f"uniform average {_percent(average)}, one block {_percent(block)} {seeds(average, block)}",
        stale_note(records, *names),
    )


def _percent(stat: object) -> str:
    from course.experiments import Stat

    assert isinstance(stat, Stat)
    return f"{Stat.of([100 * value for value in stat.values]).format(1)} %"


@claim(
    "A25",
    "Close the hole",
    "One pool of sixteen nouns for both slots: now the order must be read.  The average names "
    "the pair's wrong noun as often as the right one, one block is often right, two blocks are.",
    published="uniform average 27.9 %, the wrong noun of the pair half the time; one block "
    "92.7 %; two blocks 100 %",
    check="average under 40 % and the wrong noun at least as often as the right (within 2 "
    "points); one block 80 to 99 %; two blocks at least 99 %",
    ours="width 64, four heads, 2500 steps; 90 of 240 ordered pairs held out",
    evidence=(chapter("12-what-a-head-does"), record("pronouns")),
)
def _a25() -> Finding:
    names = ("average", "one-block", "two-blocks")
    try:
        records = needed("pronouns", *names)
    except Missing as missing:
        return missing.finding
    average, one, two = (records[name]["right"] for name in names)
    wrong = records["average"]["wrong_noun"]
    both = 100 * (average.mean + wrong.mean)
    too_often = (
        "the average is right more often than the limit of 40 %: it names one of the pair's two "
        f"nouns {both:.0f} % of the time (published 78 %), and cannot tell which"
    )
    checks = {
        too_often: average.mean < 0.4,
        "the average prefers the right noun": wrong.mean >= average.mean - 0.02,
        "one block is outside 80 to 99 %": 0.8 <= one.mean <= 0.99,
        "two blocks stay under 99 %": two.mean >= 0.99,
    }
    seen = [name for name, holds in checks.items() if not holds]
    return Finding(
        all(checks.values()),
        f"uniform average {_percent(average)}, the wrong noun {_percent(wrong)}; one "
        f"block {_percent(one)}; two blocks {_percent(two)} "
        f"{seeds(average, one, two)}",
        " ".join(
            filter(None, (("; ".join(seen) + ".") if seen else "", stale_note(records, *names)))
        ),
    )


@claim(
    "A26",
    "Reading the maps: a two-hop circuit",
    "At the position that must name the referent, block 1 asks the same whatever the adjective: "
    "it cannot condition on a word it has not fetched.  Block 2 differs.",
    published="block 1 in both: animal .70, street .06, comma .05, the .19; block 2: tired 1.00 "
    "on the adjective; wet: street .49, the .25, too .20",
    check="block 1's scores outside the adjective's column agree to rounding, its weights "
    "differ by at most the adjective's share; block 2 clearly different",
    ours="the adjective is a key itself, so block 1's weights (not its scores) move by at most "
    "its share",
    evidence=(chapter("12-what-a-head-does"), record("pronouns")),
)
def _a26() -> Finding:
    try:
        records = needed("pronouns", "two-blocks")
    except Missing as missing:
        return missing.finding
    row = records["two-blocks"]
    scores, first = row["block1_score_difference"], row["block1_weight_difference"]
    share, second = row["block1_adjective_weight_max"], row["block2_weight_difference"]
    noun = (row["last_on_crossed_noun_crosser"], row["last_on_crossed_noun_crossed"])
    worst = max(scores.values)
    holds = (
        worst < 1e-4
        and all(a <= b + 1e-6 for a, b in zip(first.values, share.values, strict=True))
        and second.mean > 0.3
        and noun[1].mean - noun[0].mean > 0.1
    )
    return Finding(
        holds,
        f"block 1's scores differ by {worst:.0e}, its weights by {first.format()} (adjective's "
        f"share up to {share.format()}); block 2's weights by {second.format()}: on the crossed "
        f"noun {noun[0].format()} after a crosser's adjective, {noun[1].format()} after a crossed "
        f"thing's {seeds(second)}",
        stale_note(records, "two-blocks"),
    )


@claim(
    "A29",
    "Why not a recurrence",
    "T multiplied Jacobians vanish or explode; gates move the range from tens of steps to "
    "hundreds, not the fact; attention's path has the same length to any token, and nothing in "
    "it waits for the step before.",
    check="a tanh recurrence's gradient is gone within 100 steps or explodes; a gated one's "
    "lasts for hundreds; attention's does not fall with distance",
    ours="untrained networks of width 128 over 500 inputs; gone means under a thousandth",
    evidence=(page("intro"), record("recurrence")),
)
def _a29() -> Finding:
    names = ("tanh-0.9", "tanh-1.2", "lstm-0", "lstm-2", "attention")
    try:
        records = needed("recurrence", *names)
    except Missing as missing:
        return missing.finding
    reach = {name: records[name]["reach"].mean for name in names}
    explodes, flat = records["tanh-1.2"]["largest"].mean, records["attention"]["farthest"].mean
    holds = reach["tanh-0.9"] < 100 and explodes > 10 and reach["lstm-2"] >= 200 and 0.1 < flat < 10
    return Finding(
        holds,
        f"gone after {reach['tanh-0.9']:.0f} steps (tanh, matrix of size 0.9), grown "
        f"{explodes:.0f}-fold (1.2); gated after {reach['lstm-0']:.0f} to "
        f"{reach['lstm-2']:.0f} steps by forget bias; attention at the first token "
        f"{flat:.2f} of the nearest {seeds(records['attention']['reach'])}",
        stale_note(records, *names),
    )


@claim(
    "A32",
    "Induction",
    "[A][B] … [A] → [B] needs a head that looks at the previous token feeding a later head: two "
    "layers of attention learn it on random sequences that repeat, one cannot.",
    check="two layers' loss on the repeated part far below one layer's, with a previous-token "
    "head and an induction head",
    ours="model, sequences and budget",
    evidence=(chapter("12-what-a-head-does"), record("induction")),
)
def _a32() -> Finding:
    try:
        records = needed("induction", "one-layer", "two-layers")
    except Missing as missing:
        return missing.finding
    one, two = records["one-layer"], records["two-layers"]
    losses = one["loss_repeated"], two["loss_repeated"]
    previous, induction = two["previous_layer1"], two["induction_last"]
    holds = losses[1].mean < losses[0].mean / 2 and min(previous.mean, induction.mean) > 0.25
    return Finding(
        holds,
        f"loss on the repeated part {losses[0].format()} with one layer, "
        f"{losses[1].format()} with two; accuracy {one['accuracy'].format()} and "
        f"{two['accuracy'].format()}; previous-token head {previous.format()}, "
        f"induction head {induction.format()} {seeds(*losses)}",
        stale_note(records, "one-layer", "two-layers"),
    )
