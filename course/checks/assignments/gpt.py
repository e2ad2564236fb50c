"""``sample_next``, ``generate`` and ``count_parameters``: what runs a GPT once it is trained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course.checks.counterexample import CounterExample
from course.checks.engine import Exercise, Failure, Finding, Trial, agree
from course.checks.subject import Gen, Ref

SAMPLE, GENERATE, COUNT = "sample_next", "generate", "count_parameters"
DRAWS = 20_000
SIGMAS = 6.5  # a right answer strays further once in ten thousand million cells

MISTAKES = {
    "temperature-multiplied": "You multiply the logits by the temperature: divide, so that a low "
    "temperature sharpens.",
    "temperature-ignored": "The temperature has no effect: divide the logits by it before the "
    "softmax.",
    "temperature-on-probabilities": "You divide the probabilities, not the logits, by the "
    "temperature.",
    "always-greedy": "You always take the largest: draw, with torch.multinomial, unless the "
    "temperature is 0.",
    "uniform-draw": "You draw the allowed tokens with equal chance: draw by their probabilities.",
    "softmax-twice": "You take a softmax of the softmax: one is enough.",
    "zero-temperature": "Temperature 0 fails or gives NaN (a division by 0): it means argmax.",
    "zero-temperature-random": "Temperature 0 does not give the argmax.",
    "top-k-one-more": "You keep k + 1 tokens: the k-th largest is the last one kept.",
    "top-k-one-less": "You keep k − 1 tokens: keep those greater than OR EQUAL to the k-th "
    "largest.",
    "top-k-ignored": "top_k has no effect.",
    "top-k-lowest": "You keep the k SMALLEST logits.",
    "top-k-zeroed": "You set the logits of the rest to 0: exp(0) = 1 is a weight; use −∞.",
    "top-k-too-large": "top_k above the vocabulary's size fails: then all tokens are kept.",
    "top-p-too-few": "You leave out the token that makes the mass reach p: keep the smallest set "
    "whose "
    "mass is AT LEAST p.",
    "top-p-too-many": "You keep one token more than needed to reach p.",
    "top-p-each": "You keep each token whose own probability is at least p (or 1 − p): top-p is "
    "about "
    "the mass of the largest ones together.",
    "top-p-ignored": "top_p has no effect.",
    "top-p-unsorted": "You add up the probabilities in the vocabulary's order: sort them, largest "
    "first, before the cumulative sum.",
    "top-p-not-mapped-back": "You find the set in sorted order and apply it in the vocabulary's "
    "order: "
    "scatter it back with the sort's indices.",
    "top-p-lowest": "You sort ascending: the smallest tokens are kept and the largest cut.",
    "top-p-before-temperature": "You find the top-p set before dividing by the temperature: divide "
    "first.",
    "ranks": "You return places in the sorted order, not token numbers: map them back with the "
    "sort's "
    "indices.",
    "keeps-dimension": "You return shape (B, 1): one number a row, shape (B,), so squeeze(-1).",
    "one-for-all": "All rows get the same token: each row of the batch has its own draw.",
    "first-row-only": "You look at the first row only.",
    "generator-ignored": "The generator has no effect: pass it on to torch.multinomial.",
    "edits-logits": "You edit the logits in place: the caller still needs them.",
    "not-a-token": "You return probabilities or the like: return token numbers.",
    "wrong-position": "You take the logits of the wrong position: the next token follows from the "
    "LAST "
    "position's, logits[:, -1].",
    "keeps-the-first": "You crop to the FIRST tokens of the text: the model needs the last "
    "context_length ones, idx[:, -context_length:].",
    "no-crop": "You give the model more tokens than context_length: crop to the last ones.",
    "crops-too-much": "You crop to fewer tokens than context_length.",
    "last-token-only": "You give the model only the newest token: it needs the context.",
    "only-new-tokens": "You return only the new tokens: return the prompt and what follows it.",
    "returns-the-crop": "You return the cropped text: crop only what the model reads.",
    "one-too-many": "You append one token too many.",
    "one-too-few": "You append one token too few.",
    "wrong-count": "max_new_tokens is the number of NEW tokens, whatever the prompt's length.",
    "generate-temperature-ignored": "generate does not hand temperature on.",
    "generate-top-k-ignored": "generate does not hand top_k on.",
    "leaves-mode": "You leave the model in another mode than you found it in: remember "
    "model.training "
    "and put it back.",
    "edits-prompt": "You edit the prompt in place: make a new tensor.",
    "same-text-for-all": "Every row gets the same continuation: rows are separate texts.",
    "count-untied": "You count the output layer as well: it is tied to the token embedding, "
    "counted "
    "once.",
    "count-no-positions": "The position embedding is missing: context_length · d_model.",
    "count-no-final-norm": "The norm after the last block is missing: 2 · d_model.",
    "count-no-biases": "The biases are missing: all linear layers and norms have them.",
    "count-no-qkv-biases": "The biases of queries, keys and values are missing.",
    "count-no-norms": "The two norms of each block are missing: 4 · d_model a block.",
    "count-one-norm": "Each block has two norms, 4 · d_model together.",
    "count-norm-no-bias": "A norm has a gain AND a bias: 2 · d_model each.",
    "count-no-output-projection": "The attention's output projection is missing: it has FOUR d × d "
    "matrices.",
    "count-mlp-one-matrix": "The MLP has two matrices, 8 · d_model² together.",
    "count-mlp-width": "The MLP is 4 · d_model wide.",
    "count-one-block": "You count one block: multiply by n_layers.",
    "count-no-embedding": "The token embedding is missing: vocab_size · d_model.",
    "count-output-bias": "You count a bias of the output layer: tied to the embedding, it has "
    "none.",
    "count-only-blocks": "You count the blocks only: embeddings and the final norm belong to it.",
}

gpt = Exercise("gpt", "Sampling, generating, counting", (SAMPLE, GENERATE, COUNT), MISTAKES)


# -------------------------------------------------------------------------------------- sample_next


def distribution(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    *,
    more_k: int = 0,
    more_p: int = 0,
) -> Tensor:
    """The right distribution over tokens (or with so many more or fewer kept). (V,)"""
    s = logits.double() / temperature
    if top_k is not None:
        kept = max(1, min(top_k + more_k, len(s)))
        s = s.masked_fill(s < s.sort(descending=True).values[kept - 1], float("-inf"))
    if top_p is not None:
        p, order = s.softmax(0).sort(descending=True)
        n = int((p.cumsum(0) - p < top_p).sum()) + more_p
        hidden = torch.ones(len(s), dtype=torch.bool)
        hidden[order[: max(1, n)]] = False
        s = s.masked_fill(hidden, float("-inf"))
    return s.softmax(0)


def _frequencies(t: Trial, logits: Tensor, options: dict[str, Any]) -> Tensor:
    """How often each token was drawn. (V,)"""
    rows = logits.expand(DRAWS, -1).clone()
    reply = t.subject.ask(
        [
            {
                "op": "call",
                "on": SAMPLE,
                "args": [rows],
                "kwargs": options,
                "seed": t.integer(0, 10**9),
            }
        ]
    )[0]
    out = t.tensor(
        reply["value"], (DRAWS,), f"for logits of shape ({DRAWS}, {len(logits)}) the result"
    )
    t.expect(
        not out.is_floating_point() and out.dtype != torch.bool,
        f"The result should hold token numbers; yours is {out.dtype}.",
    )
    t.expect(bool(((out >= 0) & (out < len(logits))).all()), "Some results are no token numbers.")
    return torch.bincount(out.long(), minlength=len(logits)).double() / DRAWS


def drawn_from(seen: Tensor, p: Tensor) -> bool:
    """Whether frequencies over `DRAWS` draws fit a distribution; what has no chance never comes."""
    spread = (p * (1 - p) / DRAWS).sqrt()
    return bool((((seen - p).abs() <= SIGMAS * spread + 1 / DRAWS) & ((p > 0) | (seen == 0))).all())


def _expect_drawn(t: Trial, logits: Tensor, said: str, **options: Any) -> None:
    seen, p = _frequencies(t, logits, options), distribution(logits, **options)
    if not drawn_from(seen, p):
        shown = CounterExample(
            f"sample_next({said}): {DRAWS} draws",
            [("logits", logits), ("yours", seen), ("expected", p)],
        )
        extra = ((p == 0) & (seen > 0)).nonzero().flatten().tolist()
        why = f" Token {extra[0]} should never be drawn." if extra else ""
        raise Failure(
            f"With {said} the frequencies are wrong: for the likeliest token "
            f"{float(seen[p.argmax()]):.3f}, expected {float(p.max()):.3f}.{why}",
            shown,
        )


def _logits(t: Trial, V: int = 7) -> Tensor:
    """Logits in random order whose probabilities are well apart."""
    steps = torch.tensor([0.0, 0.7, 1.3, 1.7, 2.5, 2.9, 3.4, 3.9, 4.3][:V])
    return (steps + t.normal(V) * 0.02)[torch.randperm(V, generator=t.rng)]


@gpt.prop(
    "sample-distribution",
    3,
    "Tokens come with the frequencies of softmax(logits / temperature)",
    SAMPLE,
)
def _sample_distribution(t: Trial) -> None:
    for temperature in (1.0, 0.6, 2.0):
        _expect_drawn(t, _logits(t), f"temperature={temperature}", temperature=temperature)


@gpt.prop("sample-top-k", 2, "top_k keeps exactly the k largest, in their proportions", SAMPLE)
def _sample_top_k(t: Trial) -> None:
    for k in (1, 3, 7, 50):
        _expect_drawn(t, _logits(t), f"top_k={k}", top_k=k)
    _expect_drawn(t, _logits(t), "temperature=1.5, top_k=4", temperature=1.5, top_k=4)


@gpt.prop(
    "sample-top-p",
    2,
    "top_p keeps the smallest set of the largest whose mass is at least p",
    SAMPLE,
)
def _sample_top_p(t: Trial) -> None:
    for p, temperature in ((0.9, 1.0), (0.55, 1.0), (0.05, 1.0), (0.7, 2.0)):
        _expect_drawn(
            t,
            _clear(t, p, temperature),
            f"temperature={temperature}, top_p={p}",
            top_p=p,
            temperature=temperature,
        )
    _expect_drawn(t, _logits(t), "top_p=1.0", top_p=1.0)


def _clear(t: Trial, p: float, temperature: float) -> Tensor:
    """Logits for which no mass is so near p that rounding could decide."""
    for _ in range(50):
        logits = _logits(t)
        mass = (logits.double() / temperature).softmax(0).sort(descending=True).values.cumsum(0)
        if float((mass - p).abs().min()) > 0.01:
            return logits
    return logits


@gpt.prop(
    "sample-greedy",
    1,
    "Temperature 0 is argmax, row by row; the result is (B,) whole numbers",
    SAMPLE,
)
def _sample_greedy(t: Trial) -> None:
    B, V = t.distinct(2, 3, 9)
    logits = t.normal(B, V, sd=3.0)
    for options in ({"temperature": 0.0}, {"temperature": 0}, {"top_k": 1}):
        out = t.subject.call(SAMPLE, logits, **options)
        t.tensor(out, (B,), f"for logits of shape ({B}, {V}) the result")
        said = ", ".join(f"{k}={v}" for k, v in options.items())
        t.expect(
            torch.equal(out.long(), logits.argmax(-1)),
            f"With {said} the result should be "
            f"{logits.argmax(-1).tolist()}; yours is {out.tolist()}.",
        )


@gpt.prop(
    "sample-generator", 1, "Draws follow the generator given, and rows are drawn separately", SAMPLE
)
def _sample_generator(t: Trial) -> None:
    logits = t.normal(1, 20).expand(200, 20).clone() * 0.3
    seed = t.integer(0, 10**6)
    ops = [
        {"op": "call", "on": SAMPLE, "args": [logits], "kwargs": {"generator": Gen(g)}, "seed": s}
        for g, s in ((seed, 1), (seed, 2), (seed + 1, 1))
    ]
    a, b, c = (t.tensor(r["value"], (200,)) for r in t.subject.ask(ops))
    t.expect(
        torch.equal(a, b),
        "Two generators with the same seed give two results: the generator is not used.",
    )
    t.expect(not torch.equal(a, c), "Generators with different seeds give the same 200 draws.")
    t.expect(len(set(a.tolist())) > 3, "All rows got the same token: each row has its own draw.")


@gpt.prop("sample-clean", 1, "The logits are not edited", SAMPLE)
def _sample_clean(t: Trial) -> None:
    logits = t.normal(4, 6)
    for options in ({}, {"temperature": 0.5}, {"top_k": 2}, {"top_p": 0.5}):
        op = {"op": "call", "on": SAMPLE, "args": [logits], "kwargs": options, "pure": True}
        t.expect(
            not t.subject.ask([op])[0]["changed"],
            f"With {options or 'defaults'} the logits are edited in place.",
        )


def _top_k_zeroed(z: Tensor, T: float, k: int | None, p: float | None) -> Tensor:
    s = z.double() / T
    if k is None:
        return distribution(z, T, k, p)
    return torch.where(s < s.sort(descending=True).values[min(k, len(s)) - 1], 0.0, s).softmax(0)


def _unsorted(z: Tensor, T: float, k: int | None, p: float | None) -> Tensor:
    if p is None:
        return distribution(z, T, k)
    q = (z.double() / T).softmax(0)
    kept = q * (q.cumsum(0) - q < p)
    return kept / kept.sum()


def _lowest(z: Tensor, T: float, k: int | None, p: float | None) -> Tensor:
    if p is None:
        return distribution(z, T, k)
    q, order = (z.double() / T).softmax(0).sort()
    kept = torch.zeros_like(q)
    kept[order] = q * (q.cumsum(0) - q < p)
    return kept / kept.sum()


def _not_mapped(z: Tensor, T: float, k: int | None, p: float | None) -> Tensor:
    if p is None:
        return distribution(z, T, k)
    n = int((distribution(z, T, k, p) > 0).sum())
    kept = distribution(z, T, k) * (torch.arange(len(z)) < n)
    return kept / kept.sum()


def _each(z: Tensor, T: float, k: int | None, p: float | None, low: bool) -> Tensor:
    if p is None:
        return distribution(z, T, k)
    q = (z.double() / T).softmax(0)
    kept = q * (q >= (1 - p if low else p))
    return kept / kept.sum()


def _before(z: Tensor, T: float, k: int | None, p: float | None) -> Tensor:
    kept = distribution(z, 1.0, k, p) > 0
    return (z.double() / T).masked_fill(~kept, float("-inf")).softmax(0)


def _uniform(z: Tensor, T: float, k: int | None, p: float | None) -> Tensor:
    kept = (distribution(z, T, k, p) > 0).double()
    return kept / kept.sum()


def _one_hot(z: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(z.argmax(), len(z)).double()


Draw = Callable[[Tensor, float, int | None, float | None], Tensor]
DRAWN: dict[str, Draw] = {
    "temperature-multiplied": lambda z, T, k, p: distribution(z, 1 / T, k, p),
    "temperature-ignored": lambda z, T, k, p: distribution(z, 1.0, k, p),
    "temperature-on-probabilities": lambda z, T, k, p: distribution(z.double().softmax(0), T, k, p),
    "always-greedy": lambda z, T, k, p: _one_hot(z),
    "uniform-draw": _uniform,
    "softmax-twice": lambda z, T, k, p: distribution(z, T, k, p).softmax(0),
    "softmax-twice#1": lambda z, T, k, p: distribution((z.double() / T).softmax(0), 1.0, k, p),
    "top-k-one-more": lambda z, T, k, p: distribution(z, T, k, p, more_k=1),
    "top-k-one-less": lambda z, T, k, p: distribution(z, T, k, p, more_k=-1),
    "top-k-ignored": lambda z, T, k, p: distribution(z, T, None, p),
    "top-k-lowest": lambda z, T, k, p: (
        distribution(z, T, None, p)
        if k is None
        else (z.double() / T)
        .masked_fill(z > z.sort().values[min(k, len(z)) - 1], float("-inf"))
        .softmax(0)
    ),
    "top-k-zeroed": _top_k_zeroed,
    "top-p-too-few": lambda z, T, k, p: distribution(z, T, k, p, more_p=-1),
    "top-p-too-many": lambda z, T, k, p: distribution(z, T, k, p, more_p=1),
    "top-p-ignored": lambda z, T, k, p: distribution(z, T, k, None),
    "top-p-each": lambda z, T, k, p: _each(z, T, k, p, True),
    "top-p-each#1": lambda z, T, k, p: _each(z, T, k, p, False),
    "top-p-unsorted": _unsorted,
    "top-p-lowest": _lowest,
    "top-p-not-mapped-back": lambda z, T, k, p: _not_mapped(z, T, k, p),
    "top-p-before-temperature": _before,
    "ranks": lambda z, T, k, p: distribution(z, T, k, p).sort(descending=True).values,
}


@gpt.diagnosis(SAMPLE)
def _sample_faults(t: Trial, failed: set[str]) -> list[Finding]:
    found = _sample_plain_faults(t)
    if found:
        return [gpt.finding(n) for n in found]
    cases = [
        (1.0, None, None),
        (0.5, None, None),
        (1.0, 3, None),
        (1.8, None, 0.8),
        (1.0, None, 0.35),
    ]
    seen = []
    for T, k, p in cases:
        logits = _clear(t, p or 2.0, T)
        options = {"temperature": T, "top_k": k, "top_p": p}
        try:
            seen.append((logits, T, k, p, _frequencies(t, logits, options)))
        except Exception:  # one case that raises or has a wrong shape; the others tell
            continue
    for name, draw in DRAWN.items():
        expected = [(draw(lg, T, k, p), distribution(lg, T, k, p), f) for lg, T, k, p, f in seen]
        differs = any(not agree(e, r, 1e-3) for e, r, _ in expected)
        if differs and all(drawn_from(f, e) for e, _, f in expected):
            return [gpt.finding(name.split("#")[0])]
    return []


def _sample_plain_faults(t: Trial) -> list[str]:
    logits = t.normal(5, 6)
    replies = t.subject.run(
        [
            {"op": "call", "on": SAMPLE, "args": [logits], "kwargs": o, "pure": True}
            for o in (
                {},
                {"temperature": 0.0},
                {"top_k": 50},
                {"temperature": 0.5},
                {"top_k": 2},
                {"top_p": 0.5},
            )
        ]
    )
    plain, zero, large, *_ = replies
    found = []
    out = plain.get("value")
    if any(r.get("changed") for r in replies):
        found.append("edits-logits")
    if isinstance(out, Tensor):
        if out.shape == (5, 1):
            found.append("keeps-dimension")
        elif out.is_floating_point():
            found.append("not-a-token")
        elif out.shape in ((), (1,)):
            found.append("first-row-only")
        else:
            got = zero.get("value")
            if "error" in zero or not isinstance(got, Tensor):
                found.append("zero-temperature")
            elif not torch.equal(got.long(), logits.argmax(-1)):
                found.append("zero-temperature-random")
            if "error" in large:
                found.append("top-k-too-large")
    if found:
        return found
    flat = torch.zeros(300, 20)
    ops = [
        {"op": "call", "on": SAMPLE, "args": [flat], "kwargs": {"generator": Gen(g)}, "seed": s}
        for g, s in ((3, 1), (3, 2), (4, 3), (5, 4), (6, 5))
    ]
    outs: list[Any] = [r.get("value") for r in t.subject.run(ops)]
    if all(isinstance(o, Tensor) and o.shape == (300,) for o in outs):
        one_each = all(len(set(o.tolist())) == 1 for o in outs)
        if one_each and not all(torch.equal(o, outs[0]) for o in outs):
            found.append("one-for-all")
        elif not one_each and not torch.equal(outs[0], outs[1]):
            found.append("generator-ignored")
    return found


# ----------------------------------------------------------------------------------------- generate


def _mixed(table: Tensor, decay: float, idx: Tensor) -> Tensor:
    """What `ProbeModel` returns for ``idx``, all positions. (B, T, V)"""
    T = idx.shape[1]
    gap = torch.arange(T)[:, None] - torch.arange(T)[None, :]
    mix = torch.where(gap >= 0, decay ** gap.clamp(min=0).to(table.dtype), 0.0).to(table.dtype)
    return mix @ table[idx]


Read = Callable[[Tensor, int], Tensor]


def continued(
    table: Tensor,
    decay: float,
    idx: Tensor,
    n: int,
    context: int,
    *,
    crop: Read = lambda x, c: x[:, -c:],
    at: int = -1,
) -> Tensor:
    """The greedy continuation, or one with a fault in cropping or position."""
    for _ in range(n):
        logits = _mixed(table, decay, crop(idx, context))
        idx = torch.cat([idx, logits[:, at].argmax(-1, keepdim=True)], 1)
    return idx


def _world(t: Trial, B: int, T: int, V: int = 9) -> tuple[Tensor, float, Tensor]:
    table = t.normal(V, V, sd=2.0)
    return table, 0.8, torch.randint(0, V, (B, T), generator=t.rng)


def _run(
    t: Trial,
    table: Tensor,
    decay: float,
    idx: Tensor,
    n: int,
    context: int,
    *,
    limit: int | None = None,
    train: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Generate with a probe model; the reply, with the model's modes and calls."""
    name = t.new_name()
    replies = t.subject.run(
        [
            {"op": "model", "as": name, "table": table, "decay": decay, "max_length": limit},
            {"op": "mode", "on": name, "train": train},
            {
                "op": "call",
                "on": GENERATE,
                "args": [Ref(name), idx, n, context],
                "kwargs": options,
                "pure": False,
                "seed": t.integer(0, 10**9),
            },
            {"op": "mode", "on": name},
            {"op": "calls", "on": name},
        ]
    )
    return {**replies[2], "modes": replies[3]["value"], "calls": replies[4]["value"]}


def _text(t: Trial, reply: dict[str, Any]) -> Any:
    if "error" in reply:
        e = reply["error"]
        line = f" (line {e['line']} of your code)" if e.get("line") else ""
        raise Failure(f"Your code raised {e['type']}: {e['message']}{line}")
    return reply["value"]


@gpt.prop(
    "generate-greedy",
    3,
    "At temperature 0 the continuation is the argmax of the last position, step by step",
    GENERATE,
)
def _generate_greedy(t: Trial) -> None:
    for B, T, n in ((2, 3, 5), (1, 1, 4), (3, 4, 1)):
        table, decay, idx = _world(t, B, T)
        out = t.tensor(
            _text(t, _run(t, table, decay, idx, n, 64, temperature=0.0)),
            (B, T + n),
            f"for a prompt of shape ({B}, {T}) and {n} new tokens the result",
        )
        t.expect(torch.equal(out[:, :T], idx), "The prompt is not kept at the start of the result.")
        right = continued(table, decay, idx, n, 64)
        if not torch.equal(out, right):
            raise Failure(
                f"The continuation of {idx[0].tolist()} should be {right[0, T:].tolist()}; "
                f"yours is {out[0, T:].tolist()}."
            )


@gpt.prop(
    "generate-crop", 2, "The model reads the last context_length tokens, and never more", GENERATE
)
def _generate_crop(t: Trial) -> None:
    table, decay, idx = _world(t, 2, 6)
    reply = _run(t, table, decay, idx, 9, 4, limit=4, temperature=0.0)
    out = t.tensor(_text(t, reply), (2, 15), "with context_length = 4 and 6 + 9 tokens the result")
    t.expect(
        torch.equal(out, continued(table, decay, idx, 9, 4)),
        "With a text longer than "
        "context_length = 4 the continuation is wrong: the model has to read the LAST 4 tokens.",
    )
    lengths = [c["idx"].shape[1] for c in reply["calls"]]
    t.expect(
        lengths == [4] * 9,
        f"With context_length = 4 the model should read 4 tokens nine times; it read {lengths}.",
    )


@gpt.prop("generate-sampling", 1, "temperature and top_k reach the draw", GENERATE)
def _generate_sampling(t: Trial) -> None:
    logits = _logits(t)
    table = logits[None].expand(len(logits), -1).clone()
    for options in ({"temperature": 0.6}, {"top_k": 2}, {}):
        idx = torch.zeros(DRAWS, 1, dtype=torch.int64)
        out = t.tensor(_text(t, _run(t, table, 0.0, idx, 1, 8, **options)), (DRAWS, 2))
        seen = torch.bincount(out[:, 1], minlength=len(logits)).double() / DRAWS
        said = ", ".join(f"{k}={v}" for k, v in options.items()) or "defaults"
        t.expect(
            drawn_from(seen, distribution(logits, **options)),
            f"With {said} the first new token does not come with the right frequencies.",
        )


@gpt.prop(
    "generate-mode",
    1,
    "The model is left in the mode it was found in, the prompt unedited; 0 new "
    "tokens give the prompt",
    GENERATE,
)
def _generate_mode(t: Trial) -> None:
    for train in (True, False):
        table, decay, idx = _world(t, 2, 3)
        reply = _run(t, table, decay, idx, 3, 8, train=train)
        _text(t, reply)
        t.expect(
            reply["modes"][0] is train,
            "The model was in "
            f"{'training' if train else 'evaluation'} mode before and is in "
            f"{'evaluation' if train else 'training'} mode after.",
        )
    same = t.tensor(
        _text(t, _run(t, table, decay, idx, 0, 8)), idx.shape, "with 0 new tokens the result"
    )
    t.expect(torch.equal(same, idx), "With 0 new tokens the result should be the prompt.")
    name = t.new_name()
    changed = t.subject.ask(
        [
            {"op": "model", "as": name, "table": table, "decay": decay, "max_length": None},
            {"op": "call", "on": GENERATE, "args": [Ref(name), idx, 2, 8], "pure": True},
        ]
    )[1]["changed"]
    t.expect(not changed, "The prompt is edited in place.")


@gpt.diagnosis(GENERATE)
def _generate_faults(t: Trial, failed: set[str]) -> list[Finding]:
    table, decay, idx = _world(t, 3, 6)
    free = _run(t, table, decay, idx, 7, 4, temperature=0.0)
    if "error" in free:
        return []
    out = free["value"]
    strict = _run(t, table, decay, idx, 7, 4, limit=4, temperature=0.0)
    right = continued(table, decay, idx, 7, 4)
    names: dict[str, Tensor] = {
        "no-crop": continued(table, decay, idx, 7, 4, crop=lambda x, c: x),
        "keeps-the-first": continued(table, decay, idx, 7, 4, crop=lambda x, c: x[:, :c]),
        "crops-too-much": continued(table, decay, idx, 7, 4, crop=lambda x, c: x[:, -c + 1 :]),
        "last-token-only": continued(table, decay, idx, 7, 4, crop=lambda x, c: x[:, -1:]),
        "wrong-position": continued(table, decay, idx, 7, 4, at=0),
        "wrong-position#1": continued(table, decay, idx, 7, 4, at=-2),
        "only-new-tokens": right[:, 6:],
        "one-too-many": continued(table, decay, idx, 8, 4),
        "one-too-few": right[:, :-1],
        "returns-the-crop": right[:, -4:],
        "returns-the-crop#1": right[:, -5:],
        "wrong-count": right[:, :7],
        "same-text-for-all": torch.cat([idx, right[:1, 6:].expand(3, -1)], 1),
    }
    for name, text in names.items():
        if isinstance(out, Tensor) and out.shape == text.shape and torch.equal(out, text):
            if name == "no-crop" and "error" not in strict:
                continue
            return [gpt.finding(name.split("#")[0])]
    if not isinstance(out, Tensor):
        return []
    found = []
    if not torch.equal(out, right):
        found.append("generate-temperature-ignored")
    logits = _logits(t)
    flat = logits[None].expand(len(logits), -1).clone()
    start = torch.zeros(DRAWS, 1, dtype=torch.int64)
    two = _run(t, flat, 0.0, start, 1, 8, top_k=2).get("value")
    cool = _run(t, flat, 0.0, start, 1, 8, temperature=0.5).get("value")
    if isinstance(two, Tensor) and two.shape == (DRAWS, 2) and len(two[:, 1].unique()) > 2:
        found.append("generate-top-k-ignored")
    if isinstance(cool, Tensor) and cool.shape == (DRAWS, 2):
        seen = torch.bincount(cool[:, 1], minlength=len(logits)).double() / DRAWS
        if drawn_from(seen, distribution(logits)):
            found.append("generate-temperature-ignored")
        elif len(cool[:, 1].unique()) == 1:
            found.append("always-greedy")
    if "generate-mode" in failed and not found:
        modes = [_run(t, table, decay, idx, 2, 8, train=m)["modes"][0] == m for m in (True, False)]
        found.append("edits-prompt" if all(modes) else "leaves-mode")
    return [gpt.finding(n) for n in dict.fromkeys(found)]


# --------------------------------------------------------------------------------- count_parameters


def count(d: int, L: int, V: int, n: int, **o: int) -> int:
    """GPT-2's parameters; each option changes one part of the count."""
    attention = o.get("matrices", 4) * d * d
    attention += (o.get("attention_biases", 4)) * d
    width = o.get("width", 4)
    mlp = o.get("mlp_matrices", 2) * width * d * d + o.get("biases", 1) * (width * d + d)
    norms = o.get("norms", 2) * o.get("norm", 2) * d
    blocks = o.get("blocks", L) * (attention + mlp + norms)
    ends = (
        o.get("tokens", 1) * V * d
        + o.get("positions", 1) * n * d
        + o.get("final", 1) * o.get("norm", 2) * d
    )
    return blocks + ends + o.get("output", 0) * V * d + o.get("output_bias", 0) * V


COUNTS: dict[str, dict[str, int]] = {
    # Two norms and the four biases of the attention are equally many: the likelier comes first.
    "count-no-norms": {"norms": 0},
    "count-no-norms#1": {"norms": 0, "final": 0},
    "count-untied": {"output": 1},
    "count-untied#1": {"output": 1, "output_bias": 1},
    "count-output-bias": {"output_bias": 1},
    "count-no-positions": {"positions": 0},
    "count-no-final-norm": {"final": 0},
    "count-no-biases": {"biases": 0, "attention_biases": 0, "norm": 1},
    "count-no-biases#1": {"biases": 0, "attention_biases": 0},
    "count-no-biases#2": {"biases": 0},
    "count-no-qkv-biases": {"attention_biases": 1},
    "count-no-qkv-biases#1": {"attention_biases": 0},
    "count-one-norm": {"norms": 1},
    "count-norm-no-bias": {"norm": 1},
    "count-no-output-projection": {"matrices": 3, "attention_biases": 3},
    "count-no-output-projection#1": {"matrices": 3},
    "count-mlp-one-matrix": {"mlp_matrices": 1},
    "count-mlp-width": {"width": 2},
    "count-mlp-width#1": {"width": 3},
    "count-one-block": {"blocks": 1},
    "count-no-embedding": {"tokens": 0},
    "count-only-blocks": {"tokens": 0, "positions": 0, "final": 0},
}
GPT2 = {"small": (768, 12, 50257, 1024), "medium": (1024, 24, 50257, 1024)}


def _counted(t: Trial, case: tuple[int, ...]) -> int:
    out = t.subject.call(COUNT, *case)
    if isinstance(out, Tensor) and out.numel() == 1:
        out = out.item()
    t.expect(
        isinstance(out, int | float) and not isinstance(out, bool) and float(out) == int(out),
        f"count_parameters{case} should be a whole number; yours is {out!r}.",
    )
    return int(out)


@gpt.prop("count-gpt2", 2, "GPT-2's own sizes: 124,439,808 for the small one", COUNT)
def _count_gpt2(t: Trial) -> None:
    for name, case in GPT2.items():
        got, right = _counted(t, case), count(*case)
        t.expect(
            got == right,
            f"GPT-2 {name} has {right:,} parameters; you count {got:,} ({got - right:+,}).",
        )


@gpt.prop("count-any", 2, "Right for any width, depth, vocabulary and context", COUNT)
def _count_any(t: Trial) -> None:
    for _ in range(4):
        case = (t.integer(1, 90), t.integer(0, 7), t.integer(2, 500), t.integer(1, 300))
        got, right = _counted(t, case), count(*case)
        t.expect(
            got == right,
            f"With d_model, n_layers, vocab_size, context_length = {case} there are "
            f"{right:,} parameters; you count {got:,} ({got - right:+,}).",
        )


@gpt.diagnosis(COUNT)
def _count_faults(t: Trial, failed: set[str]) -> list[Finding]:
    cases = [(13, 3, 101, 37), (24, 5, 311, 50), (768, 12, 50257, 1024)]
    got = [_counted(t, c) for c in cases]
    for name, options in COUNTS.items():
        if got == [count(*c, **options) for c in cases]:
            return [gpt.finding(name.split("#")[0])]
    names = list(COUNTS)
    for a in names:
        for b in names:
            both = {**COUNTS[a], **COUNTS[b]}
            if (
                a < b
                and not set(COUNTS[a]) & set(COUNTS[b])
                and got == [count(*c, **both) for c in cases]
            ):
                return [gpt.finding(a.split("#")[0]), gpt.finding(b.split("#")[0])]
    return []
