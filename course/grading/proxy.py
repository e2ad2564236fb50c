"""The learner's names as the test cells see them: stand-ins whose every use is a message.

A stand-in holds no code of the learner's. Calling it sends plain data to the worker and returns
plain data; comparing its results compares the judge's own numbers. Checks go through
`RemoteSubject`; a test cell written as ordinary PyTorch (``Head(12, 3, 8)(x).sum().backward()``)
works too, the gradient being fetched as a vector-Jacobian product.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from course.checks.subject import Op, Ref, Reply, Subject, SubjectError, from_wire, to_wire

Transport = Callable[[bytes, int], tuple[dict[str, Any], bytes]]
_numbers = itertools.count()


class RemoteSubject(Subject):
    """A learner's code in another process.

    Args:
        transport: sends the JSON of a program of n operations, returns the reply's header and body.
        source: the text of the learner's cells.
    """

    def __init__(self, transport: Transport, source: str | None) -> None:
        self.transport, self.source = transport, source

    def run(self, program: Sequence[Op]) -> list[Reply]:
        """Carry out a program in the worker; whatever goes wrong there is an error reply."""
        body = json.dumps([to_wire(op) for op in program]).encode()
        header, answer = self.transport(body, len(program))
        if header.get("error"):
            error = header["error"]
            return [{"error": _error(error)} for _ in program]
        try:
            replies = json.loads(answer)
        except (ValueError, RecursionError):
            replies = None
        if not isinstance(replies, list) or len(replies) != len(program):
            return [_broken() for _ in program]
        return [_decode(reply) for reply in replies]


def _error(error: Any) -> dict[str, Any]:
    if not isinstance(error, dict):
        error = {}
    line = error.get("line")
    return {"type": str(error.get("type", "Error"))[:200],
            "message": str(error.get("message", ""))[:1000],
            "line": line if isinstance(line, int) else None}  # fmt: skip


def _broken() -> Reply:
    return {"error": {"type": "ProtocolError", "line": None,
                      "message": "your code disturbed the process it ran in, and nothing that "
                                 "makes sense came back"}}  # fmt: skip


def _decode(reply: Any) -> Reply:
    try:
        value = from_wire(reply)
    except Exception:  # anything at all may arrive here
        return _broken()
    if not isinstance(value, dict):
        return _broken()
    if "error" in value:
        return {"error": _error(value["error"])}
    return value if "value" in value else _broken()


class Stand:
    """A stand-in for one of the learner's functions, classes or objects."""

    def __init__(self, subject: RemoteSubject, name: str, kind: str) -> None:
        self.__dict__.update(_subject=subject, _name=name, _kind=kind)

    def __course_subject__(self) -> Subject:
        return self._subject

    def __repr__(self) -> str:
        return f"<your {self._name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Build an object, or call and return plain data (with a gradient where one is wanted)."""
        if self._kind == "class":
            made = f"{self._name}#{next(_numbers)}"
            op = {"op": "new", "as": made, "name": self._name, "args": list(map(_argument, args)),
                  "kwargs": {k: _argument(v) for k, v in kwargs.items()}}  # fmt: skip
            self._subject.ask([op])
            return Stand(self._subject, made, "object")
        wants = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor) and a.requires_grad]
        if wants and torch.is_grad_enabled():
            return _Call.apply(self, args, kwargs, tuple(wants), *[args[i] for i in wants])
        op = {"op": "call", "on": self._name, "args": list(map(_argument, args)),
              "kwargs": {k: _argument(v) for k, v in kwargs.items()}}  # fmt: skip
        return self._subject.ask([op])[0]["value"]

    def named_parameters(self) -> list[tuple[str, torch.Tensor]]:
        """Names and copies of the parameters."""
        found = self._subject.ask([{"op": "parameters", "on": self._name}])[0]["value"]
        return [(str(n), t.requires_grad_(bool(r))) for n, t, r in found]

    def parameters(self) -> list[torch.Tensor]:
        """Copies of the parameters."""
        return [t for _, t in self.named_parameters()]

    def state_dict(self) -> dict[str, torch.Tensor]:
        """A copy of the state."""
        return dict(self._subject.ask([{"op": "state", "on": self._name}])[0]["value"])

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Set the state (strict)."""
        self._subject.ask([{"op": "load", "on": self._name, "values": dict(state)}])

    def train(self, mode: bool = True) -> Stand:
        """Set training mode."""
        self._subject.ask([{"op": "mode", "on": self._name, "train": bool(mode)}])
        return self

    def eval(self) -> Stand:
        """Set evaluation mode."""
        return self.train(False)

    def to(self, where: Any) -> Stand:
        """Change the type or the device."""
        key = "dtype" if isinstance(where, torch.dtype) else "device"
        value = str(where).removeprefix("torch.")
        self._subject.ask([{"op": "to", "on": self._name, key: value}])
        return self

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"a test cannot look at {name!r} of your {self._name}: only calls, parameters, state, "
            "train, eval and to cross to the process that runs it"
        )


def _argument(value: Any) -> Any:
    if isinstance(value, Stand):
        return Ref(value._name)
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, list | tuple):
        return type(value)(map(_argument, value))
    return value


class _Call(torch.autograd.Function):
    """A remote call whose gradient is a remote vector-Jacobian product."""

    @staticmethod
    def forward(
        ctx: Any, stand: Stand, args: Any, kwargs: Any, wants: tuple[int, ...], *_: Any
    ) -> Any:
        ctx.stand, ctx.call = stand, list(map(_argument, args))
        ctx.kwargs, ctx.wants = kwargs, wants
        op = {"op": "call", "on": stand._name, "args": ctx.call, "kwargs": kwargs}
        out = stand._subject.ask([op])[0]["value"]
        if not isinstance(out, torch.Tensor):
            raise SubjectError("TypeError", f"the result is a {type(out).__name__}, not a tensor")
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        op = {"op": "vjp", "on": ctx.stand._name, "args": ctx.call, "kwargs": ctx.kwargs,
              "cotangent": grads[0], "inputs": list(ctx.wants)}  # fmt: skip
        found = ctx.stand._subject.ask([op])[0]["inputs"]
        return (None, None, None, None, *found)
