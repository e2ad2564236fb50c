"""Training: batches, learning-rate schedules, the loop, and perplexity.

Everything that a run depends on is in a :class:`Trainer`'s state, so that a run stopped after any
step and continued from its state gives the very numbers of a run never stopped.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, Protocol, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from tqdm import tqdm

from course.checked import require_positive


def pick_device(device: str | torch.device = "auto") -> torch.device:
    """``"auto"`` → CUDA where there is a GPU, else Apple's MPS, else the CPU; else as given.

    Raises:
        ValueError: a device torch does not know, or CUDA / MPS asked for where there is none.
    """
    if str(device) == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError as error:
        raise ValueError(
            f'device must be "auto", "cpu", "cuda", "mps" or the like, got {device!r}'
        ) from error
    missing = {"cuda": not torch.cuda.is_available(), "mps": not torch.backends.mps.is_available()}
    if missing.get(chosen.type, False):
        raise ValueError(f'device {str(device)!r} is not to be had here; use "auto" or "cpu"')
    return chosen


def noam_rate(step: int, d_model: int, warmup: int = 4000) -> float:
    """``C^-½ · min(step^-½, step · warmup^-3/2)`` (Vaswani et al. 2017, equation 3).

    Args:
        step: counted from 1.

    Raises:
        ValueError: a step below 1 (step 0 would divide by zero), or a warm-up below 1.
    """
    require_positive(step=step, d_model=d_model, warmup=warmup)
    return float(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))


def warmup_rate(step: int, warmup: int) -> float:
    """A factor that rises in a line to 1 at step ``warmup`` and stays; steps count from 1.

    Raises:
        ValueError: a step below 1, or a negative warm-up (0 means none).
    """
    require_positive(step=step)
    if warmup < 0:
        raise ValueError(f"warmup must be 0 or more, got {warmup}")
    return min(1.0, step / warmup) if warmup else 1.0


class BatchSource(Protocol):
    """Anything that gives batches and can say and take back where it stands."""

    def next(self) -> tuple[Tensor, ...]:
        """The next batch: inputs of the model, then the targets."""

    def state_dict(self) -> dict[str, Any]:
        """Where it stands."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from there."""


class Batches:
    """Random windows of a text: inputs (B, T) and, one token on, targets (B, T).

    Windows are drawn with replacement by a generator of its own, so that the batches of a seed are
    the same whatever else draws random numbers.

    Raises:
        ValueError: a size below 1, or a text too short for one window.
    """

    def __init__(
        self,
        tokens: Tensor,
        context_length: int,
        batch_size: int,
        seed: int = 0,
        device: str | torch.device = "cpu",
    ) -> None:
        require_positive(context_length=context_length, batch_size=batch_size)
        if tokens.dim() != 1 or len(tokens) <= context_length:
            raise ValueError(
                f"the text must be (N,) token ids with N > context_length="
                f"{context_length}, got {tuple(tokens.shape)}"
            )
        self.tokens = tokens.to(device)
        self.context_length, self.batch_size = context_length, batch_size
        self.generator = torch.Generator().manual_seed(seed)
        self._window = torch.arange(context_length + 1, device=self.tokens.device)

    def next(self) -> tuple[Tensor, Tensor]:
        """(B, T) inputs and (B, T) targets: one gather, no loop."""
        starts = torch.randint(
            len(self.tokens) - self.context_length, (self.batch_size, 1), generator=self.generator
        )
        windows = self.tokens[starts.to(self.tokens.device) + self._window]  # (B, T + 1)
        return windows[:, :-1], windows[:, 1:]

    def state_dict(self) -> dict[str, Any]:
        """The generator's state."""
        return {"generator": self.generator.get_state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on drawing from ``state``."""
        self.generator.set_state(state["generator"].cpu())


def make_optimizer(
    model: nn.Module, name: str = "adamw", lr: float = 1e-3
) -> torch.optim.Optimizer:
    """ "adamw" (PyTorch's defaults) or "adam-2017": β = (0.9, 0.98), ε = 1e-9 (Vaswani, 5.3).

    Raises:
        ValueError: another name, or a rate that is not positive.
    """
    # Fused: one pass over the parameters a step, the same rule.
    if lr <= 0:
        raise ValueError(f"the learning rate must be positive, got {lr}")
    if name == "adamw":
        return torch.optim.AdamW(model.parameters(), lr=lr, fused=True)
    if name == "adam-2017":
        return torch.optim.Adam(model.parameters(), lr=lr, betas=(0.9, 0.98), eps=1e-9, fused=True)
    raise ValueError(f'optimizer must be "adamw" or "adam-2017", got {name!r}')


class Trainer:
    """The training loop, one object: model, batches, optimiser, schedule and where they stand.

    Args:
        model: called with all but the last tensor of a batch; gives logits (B, T, V).
        batches: see :class:`Batches`; the last tensor holds the targets (B, T).
        lr: the learning rate, multiplied by ``schedule``.
        steps: how many there are in all.
        schedule: step (from 1) → factor on ``lr``; none keeps it constant.
        optimizer: see :func:`make_optimizer`.
        label_smoothing: the share of each target spread over all classes (Szegedy et al. 2016).
        ignore_index: targets of this id are left out (padding).

    Raises:
        ValueError: a size or rate that is not positive.
    """

    def __init__(
        self,
        model: nn.Module,
        batches: BatchSource,
        *,
        steps: int,
        lr: float = 1e-3,
        schedule: Callable[[int], float] | None = None,
        optimizer: str = "adamw",
        label_smoothing: float = 0.0,
        ignore_index: int = -100,
    ) -> None:
        require_positive(steps=steps)
        self.model, self.batches, self.steps, self.lr = model, batches, steps, lr
        self.schedule, self.label_smoothing = schedule, label_smoothing
        self.ignore_index = ignore_index
        self.optimizer = make_optimizer(model, optimizer, lr)
        self.losses: list[float] = []

    @property
    def step(self) -> int:
        """How many steps have been made."""
        return len(self.losses)

    def advance(self) -> Tensor:
        """One step; returns its loss, still on the device."""
        if self.schedule is not None:
            rate = self.lr * self.schedule(self.step + 1)
            for group in self.optimizer.param_groups:
                group["lr"] = rate
        *inputs, targets = self.batches.next()
        logits = self.model(*inputs)  # (B, T, V)
        loss = F.cross_entropy(
            logits.flatten(0, 1),
            targets.flatten(),
            label_smoothing=self.label_smoothing,
            ignore_index=self.ignore_index,
        )
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def run(
        self,
        until: int | None = None,
        *,
        progress: bool = True,
        label: str = "training",
        on_step: Callable[[Trainer], None] | None = None,
    ) -> list[float]:
        """Train up to step ``until`` (all of them by default); returns every loss so far.

        Args:
            progress: a text bar with an estimate.
            on_step: called after each step, for probes and checkpoints.

        Raises:
            FloatingPointError: the loss is no longer a number; names the step.
        """
        until = self.steps if until is None else min(until, self.steps)
        self.model.train()
        bar = tqdm(
            total=self.steps,
            initial=self.step,
            desc=label,
            unit="step",
            disable=not progress,
            file=sys.stderr,
            mininterval=0.5,
        )
        with bar:
            while self.step < until:
                loss = float(self.advance())
                if not math.isfinite(loss):
                    raise FloatingPointError(
                        f"{label}: the loss is {loss} at step "
                        f"{self.step + 1}; lower the learning rate {self.lr}"
                    )
                self.losses.append(loss)
                bar.set_postfix_str(f"loss {loss:.3f}", refresh=False)
                bar.update()
                if on_step is not None:
                    on_step(self)
        return self.losses

    def state_dict(self) -> dict[str, Any]:
        """All that :meth:`load_state_dict` needs to go on as if never stopped."""
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "batches": self.batches.state_dict(),
            "losses": list(self.losses),
            "torch_rng": torch.get_rng_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from ``state``."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.batches.load_state_dict(state["batches"])
        self.losses = list(state["losses"])
        torch.set_rng_state(state["torch_rng"].cpu())


def windows(tokens: Tensor, context_length: int) -> tuple[Tensor, Tensor]:
    """The text cut into non-overlapping windows: inputs (N, T), targets (N, T); no rest.

    Raises:
        ValueError: the text is too short for one window.
    """
    require_positive(context_length=context_length)
    N = (len(tokens) - 1) // context_length
    if N < 1:
        raise ValueError(
            f"{len(tokens)} tokens are too few for a window of {context_length} and "
            "the token after it"
        )
    cut = N * context_length
    return (tokens[:cut].reshape(N, context_length), tokens[1 : cut + 1].reshape(N, context_length))


@torch.no_grad()
def perplexity(
    model: nn.Module, tokens: Tensor, context_length: int, batch_size: int = 64
) -> float:
    """``exp`` of the mean loss over all positions of the text's non-overlapping windows.

    The model is put in evaluation mode and left in the mode it was found in.

    Raises:
        ValueError: the text is too short for one window.
    """
    inputs, targets = windows(tokens, context_length)
    device = next(model.parameters()).device
    was_training, total = model.training, 0.0
    model.eval()
    for x, y in zip(inputs.split(batch_size), targets.split(batch_size), strict=True):
        logits = cast(Tensor, model(x.to(device)))
        loss = F.cross_entropy(logits.flatten(0, 1), y.to(device).flatten(), reduction="sum")
        total += float(loss)
    model.train(was_training)
    return math.exp(total / targets.numel())
