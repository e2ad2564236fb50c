"""The original encoder–decoder: C2 to C13."""

from __future__ import annotations

from pathlib import Path

from course.claims.base import Finding, chapter, claim, page, record, test
from course.claims.heads import copy_attention, gap
from course.claims.recorded import Missing, needed, seeds, stale_note

_BOOK = Path(__file__).resolve().parents[2] / "book"


@claim(
    "C2",
    "The base model",
    "Six and six layers, width 512, eight heads of 64, d_ff 2048, post-norm.",
    published="6 + 6 layers, d_model 512, 8 heads, d_k = d_v = 64, d_ff 2048",
    check="the object built; shapes",
    evidence=(
        chapter("11-encoder-decoder"),
        test("models/test_encoder_decoder.py::test_the_base_model"),
    ),
)
def _c2() -> Finding:
    import torch

    from course.block import Block, DecoderLayer
    from course.models.encoder_decoder import EncoderDecoder

    with torch.device("meta"):
        model = EncoderDecoder(100)
    first, last = model.encoder[0], model.decoder[-1]
    assert isinstance(first, Block)
    assert isinstance(last, DecoderLayer)
    found = (
        len(model.encoder),
        len(model.decoder),
        model.d_model,
        first.attention.n_heads,
        first.attention.d_head,
        first.feed_forward.up.out_features,
        first.norm,
        last.norm,
    )
    return Finding(
        found == (6, 6, 512, 8, 64, 2048, "post", "post"),
        f"{found[0]} + {found[1]} layers, d_model {found[2]}, {found[3]} heads of "
        f"{found[4]}, d_ff {found[5]}, {found[6]}-norm",
    )


@claim(
    "C3",
    "The worked example",
    "“The cat sat”, three tokens, d_k = 4, identity projections, unmasked.",
    published="halved scores .15 .35 .20; exp 1.162 1.419 1.221, sum 3.802; weights .306 .373 "
    ".321; output .281 .381 .481 .581",
    check="three decimals; with the causal mask row one is 1 0 0",
    ours="the output is ours: the reference stops at the weights",
    evidence=(chapter("04-qkv"), test("test_attention.py::test_the_worked_example_of_the_cat_sat")),
)
def _c3() -> Finding:
    import torch

    from course.attention import causal_mask, scaled_dot_product_attention

    x = torch.tensor([[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [0.2, 0.3, 0.4, 0.5]])
    halved = x @ x.T / 2
    out, weights = scaled_dot_product_attention(x, x, x, return_weights=True)
    _, masked = scaled_dot_product_attention(x, x, x, causal_mask(3), return_weights=True)
    exponentials = halved[0].exp()

    def digits(row: torch.Tensor) -> str:
        return " ".join(f"{value:.3f}".lstrip("0") for value in row.tolist())

    right = (
        digits(halved[0]),
        digits(exponentials),
        f"{float(exponentials.sum()):.3f}",
        digits(weights[0]),
        digits(out[0]),
    ) == (".150 .350 .200", "1.162 1.419 1.221", "3.802", ".306 .373 .321", ".281 .381 .481 .581")
    return Finding(
        right and masked[0].tolist() == [1, 0, 0],
        f"halved scores {digits(halved[0])}; exp {digits(exponentials)}, sum "
        f"{float(exponentials.sum()):.3f}; weights {digits(weights[0])}; output "
        f"{digits(out[0])}; masked row one "
        f"{' '.join(f'{value:g}' for value in masked[0].tolist())}",
    )


@claim(
    "C4",
    "The decoder layer",
    "Masked self-attention, cross-attention (queries from the decoder, keys and values from the "
    "encoder), feed-forward; each with a residual and LayerNorm.",
    check="equal to nn.TransformerDecoderLayer with copied weights: under 1e-12 in float64",
    evidence=(
        chapter("11-encoder-decoder"),
        test("oracles/test_attention_oracles.py::test_decoder_layer_is_pytorchs"),
    ),
)
def _c4() -> Finding:
    import torch
    from torch import nn

    from course.attention import causal_mask
    from course.block import DecoderLayer

    theirs = nn.TransformerDecoderLayer(32, 4, 64, dropout=0.0, batch_first=True).double()
    ours = DecoderLayer(32, 4, 9, d_ff=64).double()
    copy_attention(ours.attention, theirs.self_attn)
    copy_attention(ours.cross_attention, theirs.multihead_attn)
    for mine, other in (
        (ours.feed_forward.up, theirs.linear1),
        (ours.feed_forward.down, theirs.linear2),
        (ours.attention_norm, theirs.norm1),
        (ours.cross_norm, theirs.norm2),
        (ours.feed_forward_norm, theirs.norm3),
    ):
        mine.load_state_dict(other.state_dict())
    x, memory = torch.randn(2, 9, 32).double(), torch.randn(2, 5, 32).double()
    difference = gap(ours(x, memory), theirs(x, memory, tgt_mask=~causal_mask(9)))
    return Finding(difference < 1e-12, f"differs by {difference:.0e}")


@claim(
    "C5",
    "The final linear layer",
    "Linear and softmax over a vocabulary of about 37,000, written with a bias; the matrix it "
    "shares with the embeddings (C10) has none.",
    published="a linear layer with a bias",
    check="which of the two has one",
    corrects=True,
    evidence=(
        chapter("11-encoder-decoder"),
        test("models/test_encoder_decoder.py::test_the_base_model"),
    ),
)
def _c5() -> Finding:
    import torch

    from course.models.encoder_decoder import EncoderDecoder

    with torch.device("meta"):
        shared = EncoderDecoder(37_000, shared=True).output.bias
        own = EncoderDecoder(37_000, shared=False).output.bias
    return Finding(
        shared is None and own is not None,
        f"shared matrix: {'no bias' if shared is None else 'a bias'}; a matrix of its "
        f"own: {'no bias' if own is None else f'a bias of {own.numel():,}'}",
        "An embedding table has no bias to share: with one matrix for both embeddings "
        "and the output, there is none.",
    )


@claim(
    "C6",
    "Adam as in 2017",
    "β = (0.9, 0.98), ε = 1e-9.",
    published="β = (0.9, 0.98), ε = 1e-9",
    check="the optimiser built by the recipe has these",
    evidence=(chapter("11-encoder-decoder"), test("test_training.py::test_the_recipe_of_2017")),
)
def _c6() -> Finding:
    from torch import nn

    from course.training import make_optimizer

    group = make_optimizer(nn.Linear(2, 2), "adam-2017", 1.0).param_groups[0]
    return Finding(
        group["betas"] == (0.9, 0.98) and group["eps"] == 1e-9,
        f"β = {group['betas']}, ε = {group['eps']:g}",
    )


@claim(
    "C7",
    "The learning rate",
    "d^−½ · min(step^−½, step · warmup^−3/2), warm-up 4000.",
    published="peak at step 4000: 6.988e-4 for 512",
    check="peak and place",
    evidence=(
        chapter("11-encoder-decoder"),
        test("test_training.py::test_noam_peaks_at_the_end_of_warm_up"),
    ),
)
def _c7() -> Finding:
    from course.training import noam_rate

    rates = {step: noam_rate(step, 512) for step in range(1, 20_001)}
    peak = max(rates, key=lambda step: rates[step])
    return Finding(
        peak == 4000 and f"{rates[peak]:.3e}" == "6.988e-04",
        f"peak at step {peak}: {rates[peak]:.3e}",
    )


@claim(
    "C8",
    "Label smoothing",
    "The true class gets 1 − ε + ε/K, every other ε/K.",
    published="ε = 0.1, K = 4 → 0.925, the others 0.025",
    check="exact, and equal to F.cross_entropy(label_smoothing=)",
    evidence=(
        chapter("11-encoder-decoder"),
        test("test_training.py::test_label_smoothing_is_the_smoothed_target"),
    ),
)
def _c8() -> Finding:
    import torch
    import torch.nn.functional as F

    K, epsilon = 4, 0.1
    target = torch.full((K,), epsilon / K, dtype=torch.float64)
    target[2] += 1 - epsilon
    logits = torch.randn(1, K, dtype=torch.float64)
    by_hand = -(target * logits.log_softmax(-1)[0]).sum()
    theirs = F.cross_entropy(logits, torch.tensor([2]), label_smoothing=epsilon)
    difference = float((by_hand - theirs).abs())
    return Finding(
        abs(float(target[2]) - 0.925) < 1e-12
        and abs(float(target[0]) - 0.025) < 1e-12
        and difference < 1e-12,
        f"{float(target[2]):.3f}, the others {float(target[0]):.3f}; PyTorch's loss "
        f"within {difference:.0e}",
    )


@claim(
    "C9",
    "Embeddings × √d_model",
    "So that they are not drowned by the encoding added to them.",
    published="× 22.6 at 512, explained with “embedding variance about 1”",
    check="the explanation needs embeddings that start with sd d^−½: measured both ways",
    corrects=True,
    evidence=(
        chapter("11-encoder-decoder"),
        test(
            "models/test_encoder_decoder.py::test_embeddings_are_scaled_to_the_size_of_the_encoding"
        ),
    ),
)
def _c9() -> Finding:
    import torch

    from course.positions import sinusoidal

    d = 512
    factor = d**0.5
    encoding = float(sinusoidal(512, d).square().mean().sqrt())
    small = float((torch.randn(1000, d) * d**-0.5 * factor).square().mean().sqrt())
    unit = float((torch.randn(1000, d) * factor).square().mean().sqrt())
    return Finding(
        abs(small - 1) < 0.05 and unit > 20,
        f"× {factor:.1f}: embeddings of sd d^−½ become {small:.2f}, of sd 1 become "
        f"{unit:.1f}, beside an encoding of {encoding:.2f} (root mean square)",
        "With unit variance the factor would drown the encoding; it is right for "
        "embeddings that start with sd d^−½.",
    )


@claim(
    "C10",
    "One matrix, three uses",
    "Both embeddings and the layer before the softmax share one matrix.",
    published="about 65 M parameters",
    check="counted exactly for V = 37,000, and the V that gives 65 M",
    corrects=True,
    evidence=(
        chapter("11-encoder-decoder"),
        test("models/test_encoder_decoder.py::test_the_base_model"),
    ),
)
def _c10() -> Finding:
    import torch

    from course.models.counting import count_parameters
    from course.models.encoder_decoder import EncoderDecoder

    with torch.device("meta"):
        counted = count_parameters(EncoderDecoder(37_000))
        without = count_parameters(EncoderDecoder(1)) - 512
    vocabulary = (65_000_000 - without) / 512
    return Finding(
        round(counted / 1e6, 1) == 63.1,
        f"{counted:,} for V = 37,000; 65 M need V ≈ {vocabulary:,.0f}",
        f"With 37,000 tokens the base model has {counted / 1e6:.1f} M parameters; 65 M "
        f"belong to a vocabulary of about {vocabulary:,.0f}.",
    )


@claim(
    "C11",
    "Teacher forcing and beam search",
    "Teacher forcing in training, beam search at inference, on small sequence tasks.",
    check="over 99 % exact match; the beam not worse than greedy",
    ours="reversal of letters, and number words into digits",
    evidence=(chapter("11-encoder-decoder"), record("seq2seq")),
)
def _c11() -> Finding:
    try:
        records = needed("seq2seq", "reversal")
    except Missing as missing:
        return missing.finding
    row = records["reversal"]
    greedy, beam = row["greedy"], row["beam"]
    text = f"reversal: greedy {greedy.format(3)}, beam {beam.format(3)} {seeds(greedy, beam)}"
    share = 100 * row["beam_not_worse"].mean
    text += f"; the beam at least as likely on {share:.1f} % of the sources"
    if records["numbers"].n:
        numbers = records["numbers"]
        text += (
            f"; number words: greedy {numbers['greedy'].format(3)}, beam "
            f"{numbers['beam'].format(3)}"
        )
    return Finding(
        beam.mean > 0.99 and beam.mean >= greedy.mean,
        text,
        stale_note(records, "reversal"),
    )


@claim(
    "C12",
    "Flash cards",
    "Eleven: decoder sub-layers, why √d_k, the mask's purpose, the base model's parameters, the "
    "schedule, why × √d_model, head width, why sinusoids, d_ff, cross- against self-attention, "
    "label smoothing.",
    published="eleven cards",
    check="eleven cards in the book, of this claim",
    evidence=(page("flashcards"),),
)
def _c12() -> Finding:
    import tomllib

    folder = _BOOK / "cards"
    if not folder.is_dir():
        return Finding(None, "", "The book is not beside this installation of the package.")
    cards = [
        card
        for path in sorted(folder.glob("*.toml"))
        for card in tomllib.loads(path.read_text(encoding="utf-8")).get("card", [])
    ]
    eleven = [card for card in cards if card.get("claim") == "C12"]
    if not eleven:
        return Finding(None, "", "The cards are not written yet.")
    return Finding(
        len(eleven) == 11 and all(card["front"] and card["back"] for card in eleven),
        f"{len(eleven)} cards, of {len(cards)} in all",
    )


@claim(
    "C13",
    "For a twelve-year-old",
    "The encoder–decoder in a paragraph that a child can read.",
    check="a passage of the chapter, marked as such",
    evidence=(chapter("11-encoder-decoder"),),
)
def _c13() -> Finding:
    import json

    path = _BOOK / "11-encoder-decoder.ipynb"
    if not path.is_file():
        return Finding(None, "", "The chapter is not beside this installation of the package.")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    passages = [text for text in texts if "twelve-year-old" in text]
    if not passages:
        return Finding(None, "", "The passage is not written yet.")
    words = sum(len(text.split()) for text in passages)
    return Finding(words > 60, f"a passage of {words} words")
