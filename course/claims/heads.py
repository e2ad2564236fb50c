"""Claims about attention as a layer and what stands round it: A27, A28, A30, A31, A33, A34."""

from __future__ import annotations

from typing import TYPE_CHECKING

from course.claims.base import Finding, chapter, claim, page, test

if TYPE_CHECKING:
    from torch import Tensor, nn

    from course.attention import CrossAttention, MultiHeadAttention


def copy_attention(
    ours: MultiHeadAttention | CrossAttention, theirs: nn.MultiheadAttention
) -> None:
    """Copy PyTorch's weights into a layer of the course (all biases there)."""
    import torch

    with torch.no_grad():
        weights = theirs.in_proj_weight.chunk(3)
        biases = theirs.in_proj_bias.chunk(3)
        for projection, weight, bias in zip(
            (ours.q_proj, ours.k_proj, ours.v_proj), weights, biases, strict=True
        ):
            projection.weight.copy_(weight)
            projection.bias.copy_(bias)
        ours.o_proj.weight.copy_(theirs.out_proj.weight)
        ours.o_proj.bias.copy_(theirs.out_proj.bias)


def gap(a: Tensor, b: Tensor) -> float:
    """The largest absolute difference."""
    return float((a - b).detach().abs().max())


@claim(
    "A27",
    "The hand-written attention is PyTorch's",
    "With copied weights, the course's attention equals nn.MultiheadAttention and "
    "F.scaled_dot_product_attention.",
    published="1.8e-7 at mean magnitude 0.159",
    check="under 1e-5 in float32, under 1e-12 in float64",
    evidence=(
        chapter("06-heads"),
        test("oracles/test_attention_oracles.py::test_multi_head_attention_is_pytorchs"),
        test("oracles/test_attention_oracles.py::test_function_is_pytorchs"),
    ),
)
def _a27() -> Finding:
    import torch
    import torch.nn.functional as F
    from torch import nn

    from course.attention import MultiHeadAttention, causal_mask, scaled_dot_product_attention

    found = {}
    for dtype in (torch.float32, torch.float64):
        theirs = nn.MultiheadAttention(64, 4, batch_first=True).to(dtype)
        ours = MultiHeadAttention(64, 4, 32, qkv_bias=True).to(dtype)
        copy_attention(ours, theirs)
        x = torch.randn(4, 32, 64, dtype=dtype)  # (B, T, C)
        mask = causal_mask(32)
        # PyTorch's module marks with True what is *forbidden*.
        expected, _ = theirs(x, x, x, attn_mask=~mask)
        out, _ = ours(x, return_weights=True)
        q, k, v = torch.randn(3, 4, 4, 32, 16, dtype=dtype)
        function = scaled_dot_product_attention(q, k, v, mask)
        assert isinstance(function, torch.Tensor)
        found[dtype] = (
            gap(out, expected),
            gap(function, F.scaled_dot_product_attention(q, k, v, mask)),
            float(expected.detach().abs().mean()),
        )
    single, double = found[torch.float32], found[torch.float64]
    return Finding(
        max(single[:2]) < 1e-5 and max(double[:2]) < 1e-12,
        f"{max(single[:2]):.1e} in float32 at mean magnitude {single[2]:.3f}, "
        f"{max(double[:2]):.1e} in float64",
    )


@claim(
    "A28",
    "Attention without positions is a symmetry",
    "Without a mask, permuting the tokens permutes the result: the average's blindness better "
    "disguised.  A causal mask restores some order, yet to one layer all orders of the earlier "
    "tokens look alike.",
    check="equal up to rounding; with the mask, the last row alone is",
    evidence=(
        chapter("06-heads"),
        chapter("08-positions"),
        test(
            "properties/test_attention_properties.py::"
            "test_unmasked_attention_is_permutation_equivariant"
        ),
        test(
            "properties/test_attention_properties.py::"
            "test_the_last_row_cannot_tell_orders_of_the_earlier_tokens_apart"
        ),
    ),
)
def _a28() -> Finding:
    import torch

    from course.attention import MultiHeadAttention

    x, order = torch.randn(2, 12, 32).double(), torch.randperm(12)
    free = MultiHeadAttention(32, 4, causal=False).double()
    permuted = gap(free(x[:, order]), free(x)[:, order])
    causal = MultiHeadAttention(32, 4, 12).double()
    earlier = torch.cat([torch.randperm(11), torch.tensor([11])])  # the last token stays last
    last = gap(causal(x[:, earlier])[:, -1], causal(x)[:, -1])
    others = gap(causal(x[:, earlier]), causal(x)[:, earlier])
    return Finding(
        permuted < 1e-12 and last < 1e-12 and others > 1e-3,
        f"permuted result differs by {permuted:.0e}; with the mask the last row by "
        f"{last:.0e}, the rows before it by {others:.1g}",
    )


@claim(
    "A30",
    "Where dropout goes",
    "On the weights after the softmax, on each sub-layer's output before it is added, on the "
    "embedding sum; off in evaluation (and often zero in large pretraining).",
    check="evaluating twice gives the same, training twice does not",
    evidence=(
        chapter("07-block"),
        test("models/test_gpt.py::test_evaluating_twice_gives_the_same"),
        test("test_block.py::test_dropout_stands_where_the_paper_puts_it"),
    ),
)
def _a30() -> Finding:
    import torch

    from course.models.gpt import GPT

    model = GPT(50, 16, 32, 4, 2, dropout=0.2)
    idx = torch.randint(50, (2, 16))
    in_training = gap(model.train()(idx), model(idx))
    in_evaluation = gap(model.eval()(idx), model(idx))
    places = sum(type(module).__name__ == "Dropout" for module in model.modules())
    return Finding(
        in_evaluation == 0 and in_training > 0,
        f"two passes differ by {in_training:.2g} in training and by {in_evaluation:g} "
        f"in evaluation ({places} dropout layers, and those inside attention)",
    )


@claim(
    "A31",
    "Encoder–decoder and decoder-only",
    "An encoder sees all of its text, a decoder what came before, cross-attention all of the "
    "source.  Decoder-only won because any text is training data and every task becomes one "
    "document; encoders survive where text is represented rather than continued.",
    check="who may attend to whom, read off gradients, is the mask said",
    evidence=(
        chapter("11-encoder-decoder"),
        page("intro"),
        test(
            "models/test_encoder_decoder.py::"
            "test_the_decoder_does_not_look_ahead_and_the_encoder_does"
        ),
    ),
)
def _a31() -> Finding:
    import torch

    from course.models.encoder_decoder import EncoderDecoder
    from course.models.gpt import GPT

    T = 5
    model = EncoderDecoder(20, 16, 2, 1, 32, context_length=T, dropout=0.0)
    gpt = GPT(20, T, 16, 2, 1)
    source, target = torch.randint(20, (1, T)), torch.randint(20, (1, T))

    def seen(call: object, edited: Tensor) -> Tensor:
        """Entry (t, s): whether row t of the result changes with token s; (T, T) boolean."""
        assert callable(call)
        base, columns = call(edited), []
        for s in range(T):
            changed = edited.clone()
            changed[0, s] = (changed[0, s] + 1) % 20
            columns.append((call(changed) - base)[0].abs().amax(-1) > 1e-7)
        return torch.stack(columns, dim=1)

    with torch.no_grad():
        encoder = seen(model.encode, source)
        decoder = seen(gpt, target)
        cross = seen(lambda s: model(s, target), source)
    causal = torch.ones(T, T, dtype=torch.bool).tril()
    right = bool(encoder.all() and (decoder == causal).all() and cross.all())
    return Finding(
        right,
        f"of {T} × {T} pairs an encoder connects {int(encoder.sum())}, a decoder "
        f"{int(decoder.sum())}, cross-attention {int(cross.sum())}",
    )


@claim(
    "A33",
    "Convolution, the other bias",
    "A small filter slid over the input sees a bounded field that grows by a few places a "
    "layer; it is left out of this course on purpose.",
    check="receptive field against depth, computed by gradients",
    evidence=(page("intro"),),
)
def _a33() -> Finding:
    import torch
    from torch import nn

    width, length = 3, 128
    fields = {}
    for depth in (1, 2, 4, 8):
        layers = [nn.Conv1d(1, 1, width, bias=False) for _ in range(depth)]
        x = torch.zeros(1, 1, length, requires_grad=True)
        y = x
        for layer in layers:
            nn.init.ones_(layer.weight)
            y = layer(nn.functional.pad(y, (width - 1, 0)))  # causal: pads the past alone
        (grad,) = torch.autograd.grad(y[0, 0, -1], x)
        fields[depth] = int((grad != 0).sum())
    layers_needed = -(-(length - 1) // (width - 1))
    return Finding(
        all(field == 1 + (width - 1) * depth for depth, field in fields.items()),
        "a causal filter of 3 sees "
        + ", ".join(
            f"{field} tokens after {depth} layer{'s' if depth > 1 else ''}"
            for depth, field in fields.items()
        )
        + f"; {length} tokens take {layers_needed} layers, attention one",
    )


@claim(
    "A34",
    "LayerNorm rather than BatchNorm",
    "No dependence on the batch, no running statistics, the same in training and inference, "
    "indifferent to length: all needed when one token is generated at a time.",
    check="each of the four; equal to nn.LayerNorm's formula",
    evidence=(
        chapter("07-block"),
        test("test_block.py::test_layer_norm_does_not_depend_on_the_batch_and_batch_norm_does"),
        test("test_block.py::test_layer_norm_keeps_no_running_statistics"),
        test("test_block.py::test_layer_norm_is_the_same_in_training_and_inference"),
        test("test_block.py::test_layer_norm_is_indifferent_to_length"),
        test("test_block.py::test_layer_norm_is_pytorchs"),
    ),
)
def _a34() -> Finding:
    import torch
    from torch import nn

    layer, batch = nn.LayerNorm(16), nn.BatchNorm1d(16)
    x, other = torch.randn(4, 10, 16), torch.randn(4, 10, 16) * 3
    both = torch.cat([x, other])
    flat = both.flatten(0, 1)
    properties = {
        "the batch": gap(layer(both)[:4], layer(x))
        < 1e-6
        < gap(batch(flat)[:40], batch(x.flatten(0, 1))),
        "running statistics": not list(layer.buffers()) and bool(list(batch.buffers())),
        "training and inference": gap(layer.train()(x), layer.eval()(x))
        == 0
        < gap(batch.train()(flat), batch.eval()(flat)),
        "length": gap(layer(x)[:, :3], layer(x[:, :3])) < 1e-6,
    }
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False)
    difference = gap(layer(x), (x - mean) / (variance + layer.eps).sqrt())
    failed = [name for name, holds in properties.items() if not holds]
    return Finding(
        not failed and difference < 1e-5,
        f"{len(properties) - len(failed)} of {len(properties)} properties; the formula "
        f"within {difference:.0e}",
        f"Fails: {', '.join(failed)}." if failed else "",
    )
