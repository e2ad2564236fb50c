"""Claims of chapter 8: A21, A35, and C1 and C14, which refer to them."""

from __future__ import annotations

from course.claims.base import Finding, chapter, claim, record, test
from course.claims.recorded import Missing, needed, seeds, stale_note

_KINDS = ("learned", "sinusoidal", "rope", "alibi")


@claim(
    "A21",
    "Four ways to put position in",
    "Trained at 64 tokens, read at 64, 128, 256: the learned table wins at 64 and then meets a "
    "cliff, sinusoids do not extrapolate, RoPE degrades and goes on degrading, ALiBi improves.",
    published="ALiBi 44.95 → 42.49; learned best at 64",
    check="learned best at 64; at 256 ALiBi < RoPE < both others; ALiBi at 256 below ALiBi at 64",
    ours="one block in the common setting but for windows of 64; the learned table has 256 "
    "rows, of which 64 are trained",
    evidence=(chapter("08-positions"), record("positions")),
)
def _a21() -> Finding:
    try:
        records = needed("positions", *_KINDS)
    except Missing as missing:
        return missing.finding
    at = {(kind, T): records[kind][f"at_{T}"] for kind in _KINDS for T in (64, 128, 256)}
    checks = {
        "another encoding beats the learned table at 64": all(
            at["learned", 64].mean <= at[kind, 64].mean for kind in _KINDS
        ),
        "the order at 256 is another": at["alibi", 256].mean
        < at["rope", 256].mean
        < min(at["learned", 256].mean, at["sinusoidal", 256].mean),
        "ALiBi gets worse": at["alibi", 256].mean < at["alibi", 64].mean,
    }
    seen = [name for name, holds in checks.items() if not holds]
    text = "; ".join(
        f"{kind} " + " → ".join(at[kind, T].format() for T in (64, 128, 256)) for kind in _KINDS
    )
    return Finding(
        all(checks.values()),
        f"{text} {seeds(*at.values())}",
        " ".join(
            filter(None, (("; ".join(seen) + ".") if seen else "", stale_note(records, *_KINDS)))
        ),
    )


@claim(
    "A35",
    "Cannot represent, and never learned that range",
    "Two different failures.  A rotary model read past its training length has angles it never "
    "met; divide the positions and the angles are those of training, but neighbours stand closer "
    "than they ever did: without further training this gains next to nothing.",
    check="rescaled RoPE at 256 beside A21: rescaling changes what it reads",
    ours="rescaling by the ratio of the lengths, without further training",
    evidence=(
        chapter("08-positions"),
        record("positions"),
        test(
            "test_positions.py::test_rescaled_rope_gives_a_longer_text_the_angles_of_a_shorter_one"
        ),
    ),
)
def _a35() -> Finding:
    try:
        records = needed("positions", "rope")
    except Missing as missing:
        return missing.finding
    rope = records["rope"]
    plain, rescaled = rope["at_256"], rope["at_256_rescaled_4"]
    text = (
        f"at 256: {plain.format()} as trained, {rescaled.format()} with positions quartered; "
        f"at 128: {rope['at_128'].format()} and {rope['at_128_rescaled_2'].format()} halved "
        f"{seeds(plain)}"
    )
    if rescaled.mean < plain.mean:
        return Finding(True, text, stale_note(records, "rope"))
    return Finding(
        False,
        text,
        "Rescaling alone, without further training, reads no better here: "
        "it puts the angles in range and squeezes distances that the model "
        "learned at full size. " + stale_note(records, "rope"),
    )


@claim(
    "C1",
    "Sinusoidal encoding",
    "sin and cos of pos / 10000^(2i/d): PE(pos + k) is a linear function of PE(pos), a rotation "
    "that knows k alone.",
    check="the rotation constructed, and right at every position",
    evidence=(
        chapter("08-positions"),
        chapter("11-encoder-decoder"),
        test(
            "properties/test_attention_properties.py::"
            "test_a_sinusoid_moves_by_a_rotation_that_knows_only_the_step"
        ),
    ),
)
def _c1() -> Finding:
    import torch

    from course.positions import sinusoidal

    d, k = 64, 17
    encoding = sinusoidal(200 + k, d).double()  # (T, C): sines even, cosines odd
    rotation = torch.zeros(d, d).double()
    for i in range(0, d, 2):
        angle = torch.tensor(k / 10000 ** (i / d)).double()
        rotation[i, i] = rotation[i + 1, i + 1] = angle.cos()
        rotation[i, i + 1], rotation[i + 1, i] = angle.sin(), -angle.sin()
    difference = float((encoding[:200] @ rotation.T - encoding[k:]).abs().max())
    return Finding(
        difference < 1e-5, f"PE(pos + {k}) = R PE(pos) within {difference:.0e} at 200 positions"
    )


@claim(
    "C14",
    "“Sinusoids extrapolate”",
    "The 2017 paper hoped that sinusoidal encodings would extrapolate to longer sequences; A21 "
    "measures that they do not.",
    published="hoped for in the paper",
    check="sinusoids at 256 clearly worse than at the length of training",
    corrects=True,
    evidence=(chapter("08-positions"), record("positions")),
)
def _c14() -> Finding:
    try:
        records = needed("positions", "sinusoidal")
    except Missing as missing:
        return missing.finding
    row = records["sinusoidal"]
    near, far = row["at_64"], row["at_256"]
    return Finding(
        far.mean > 1.05 * near.mean,
        f"{near.format()} at 64, {far.format()} at 256 {seeds(near, far)}",
        "They can be computed for any position, and the model has not learned to read "
        "them there (see A21). " + stale_note(records, "sinusoidal"),
    )
