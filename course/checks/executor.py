"""What stands beside the learner's code and carries out a check's programs.

Operations (``on`` names a function or class of the learner's, or an object made before):

==============  ================================================================================
``op``          other fields → what the reply's ``value`` is
==============  ================================================================================
``describe``    ``name`` → ``{"kind", "module", "bases", "defined"}``; kind is ``class``,
                ``function``, ``other`` or ``missing``
``new``         ``as``, ``name``, ``args``, ``kwargs``, ``seed`` → ``None``; builds an object
``model``       ``as``, ``table``, ``decay``, ``max_length`` → ``None``; builds a `ProbeModel`
``calls``       ``on`` a ProbeModel → what it was called with
``call``        ``on``, ``args``, ``kwargs``, ``seed``, ``pure``, ``watch``, ``grad`` → the result;
                with ``pure`` the reply has ``changed`` (numbers of the arguments that were
                edited), with ``watch`` it has ``largest`` (entries of the largest tensor made)
                and ``peak`` (entries alive at once)
``vjp``         ``on``, ``args``, ``kwargs``, ``seed``, ``cotangent``, ``inputs`` → the result; the
                reply has ``inputs`` (gradients of the arguments with these numbers) and
                ``parameters`` (name → gradient, or ``None`` where none arrived)
``parameters``  ``on`` → list of ``[name, tensor, requires_grad]``
``set``         ``on``, ``values`` (name → tensor) → ``None``
``state``       ``on`` → the state dict (name → tensor)
``load``        ``on``, ``values`` → ``None`` (strict)
``to``          ``on``, ``dtype``, ``device`` → ``[dtype, device]`` of every parameter and buffer
``mode``        ``on``, ``train`` (true, false, or absent: only look) → list of the modules' flags
``alias``       ``on``, ``args`` → whether two calls return tensors that share memory
``keeps``       ``on``, ``args`` → whether lists among the arguments stay as they were
``origins``     ``on`` → dotted class names of the object, its bases and its submodules
==============  ================================================================================

A reply is a dict with ``value``, or with ``error``: ``{"type", "message", "line"}``. An operation
that fails does not stop those after it.
"""

from __future__ import annotations

import contextlib
import inspect
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from course.checks.probe import ProbeModel, Watch
from course.checks.wire import DTYPES, MAX_ENTRIES, Gen, Op, Ref, Reply


@contextlib.contextmanager
def _seeded(seed: int | None) -> Iterator[None]:
    """Run with torch's and Python's random state set, then put both back."""
    if seed is None:
        yield
        return
    import random

    state, py_state = torch.random.get_rng_state(), random.getstate()
    # Not torch.manual_seed: where no GPU is in use it formats a traceback each time, for later.
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    try:
        yield
    finally:
        torch.random.set_rng_state(state)
        random.setstate(py_state)


class Executor:
    """Carries out programs on a namespace of the learner's. Lives beside the learner's code."""

    def __init__(self, namespace: Mapping[str, Any], own_files: Sequence[str] = ()) -> None:
        self.namespace = namespace
        self.objects: dict[str, Any] = {}
        self.own_files = tuple(own_files)

    def run(self, program: Sequence[Op]) -> list[Reply]:
        """Carry out every operation in order; a failing one yields an ``error`` reply."""
        return [self._one(op) for op in program]

    def _one(self, op: Op) -> Reply:
        try:
            return getattr(self, "_op_" + str(op["op"]))(op)
        except Exception as error:
            return {"error": self._describe_error(error)}
        except SystemExit as error:  # a learner's exit() must not end the grading
            return {"error": {"type": "SystemExit", "message": f"exit({error.code})", "line": None}}

    def _describe_error(self, error: BaseException) -> dict[str, Any]:
        line = None
        for frame in traceback.extract_tb(error.__traceback__):
            ours = frame.filename == __file__
            theirs = frame.filename in self.own_files or "ipykernel" in frame.filename
            if not ours and (theirs or frame.filename.startswith("<")):
                line = frame.lineno
        text = str(error) if not isinstance(error, KeyError) else f"key {error}"
        return {"type": type(error).__name__, "message": text[:600], "line": line}

    def _find(self, name: str) -> Any:
        if name in self.objects:
            return self.objects[name]
        if name not in self.namespace:
            raise NameError(f"name {name!r} is not defined")
        return self.namespace[name]

    def _argument(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.clone()  # the learner's code may edit its argument, never the check's
        if isinstance(value, Ref):
            return self.objects[value.name]
        if isinstance(value, Gen):
            return torch.Generator().manual_seed(value.seed)
        if isinstance(value, list):
            return [self._argument(v) for v in value]
        if isinstance(value, tuple):
            return tuple(self._argument(v) for v in value)
        if isinstance(value, dict):
            return {k: self._argument(v) for k, v in value.items()}
        return value

    def _plain(self, value: Any) -> Any:
        """What may cross: tensors detached and copied, containers walked, the rest named."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, torch.Tensor):
            if value.numel() > MAX_ENTRIES:
                raise ValueError(f"the result has shape {tuple(value.shape)}, which is too large")
            return value.detach().clone()
        if isinstance(value, tuple):
            return tuple(self._plain(v) for v in value)
        if isinstance(value, list | set | frozenset):
            return [self._plain(v) for v in value]
        if isinstance(value, dict):
            return {str(k): self._plain(v) for k, v in value.items()}
        if hasattr(value, "__array__") and hasattr(value, "tolist"):  # numpy
            return self._plain(value.tolist())
        return {"$opaque": type(value).__name__}

    def _op_describe(self, op: Op) -> Reply:
        defined = sorted(
            k
            for k, v in self.namespace.items()
            if not k.startswith("_") and (inspect.isfunction(v) or inspect.isclass(v))
        )
        found = self.namespace.get(op["name"])
        kind = (
            "missing"
            if found is None
            else "class"
            if inspect.isclass(found)
            else "function"
            if callable(found)
            else "other"
        )
        bases = [f"{c.__module__}.{c.__qualname__}" for c in getattr(found, "__mro__", ())]
        module = str(getattr(found, "__module__", ""))
        return {"value": {"kind": kind, "module": module, "bases": bases, "defined": defined}}

    def _op_new(self, op: Op) -> Reply:
        make = self._find(op["name"])
        args = [self._argument(a) for a in op.get("args", ())]
        kwargs = {k: self._argument(v) for k, v in op.get("kwargs", {}).items()}
        with _seeded(op.get("seed")):
            self.objects[op["as"]] = make(*args, **kwargs)
        return {"value": None}

    def _op_model(self, op: Op) -> Reply:
        self.objects[op["as"]] = ProbeModel(
            op["table"], float(op.get("decay", 0.0)), op.get("max_length")
        )
        return {"value": None}

    def _op_calls(self, op: Op) -> Reply:
        return {"value": self._plain(self._find(op["on"]).seen)}

    def _op_call(self, op: Op) -> Reply:
        target = self._find(op["on"])
        args = [self._argument(a) for a in op.get("args", ())]
        kwargs = {k: self._argument(v) for k, v in op.get("kwargs", {}).items()}
        reply: Reply = {}
        watch = Watch() if op.get("watch") else None
        with _seeded(op.get("seed")), torch.set_grad_enabled(bool(op.get("grad", False))):
            with watch or contextlib.nullcontext():
                out = target(*args, **kwargs)
        reply["value"] = self._plain(out)
        if watch:
            reply.update(largest=watch.largest, peak=watch.peak)
        if op.get("pure"):
            before = list(op.get("args", ()))
            reply["changed"] = [
                i
                for i, (a, b) in enumerate(zip(before, args, strict=True))
                if isinstance(a, torch.Tensor) and not _same(a, b)
            ]
        return reply

    def _op_vjp(self, op: Op) -> Reply:
        target = self._find(op["on"])
        args = [self._argument(a) for a in op.get("args", ())]
        kwargs = {k: self._argument(v) for k, v in op.get("kwargs", {}).items()}
        numbers = list(op.get("inputs", ()))
        for i in numbers:
            args[i].requires_grad_(True)
        named = dict(target.named_parameters()) if isinstance(target, nn.Module) else {}
        with _seeded(op.get("seed")), torch.enable_grad():
            # A view of a leaf: an in-place edit of the argument must show as an edit, not an error.
            out = target(
                *[a.view_as(a) if i in numbers else a for i, a in enumerate(args)], **kwargs
            )
            wanted = [args[i] for i in numbers] + [p for p in named.values() if p.requires_grad]
            if not isinstance(out, torch.Tensor):
                raise TypeError(f"the result is a {type(out).__name__}, not a tensor")
            if not out.requires_grad:
                grads: Sequence[Any] = [None] * len(wanted)
            else:
                g = op["cotangent"].to(out.dtype).expand(out.shape)
                # Of the sum, not with g as an argument: that would load sympy, for a second or two.
                grads = torch.autograd.grad((out * g).sum(), wanted, allow_unused=True)
        trainable = [n for n, p in named.items() if p.requires_grad]
        k = len(numbers)
        return {
            "value": self._plain(out),
            "inputs": self._plain(list(grads[:k])),
            "parameters": self._plain(dict(zip(trainable, grads[k:], strict=True))),
        }

    def _op_parameters(self, op: Op) -> Reply:
        module = self._find(op["on"])
        if not isinstance(module, nn.Module):
            return {"value": []}
        return {
            "value": [[n, self._plain(p), p.requires_grad] for n, p in module.named_parameters()]
        }

    def _op_set(self, op: Op) -> Reply:
        named = dict(self._find(op["on"]).named_parameters())
        with torch.no_grad():
            for name, value in op["values"].items():
                named[name].copy_(value)
        return {"value": None}

    def _op_state(self, op: Op) -> Reply:
        return {"value": self._plain(dict(self._find(op["on"]).state_dict()))}

    def _op_load(self, op: Op) -> Reply:
        self._find(op["on"]).load_state_dict(dict(op["values"]))
        return {"value": None}

    def _op_to(self, op: Op) -> Reply:
        module = self._find(op["on"])
        if op.get("dtype"):
            module.to(DTYPES[op["dtype"]])
        if op.get("device"):
            module.to(op["device"])
        tensors = [*module.named_parameters(), *module.named_buffers()]
        return {
            "value": [[n, str(t.dtype).removeprefix("torch."), t.device.type] for n, t in tensors]
        }

    def _op_mode(self, op: Op) -> Reply:
        module = self._find(op["on"])
        if "train" in op:
            module.train(bool(op["train"]))
        return {"value": [m.training for m in module.modules()]}

    def _op_alias(self, op: Op) -> Reply:
        target = self._find(op["on"])
        a, b = (target(*[self._argument(x) for x in op.get("args", ())]) for _ in range(2))
        shared = a is b or (a.numel() > 0 and a.data_ptr() == b.data_ptr())
        return {"value": bool(shared)}

    def _op_keeps(self, op: Op) -> Reply:
        args = [self._argument(x) for x in op.get("args", ())]
        self._find(op["on"])(*args)
        pairs = zip(op.get("args", ()), args, strict=True)
        return {"value": all(a == b for a, b in pairs if isinstance(a, list))}

    def _op_origins(self, op: Op) -> Reply:
        found = self._find(op["on"])
        objects = list(found.modules()) if isinstance(found, nn.Module) else [found]
        names: dict[str, None] = {}
        for o in objects:
            for c in (o if inspect.isclass(o) else type(o)).__mro__:
                names[f"{c.__module__}.{c.__qualname__}"] = None
        return {"value": list(names)}


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(torch.equal(torch.nan_to_num(a), torch.nan_to_num(b.detach())))
