"""One training step: the course's model, two peers of the same shape, and the bare products.

Every side makes the same step: draw a batch, logits, cross-entropy, gradients, AdamW (fused). The
limit makes the step's matrix products alone, each into memory that is there already.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import torch
from torch import nn

from benchmarks.comparison import Comparison, Context, Maker
from benchmarks.measure import Side, summary
from benchmarks.models import EncoderLM, LogitsOnly, Shape, gpt2, ours
from benchmarks.results import Goal, Row
from course.parallel import keep_freed_memory
from course.training import Batches, Trainer

STEPS = 3  # in one timing
PEERS = ("GPT2LMHeadModel", "nn.TransformerEncoder")
KEPT = "GPT2LMHeadModel, freed memory kept"
# Which kinds of operation an operator's name says it is; the first that fits.
KINDS = {
    "matrix products": ("aten::addmm", "aten::mm", "aten::bmm", "aten::linear"),
    "attention kernel": ("flash_attention", "scaled_dot_product"),
    "softmax and loss": ("softmax", "nll_loss", "cross_entropy"),
    "LayerNorm": ("layer_norm",),
    "GELU": ("gelu",),
    "optimiser": ("adam", "Optimizer"),
}


def trainer(model: nn.Module, shape: Shape, batch: int, device: str) -> Trainer:
    """A trainer over random ids: what the ids say does not alter the work."""
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(shape.vocab_size, (100_000,), generator=generator)
    model = model.to(device).train()
    batches = Batches(tokens, shape.context_length, batch, device=device)
    return Trainer(model, batches, steps=1_000_000)


def build(name: str, shape: Shape) -> nn.Module:
    """A side's model, by name."""
    makers: dict[str, Callable[[], nn.Module]] = {
        "course": lambda: ours(shape),
        "GPT2LMHeadModel": lambda: LogitsOnly(gpt2(shape)),
        "nn.TransformerEncoder": lambda: EncoderLM(shape),
    }
    return makers[name]()


def step_side(
    name: str, shape: Shape, batch: int, device: str, bf16: bool, keep: bool = False
) -> Side:
    """Milliseconds of one step; ``keep``: freed memory is kept, as in the course's runs."""
    if keep:
        keep_freed_memory()  # a setting of the whole process
    return timed(trainer(build(name, shape), shape, batch, device).advance, device, bf16)


def timed(step: Callable[[], object], device: str, bf16: bool = False) -> Side:
    """A side that makes some steps and says how many milliseconds one took."""
    import time

    def wait() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    def side() -> float:
        wait()
        start = time.perf_counter()
        with torch.autocast(device, torch.bfloat16, enabled=bf16):
            for _ in range(STEPS):
                step()
        wait()
        return (time.perf_counter() - start) / STEPS * 1e3

    return side


def products_side(shape: Shape, batch: int, device: str, bf16: bool, keep: bool = False) -> Side:
    """The step's matrix products alone: one forward, two backward for each.

    Attention's products are whole T × T, as a kernel without a triangle would make them.
    """
    if keep:
        keep_freed_memory()
    dtype = torch.bfloat16 if bf16 else torch.float32
    C, T, H = shape.d_model, shape.context_length, shape.n_heads
    N, D = batch * T, shape.d_model // shape.n_heads
    flat = [(C, C)] * 4 + [(C, 4 * C), (4 * C, C)]
    made = []
    for into, out in [*flat * shape.n_layers, (C, shape.vocab_size)]:
        sizes = ((N, into), (into, out), (N, out), (N, into), (into, out))
        made.append([torch.randn(*size, device=device, dtype=dtype) for size in sizes])
    q, k, o = (torch.randn(batch * H, T, D, device=device, dtype=dtype) for _ in range(3))
    s = torch.randn(batch * H, T, T, device=device, dtype=dtype)

    def products() -> None:
        for x, w, y, dx, dw in made:
            torch.mm(x, w, out=y)
            torch.mm(y, w.T, out=dx)
            torch.mm(x.T, y, out=dw)
        for _ in range(shape.n_layers):
            torch.bmm(q, k.transpose(1, 2), out=s)  # scores
            torch.bmm(s, k, out=o)  # weights · v
            torch.bmm(o, k.transpose(1, 2), out=s)  # their gradients
            torch.bmm(s.transpose(1, 2), q, out=o)
            torch.bmm(s, k, out=o)
            torch.bmm(s.transpose(1, 2), q, out=o)

    return timed(products, device)


def profile(shape: Shape, batch: int, device: str, steps: int) -> dict[str, float]:
    """Where a step's time goes, in percent of it, by kind of operation (PyTorch's profiler)."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as torch_profile

    step = trainer(ours(shape), shape, batch, device).advance
    step()
    kinds = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (device == "cuda")
    with torch_profile(activities=kinds) as taken:
        for _ in range(steps):
            step()
    shares: dict[str, float] = dict.fromkeys([*KINDS, "the rest"], 0.0)
    for event in taken.key_averages():
        own = event.self_device_time_total if device == "cuda" else event.self_cpu_time_total
        kind = next((k for k, words in KINDS.items() if any(w in event.key for w in words)), None)
        shares[kind or "the rest"] += own
    total = sum(shares.values())
    return {f"% in {kind}": 100 * value / total for kind, value in shares.items()}


def row(context: Context, device: str, bf16: bool, title: str) -> Row:
    """All four sides on one device."""
    shape = Shape(**context.pick({}, {"vocab_size": 64, "context_length": 16, "d_model": 32}))
    batch = context.pick(64, 2)
    same = (shape, batch, device, bf16)
    keep = not context.quick  # quick sides share this process, which is not theirs to change
    makers: dict[str, Maker] = {
        "course": (step_side, ("course", *same, keep)),
        **{name: (step_side, (name, *same)) for name in PEERS},
        KEPT: (step_side, ("GPT2LMHeadModel", *same, keep)),
    }
    makers["the matrix products alone"] = (products_side, (*same, keep))
    with ExitStack() as stack:
        values = context.interleave(context.stations(stack, makers), warmup=2)
    context.say("profile")
    shares = profile(shape, batch, device, context.pick(5, 1))
    medians = {name: summary(v).median for name, v in values.items()}
    mine, limit = medians["course"], medians["the matrix products alone"]
    peer = min(PEERS, key=medians.__getitem__)
    largest = sorted(shares.items(), key=lambda item: -item[1])[:4]
    where = ", ".join(f"{share:.0f} {kind}" for kind, share in largest)
    goals = [
        Goal(
            f"speed against the faster peer ({peer})", medians[peer] / mine, at_least=1.15,
            unit="×",
            why=f"against GPT2LMHeadModel with memory kept it is {medians[KEPT] / mine:.2f} ×: "
            f"both spend their time in the same kernels; of ours: {where}",
        ),
        Goal(
            "speed against the limit", 100 * limit / mine, at_least=60, unit="%",
            why=f"what is not a matrix product bounds it; of a step: {where}",
        ),
    ]  # fmt: skip
    sizes = f"{batch} × {shape.context_length} tokens, one block of width {shape.d_model}"
    return Row(f"{title}, {sizes}", "ms a step", values, goals, shares)


def run(context: Context) -> list[Row]:
    rows = [row(context, "cpu", False, "CPU, float32")]
    if torch.cuda.is_available():
        rows.append(row(context, "cuda", False, "GPU, float32"))
        rows.append(row(context, "cuda", True, "GPU, bfloat16 (autocast)"))
    return rows


COMPARISON = Comparison(
    name="training-step",
    title="A training step",
    against="GPT2LMHeadModel and nn.TransformerEncoder of the same shape and weights; the bare "
    "matrix products are the limit",
    run=run,
    seconds=90,
    peers=("transformers",),
    rounds=15,
    notes=(
        "Each side in a process of its own; all make the same step on the same batches, with the "
        "same loss and the same optimiser.",
        "The course's runs ask the C library to keep freed memory (course.parallel."
        "keep_freed_memory); the peers run as PyTorch leaves them, and one of them also with that "
        "setting, which shows what the model alone makes of it.",
    ),
)
