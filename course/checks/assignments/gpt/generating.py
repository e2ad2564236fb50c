"""``generate``: the loop, with a probe model whose logits are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course.checks.assignments.gpt.exercise import DRAWS, GENERATE, gpt
from course.checks.assignments.gpt.frequencies import (
    distribution,
    drawn_from,
    spread_logits,
)
from course.checks.engine import Failure, Finding, Trial
from course.checks.subject import Ref


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


CROPS: dict[str, Read] = {
    "no-crop": lambda x, c: x,
    "keeps-the-first": lambda x, c: x[:, :c],
    "crops-too-much": lambda x, c: x[:, -c + 1 :],
    "last-token-only": lambda x, c: x[:, -1:],
}
POSITIONS = {"wrong-position": 0, "wrong-position#1": -2}


def _faulty(table: Tensor, decay: float, idx: Tensor, n: int, context: int) -> dict[str, Tensor]:
    """What the greedy loop gives with each fault in what is read or where."""
    crops = {name: continued(table, decay, idx, n, context, crop=c) for name, c in CROPS.items()}
    places = {name: continued(table, decay, idx, n, context, at=i) for name, i in POSITIONS.items()}
    return crops | places


def _world(t: Trial, B: int, T: int, V: int = 9) -> tuple[Tensor, float, Tensor]:
    table = t.normal(V, V, sd=2.0)
    return table, 0.8, torch.randint(0, V, (B, T), generator=t.rng)


def _telling_world(t: Trial, B: int, T: int, n: int, context: int) -> tuple[Tensor, float, Tensor]:
    """One in which every fault shows, and each another way: a loop that repeats one token of its
    own accord would hide what it reads."""
    for _ in range(1000):
        table, decay, idx = _world(t, B, T)
        texts = [continued(table, decay, idx, n, context)]
        texts += _faulty(table, decay, idx, n, context).values()
        if len({tuple(text.flatten().tolist()) for text in texts}) == len(texts):
            return table, decay, idx
    raise AssertionError("no world in 1000 tells the faults apart")


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
    table, decay, idx = _telling_world(t, 2, 6, 9, 4)
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
    logits = spread_logits(t)
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
    table, decay, idx = _telling_world(t, 3, 6, 7, 4)
    free = _run(t, table, decay, idx, 7, 4, temperature=0.0)
    if "error" in free:
        return []
    out = free["value"]
    strict = _run(t, table, decay, idx, 7, 4, limit=4, temperature=0.0)
    right = continued(table, decay, idx, 7, 4)
    names: dict[str, Tensor] = {
        **_faulty(table, decay, idx, 7, 4),
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
    logits = spread_logits(t)
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
