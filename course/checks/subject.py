"""The only door through which a check sees a learner's code.

A *subject* carries out small **programs**: lists of operations, each a plain ``dict``. Only plain
data crosses: ``None``, booleans, numbers, strings, lists, tuples, string-keyed dicts and tensors
(as dtype, shape and raw bytes once `to_wire` has been applied). Objects the learner's code makes
never cross; they stay on the subject's side under a name that the *check* chose, so one batch may
build a module and use it at once. A check sends inputs and never an expected value.

`LocalSubject` runs programs in this process with an `Executor`. A remote subject needs nothing but
a transport: ``to_wire(program)`` there, ``Executor(namespace).run(from_wire(...))`` beside the
learner's code, ``to_wire(replies)`` back, which is all that `Subject.run` has to do.

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

import base64
import contextlib
import inspect
import io
import math
import sys
import traceback
import types
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

Op = dict[str, Any]
Reply = dict[str, Any]

DTYPES = {
    str(d).removeprefix("torch."): d
    for d in (
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float64,
        torch.int64,
        torch.bool,
        torch.int32,
        torch.int16,
        torch.int8,
        torch.uint8,
    )
}
MAX_ENTRIES = 8_000_000  # a reply's tensor may not be larger: a check never asks for more


@dataclass(frozen=True)
class Ref:
    """Stands for an object on the subject's side, as an argument."""

    name: str


@dataclass(frozen=True)
class Gen:
    """Stands for a fresh ``torch.Generator`` with this seed, as an argument."""

    seed: int


class SubjectError(Exception):
    """The learner's code raised (or returned something that cannot cross).

    Attributes:
        kind: the exception's class name, such as ``"TypeError"``.
        line: the line of the learner's own source it came from, if known.
    """

    def __init__(self, kind: str, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.kind, self.message, self.line = kind, message, line

    def __str__(self) -> str:
        where = f" (line {self.line} of your code)" if self.line else ""
        return f"{self.kind}: {self.message}{where}"


# --------------------------------------------------------------------------- plain data on a wire


def to_wire(value: Any) -> Any:
    """Turn plain data with tensors into JSON-able data.

    A tensor becomes ``{"$tensor": [dtype, shape, base64 of its bytes]}``, a tuple
    ``{"$tuple": [...]}``, a non-finite float ``{"$float": "nan"}``.

    Raises:
        TypeError: the value is not plain data.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, torch.Tensor):
        if value.device.type == "meta":
            return {"$meta": [str(value.dtype).removeprefix("torch."), list(value.shape)]}
        t = value.detach().cpu().contiguous()
        raw = t.reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b""
        data = base64.b64encode(raw).decode("ascii")
        return {"$tensor": [str(t.dtype).removeprefix("torch."), list(t.shape), data]}
    if isinstance(value, Ref):
        return {"$ref": value.name}
    if isinstance(value, Gen):
        return {"$gen": value.seed}
    if isinstance(value, tuple):
        return {"$tuple": [to_wire(v) for v in value]}
    if isinstance(value, list):
        return [to_wire(v) for v in value]
    if isinstance(value, Mapping):
        return {"$dict": [[str(k), to_wire(v)] for k, v in value.items()]}
    raise TypeError(f"a {type(value).__name__} is not plain data and cannot cross")


def from_wire(value: Any) -> Any:
    """The inverse of `to_wire`. Validates: what arrives may come from hostile code.

    Raises:
        ValueError: the data does not describe plain values.
    """
    if value is None or isinstance(value, bool | int | str | float):
        return value
    if isinstance(value, list):
        return [from_wire(v) for v in value]
    if not isinstance(value, dict) or len(value) != 1:
        raise ValueError(f"not a wire value: {str(value)[:80]!r}")
    ((tag, body),) = value.items()
    if tag == "$float":
        return float(str(body))
    if tag == "$tuple":
        return tuple(from_wire(v) for v in body)
    if tag == "$dict":
        return {str(k): from_wire(v) for k, v in body}
    if tag == "$ref":
        return Ref(str(body))
    if tag == "$gen":
        return Gen(int(body))
    if tag in ("$tensor", "$meta"):
        dtype, shape = DTYPES[str(body[0])], [int(n) for n in body[1]]
        if any(n < 0 for n in shape) or math.prod(shape) > MAX_ENTRIES:
            raise ValueError(f"a tensor of shape {shape} is not accepted")
        if tag == "$meta":
            return torch.empty(shape, dtype=dtype, device="meta")
        raw = bytearray(base64.b64decode(body[2], validate=True))
        if len(raw) != math.prod(shape) * torch.empty(0, dtype=dtype).element_size():
            raise ValueError(f"{len(raw)} bytes do not make a {dtype} of shape {shape}")
        flat = torch.frombuffer(raw, dtype=dtype) if raw else torch.empty(0, dtype=dtype)
        return flat.reshape(shape).clone()
    raise ValueError(f"unknown tag {tag!r}")


# ------------------------------------------------------------------------ beside the learner's code


class ProbeModel(nn.Module):
    """A small language model whose logits a check can compute too, and that remembers its calls.

    logits_t = Σ_{s ≤ t} decay^(t − s) · table[idx_s]: with decay 0 only the last token counts.
    It refuses more than ``max_length`` tokens, as a model with a position table does.
    """

    def __init__(self, table: torch.Tensor, decay: float = 0.0, max_length: int | None = None):
        super().__init__()
        self.table = nn.Parameter(table.clone())
        self.decay, self.max_length = decay, max_length
        self.dropout = nn.Dropout(0.5)  # has a mode; is not applied
        self.seen: list[dict[str, Any]] = []

    def forward(self, idx: torch.Tensor) -> torch.Tensor:
        """Return logits (B, T, V) for token numbers ``idx`` (B, T)."""
        self.seen.append(
            {
                "idx": idx.detach().clone(),
                "training": self.training,
                "grad": torch.is_grad_enabled(),
            }
        )
        T = idx.shape[-1]
        if self.max_length is not None and T > self.max_length:
            raise IndexError(f"the model has {self.max_length} positions and was given {T} tokens")
        t = torch.arange(T)
        gap = (t[:, None] - t[None, :]).to(self.table.dtype)
        mix = torch.where(gap >= 0, self.decay ** gap.clamp(min=0), 0.0).to(self.table.dtype)
        return mix @ self.table[idx]


class _Watch(TorchDispatchMode):
    """Records the largest tensor made and the most entries alive at once (views count once)."""

    def __init__(self) -> None:
        super().__init__()
        self.largest = self.alive = self.peak = 0
        self._known: dict[int, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for t in torch.utils._pytree.tree_leaves(out):
            if isinstance(t, torch.Tensor):
                self._note(t)
        return out

    def _note(self, t: torch.Tensor) -> None:
        storage = t.untyped_storage()
        size = storage.nbytes() // max(1, t.element_size())
        # An expanded view is counted by its shape too: what follows from it is that large.
        self.largest = max(self.largest, size)
        key = storage.data_ptr()
        if key not in self._known:
            self.alive += size
            self.peak = max(self.peak, self.alive)
        self._known[key] = self._known.get(key, 0) + 1

        def gone(key: int = key, size: int = size) -> None:
            self._known[key] -= 1
            if not self._known[key]:
                del self._known[key]
                self.alive -= size

        weakref.finalize(t, gone)


@contextlib.contextmanager
def _seeded(seed: int | None) -> Iterator[None]:
    """Run with torch's and Python's random state set, then put both back."""
    if seed is None:
        yield
        return
    import random

    state, py_state = torch.random.get_rng_state(), random.getstate()
    torch.manual_seed(seed)
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
        watch = _Watch() if op.get("watch") else None
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


# ------------------------------------------------------------------------------ the check's side


class Subject(ABC):
    """What a check may ask of a learner's code. Implement `run`; the rest is built on it.

    Attributes:
        source: the learner's source text, for the rule against importing the answer; ``None``
            where it cannot be had (then only run-time origins are looked at).
    """

    source: str | None = None

    @abstractmethod
    def run(self, program: Sequence[Op]) -> list[Reply]:
        """Carry out a program. See the module's docstring for the operations."""

    def ask(self, program: Sequence[Op]) -> list[Reply]:
        """`run`, raising the first error.

        Raises:
            SubjectError: an operation failed.
        """
        replies = self.run(program)
        for reply in replies:
            if "error" in reply:
                e = reply["error"]
                raise SubjectError(str(e["type"]), str(e["message"]), e.get("line"))
        return replies

    def call(self, on: str, *args: Any, seed: int | None = None, **kwargs: Any) -> Any:
        """Call a function or object with plain data and return the plain result."""
        op = {"op": "call", "on": on, "args": list(args), "kwargs": kwargs, "seed": seed}
        return self.ask([op])[0]["value"]


class LocalSubject(Subject):
    """A subject in this process: the learner's self-check, and the command line."""

    def __init__(
        self,
        namespace: Mapping[str, Any],
        source: str | None = None,
        own_files: Sequence[str] = (),
    ) -> None:
        self.source = source
        self._executor = Executor(namespace, own_files)

    def run(self, program: Sequence[Op]) -> list[Reply]:
        """Carry out a program here; what the learner's code prints is not shown."""
        with contextlib.redirect_stdout(io.StringIO()):
            return self._executor.run(program)

    @classmethod
    def from_source(cls, source: str, filename: str = "<your code>") -> LocalSubject:
        """Execute ``source`` in a fresh module and wrap what it defines.

        Raises:
            SubjectError: the source does not compile or raises.
        """
        module = types.ModuleType("submission")
        module.__file__ = filename
        sys.modules["submission"] = module
        executor = Executor(module.__dict__, (filename,))
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(source, filename, "exec"), module.__dict__)
        except SyntaxError as error:
            raise SubjectError("SyntaxError", str(error.msg), error.lineno) from error
        except (Exception, SystemExit) as error:
            e = executor._describe_error(error)
            raise SubjectError(e["type"], e["message"], e["line"]) from error
        return cls(module.__dict__, source, (filename,))


def as_subject(thing: Any, name: str) -> Subject:
    """Make a subject of what a notebook cell has in its hands.

    Args:
        thing: a `Subject`; a proxy with a method ``__course_subject__() -> Subject`` (the grader's
            judge hands these to its cells); or the learner's own function or class.
        name: the name the exercise gives it.
    """
    if isinstance(thing, Subject):
        return thing
    hook = getattr(type(thing), "__course_subject__", None)
    if hook is not None:
        return hook(thing)
    return LocalSubject({name: thing}, _source_of(thing))


def _source_of(thing: Any) -> str | None:
    """All cells run so far in a notebook, else the object's own source."""
    try:
        shell = get_ipython()  # type: ignore[name-defined]
        return "\n".join(cell for cell in shell.user_ns["In"] if cell)
    except NameError:
        pass
    try:
        return inspect.getsource(inspect.getmodule(thing) or thing)
    except (OSError, TypeError):
        return None
