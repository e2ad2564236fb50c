"""How a GPT runs: B1 to B8."""

from __future__ import annotations

from course.claims.base import Finding, chapter, claim, test
from course.claims.heads import gap
from course.experiments import load_records


@claim(
    "B1",
    "The generation loop",
    "Predict, pick, append, until an end token or the length limit.",
    check="stops at either; generates from the trained block where its weights are recorded",
    evidence=(
        chapter("10-gpt"),
        test("test_generation.py::test_it_stops_when_every_row_has_ended"),
        test("test_generation.py::test_with_and_without_the_cache_is_the_same_text"),
    ),
)
def _b1() -> Finding:
    import torch

    from course.generation import generate
    from course.models.gpt import GPT

    model = GPT(20, 32, 16, 2, 1).eval()
    prompt = torch.randint(20, (1, 4))
    limited = generate(model, prompt, 10, temperature=0.0)
    end = int(limited[0, 6])  # the third token it writes, now the end of the text
    ended = generate(model, prompt, 10, temperature=0.0, end=end)
    first = int((limited[0, 4:] == end).nonzero()[0])
    stops = limited.shape[1] == 14 and ended.shape[1] == 4 + first + 1
    text = _trained_sample()
    return Finding(
        stops,
        f"{limited.shape[1] - 4} tokens to the limit, {ended.shape[1] - 4} to "
        f"the end token" + (f"; the trained block writes {text!r}" if text else ""),
    )


def _trained_sample() -> str:
    """A line from the recorded block; empty where its weights are not recorded."""
    import torch

    from course.experiments.arrays import restore_weights
    from course.generation import generate
    from course.models.ladder import build_rung
    from course.tokenizer import Tokenizer

    for record in load_records("ladder")["one-block"].records:
        arrays = record.arrays()
        if "merges" not in arrays:
            continue
        tokenizer = Tokenizer([(int(a), int(b)) for a, b in arrays["merges"]])
        model = build_rung("one-block").eval()
        restore_weights(model, arrays)
        prompt = torch.tensor([tokenizer.encode("ROMEO:\n")])
        generator = torch.Generator().manual_seed(0)
        ids = generate(model, prompt, 16, temperature=0.8, generator=generator)
        return tokenizer.decode(ids[0].tolist(), errors="replace")
    return ""


@claim(
    "B2",
    "The causal mask and its two conventions",
    "0 on and below the diagonal, −∞ above: future weights are exactly 0.  Code in the wild "
    "marks with True what is forbidden (triu, diagonal 1); here True = may attend.",
    check="exact",
    evidence=(
        chapter("02-masked-matmul"),
        test("test_attention.py::test_causal_mask_lets_a_query_see_up_to_itself"),
    ),
)
def _b2() -> Finding:
    import torch

    from course.attention import causal_mask, masked_softmax

    T = 6
    forbidden = torch.triu(torch.ones(T, T), diagonal=1).bool()
    opposite = bool((causal_mask(T) == ~forbidden).all())
    weights = masked_softmax(torch.randn(T, T), causal_mask(T))
    future = float(weights[forbidden].abs().max())
    return Finding(
        opposite and future == 0,
        f"the two masks are each other's opposite; largest weight on the future {future:g}",
    )


@claim(
    "B3",
    "Token plus position",
    "BPE → token embedding + learned position embedding.",
    check="shapes and sum",
    evidence=(chapter("10-gpt"), test("models/test_gpt.py::test_embedding_is_token_plus_position")),
)
def _b3() -> Finding:
    import torch

    from course.models.gpt import GPT

    model = GPT(50, 16, 32, 4, 1)
    idx = torch.randint(50, (2, 7))
    x = model.embed(idx)
    assert model.position_embedding is not None
    expected = model.token_embedding.weight[idx] + model.position_embedding.weight[:7]
    return Finding(
        x.shape == (2, 7, 32) and gap(x, expected) == 0,
        f"(2, 7) ids → {tuple(x.shape)}; the sum differs by {gap(x, expected):g}",
    )


@claim(
    "B4",
    "Pre-LN",
    "x + Attention(LayerNorm(x)), then the same with the MLP.",
    check="equal to the formula",
    evidence=(chapter("07-block"), test("test_block.py::test_pre_norm_adds_to_what_it_read")),
)
def _b4() -> Finding:
    import torch

    from course.block import Block

    block = Block(32, 4, 8).eval()
    x = torch.randn(2, 8, 32)
    middle = x + block.attention(block.attention_norm(x))
    expected = middle + block.feed_forward(block.feed_forward_norm(middle))
    difference = gap(block(x), expected)
    return Finding(difference < 1e-6, f"differs by {difference:.0e}")


@claim(
    "B5",
    "GELU written, ReLU printed",
    "The feed-forward network is two linear maps round an activation.  Texts write GELU and "
    "print max(0, xW₁ + b₁)W₂ + b₂, which is ReLU's formula.",
    published="GELU, with the formula max(0, xW₁ + b₁)W₂ + b₂",
    check="the printed formula is the ReLU network's and not the GELU network's",
    corrects=True,
    evidence=(
        chapter("07-block"),
        test("test_block.py::test_feed_forward_is_the_formula_with_either_activation"),
    ),
)
def _b5() -> Finding:
    import torch

    from course.block import FeedForward

    gelu, relu = FeedForward(32, activation="gelu"), FeedForward(32, activation="relu")
    relu.load_state_dict(gelu.state_dict())
    x = torch.randn(4, 8, 32)
    printed = (x @ gelu.up.weight.T + gelu.up.bias).clamp(min=0) @ gelu.down.weight.T
    printed = printed + gelu.down.bias
    from_relu, from_gelu = gap(relu(x), printed), gap(gelu(x), printed)
    return Finding(
        from_relu < 1e-5 < from_gelu,
        f"the printed formula differs from the ReLU network by {from_relu:.0e}, from "
        f"the GELU network by {from_gelu:.2g}",
        "GPT uses GELU; the printed formula is that of 2017, with ReLU.",
    )


@claim(
    "B6",
    "From logits to tokens",
    "Temperature below 1 sharpens, above 1 flattens; top-k keeps k; top-p keeps the smallest "
    "set, by falling probability, whose mass is at least p.",
    published="p = 0.9",
    check="temperature → 0 is argmax; k kept; the smallest such set kept; "
    "probabilities sum to 1; a mass exactly equal to p is enough",
    ours="texts differ between “reaches” and “exceeds” p: here a set that reaches it is "
    "enough; ties go to the lower id",
    evidence=(
        chapter("10-gpt"),
        test("test_sampling.py::test_a_mass_exactly_equal_to_p_is_enough"),
        test("test_sampling.py::test_top_p_keeps_the_smallest_set_that_reaches_p"),
    ),
)
def _b6() -> Finding:
    import torch

    from course.sampling import filter_logits

    logits = torch.randn(200, 50)
    probabilities = logits.softmax(-1)
    kept = filter_logits(logits, top_p=0.9).isfinite()
    mass = (probabilities * kept).sum(-1)
    least = torch.where(kept, probabilities, 2.0).amin(-1)
    exact = torch.tensor([[0.5, 0.4, 0.05, 0.05]]).log()
    entropies = [
        float(torch.distributions.Categorical(logits=filter_logits(logits, t)).entropy().mean())
        for t in (0.2, 0.8, 1.0, 1.5)
    ]
    checks = {
        "temperature 0": bool((filter_logits(logits, 0.0).argmax(-1) == logits.argmax(-1)).all()),
        "k": bool((filter_logits(logits, top_k=7).isfinite().sum(-1) == 7).all()),
        "p": bool(((mass >= 0.9 - 1e-6) & (mass - least < 0.9)).all()),
        "equal": int(filter_logits(exact, top_p=0.9).isfinite().sum()) == 2,
        "sums": gap(filter_logits(logits, 0.8, 20, 0.9).softmax(-1).sum(-1), torch.ones(200))
        < 1e-5,
        "sharpens": entropies == sorted(entropies),
    }
    failed = [name for name, holds in checks.items() if not holds]
    return Finding(
        not failed,
        f"p = 0.9 keeps {kept.sum(-1).float().mean():.1f} of 50 on average, mass at "
        f"least {float(mass.min()):.3f}; mean entropy "
        f"{', '.join(f'{value:.2f}' for value in entropies)} nats at temperatures 0.2, "
        f"0.8, 1, 1.5",
        f"Fails: {', '.join(failed)}." if failed else "",
    )


@claim(
    "B7",
    "Multi-head causal self-attention",
    "The width is split over the heads.",
    published="(1, 4, 8), 2 heads → (1, 4, 8)",
    check="shapes exact",
    evidence=(chapter("06-heads"), test("test_attention.py::test_multi_head_shapes")),
)
def _b7() -> Finding:
    import torch

    from course.attention import MultiHeadAttention

    layer = MultiHeadAttention(8, 2, 4)
    out, weights = layer(torch.randn(1, 4, 8), return_weights=True)
    return Finding(
        tuple(out.shape) == (1, 4, 8) and tuple(weights.shape) == (1, 2, 4, 4),
        f"(1, 4, 8), 2 heads of {layer.d_head} → {tuple(out.shape)}, weights "
        f"{tuple(weights.shape)}",
    )


@claim(
    "B8",
    "Encoder-only, decoder-only, encoder–decoder",
    "Side by side: mask, objective, examples, uses.",
    check="the three masks computed",
    evidence=(
        chapter("10-gpt"),
        test(
            "models/test_encoder_decoder.py::"
            "test_the_decoder_does_not_look_ahead_and_the_encoder_does"
        ),
    ),
)
def _b8() -> Finding:
    import torch

    from course.attention import MultiHeadAttention, causal_mask

    T = 6
    counts = {}
    for name, causal in (("encoder", False), ("decoder", True)):
        layer = MultiHeadAttention(8, 2, T, causal=causal)
        _, weights = layer(torch.randn(1, T, 8), return_weights=True)
        counts[name] = int((weights[0, 0] > 0).sum())
    right = counts == {"encoder": T * T, "decoder": int(causal_mask(T).sum())}
    return Finding(
        right,
        f"of {T} × {T} pairs an encoder's layer connects {counts['encoder']}, a "
        f"decoder's {counts['decoder']}; an encoder–decoder has both, and "
        f"cross-attention with all {T * T}",
    )
