"""What attention costs: two tensors of a layer are n × n, the rest is linear in n (A22).

One layer of width 512 with eight heads, batch 1, float32, no mask, forward.  Each length is
measured in a fresh process under an address limit of 8 GiB: peak resident memory above what the
process held before the call, and the least of several times.  The last length does not fit, and
that is its result.  Beside the layer that builds the n × n tensors stands the same layer on
PyTorch's memory-efficient kernel.  Times are to be read as ratios.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from course.experiments.base import Experiment, Metric, Result, Row, Run

_GIB = 1 << 30
_MIB = 1 << 20
_CONFIG = {
    "d_model": 512,
    "n_heads": 8,
    "shortest": 128,
    "longest": 16384,
    "limit_gib": 8,
    "repeats": 3,
}
_FITTED = 4  # the exponents are those of the last lengths that fit


def run(run: Run) -> Result:
    """Measure one kernel at every length; each length measured already is kept in a checkpoint."""
    config = run.config
    lengths = [config["shortest"]]
    while lengths[-1] < config["longest"]:
        lengths.append(2 * lengths[-1])
    saved = run.checkpoint.load()
    done: list[dict[str, float]] = saved["done"] if saved else []
    for n in lengths[len(done) :]:
        run.progress(len(done), len(lengths), f"n = {n}")
        done.append(in_fresh_process(n, config))
        run.checkpoint.save({"done": done})
    run.progress(len(done), len(lengths), "")
    return Result(summarise(done, config), curves={"cost": by_column(lengths, done, config)})


def in_fresh_process(n: int, config: dict[str, Any]) -> dict[str, float]:
    """One length, measured by :func:`measure_one` in a process of its own.

    Raises:
        RuntimeError: the process failed for another reason than a lack of memory.
    """
    call = "import sys; from course.experiments.cost import measure_one; measure_one(sys.argv[1])"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-c", call, json.dumps({"n": n, **config})],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if done.returncode == 0:
        found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return found
    # A process that the kernel killed for memory (-9) has given the same answer as one that says so
    if (
        done.returncode == -9
        or "MemoryError" in done.stderr
        or "alloc" in done.stderr
        or ("out of memory" in done.stderr)
    ):
        return {}
    raise RuntimeError(
        f"n = {n}: the measuring process ended with status {done.returncode}: "
        f"{done.stderr.strip()[-500:]}"
    )


def measure_one(text: str) -> None:
    """In the fresh process: limit its memory, measure, print JSON."""
    config = json.loads(text)
    cuda = config["where"] == "cuda"
    if not cuda:
        import resource

        limit = config["limit_gib"] * _GIB
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    import torch

    from course.attention import MultiHeadAttention

    if cuda:
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, config["limit_gib"] * _GIB / total))
    torch.manual_seed(0)
    device = "cuda" if cuda else "cpu"
    layer = MultiHeadAttention(config["d_model"], config["n_heads"], causal=False).to(device)
    plain = config["kernel"] == "plain"

    def attend(x: Any) -> None:
        layer(x, return_weights=plain)

    def project(x: Any) -> None:
        for linear in (layer.q_proj, layer.k_proj, layer.v_proj, layer.o_proj):
            linear(x)

    with torch.no_grad():
        attend(torch.randn(1, 8, config["d_model"], device=device))  # load what the calls load
        x = torch.randn(1, config["n"], config["d_model"], device=device)
        peak = _peak_mib(lambda: attend(x), cuda)
        found = {
            "peak_mb": peak,
            "seconds": _least(lambda: attend(x), config["repeats"], cuda),
            "projection_seconds": _least(lambda: project(x), config["repeats"], cuda),
        }
    print(json.dumps(found))


def _peak_mib(call: Any, cuda: bool) -> float:
    """Peak memory of a call above what was held before it, in MiB."""
    if cuda:
        import torch

        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        call()
        torch.cuda.synchronize()
        return float(torch.cuda.max_memory_allocated() - before) / _MIB
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # Linux: set the peak back to what is resident now
    before = _status_kib("VmHWM")
    call()
    return (_status_kib("VmHWM") - before) / 1024


def _status_kib(field: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(field):
                return int(line.split()[1])
    raise RuntimeError(f"/proc/self/status has no {field}: this measurement needs Linux")


def _least(call: Any, repeats: int, cuda: bool) -> float:
    import time

    best = math.inf
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        if cuda:
            import torch

            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return best


def by_column(
    lengths: list[int], done: list[dict[str, float]], config: dict[str, Any]
) -> dict[str, list[Any]]:
    """The table by columns; a length that did not fit has None for what was not measured."""
    scores = [config["n_heads"] * n * n * 4 / _MIB for n in lengths]
    columns: dict[str, list[Any]] = {"n": [float(n) for n in lengths], "scores_mb": scores}
    for name in ("peak_mb", "seconds", "projection_seconds"):
        columns[name] = [found.get(name) for found in done]
    return columns


def summarise(done: list[dict[str, float]], config: dict[str, Any]) -> dict[str, Any]:
    """Exponents over the last four lengths that fit, growth per doubling, what did not fit."""
    fitting = [(config["shortest"] * 2**i, found) for i, found in enumerate(done) if found]
    last = fitting[-_FITTED:]
    metrics: dict[str, Any] = {
        "longest_fitting": fitting[-1][0],
        "largest_peak_mb": fitting[-1][1]["peak_mb"],
        "out_of_memory": len(fitting) < len(done),
    }
    for name, key in (
        ("memory", "peak_mb"),
        ("time", "seconds"),
        ("projection", "projection_seconds"),
    ):
        metrics[f"{name}_exponent"] = slope(
            (math.log(n), math.log(max(found[key], 1e-9))) for n, found in last
        )
    ratios = [
        after[1]["peak_mb"] / max(before[1]["peak_mb"], 1e-9) for before, after in pairwise(fitting)
    ]
    metrics["largest_memory_ratio"] = max(ratios[-_FITTED:], default=1.0)
    return metrics


def slope(points: Iterable[tuple[float, float]]) -> float:
    """Slope of the least-squares line; 0 for a single point.

    >>> slope([(0, 1), (1, 3), (2, 5)])
    2.0
    """
    pairs = list(points)
    mean_x = sum(x for x, _ in pairs) / len(pairs)
    mean_y = sum(y for _, y in pairs) / len(pairs)
    spread = sum((x - mean_x) ** 2 for x, _ in pairs)
    return sum((x - mean_x) * (y - mean_y) for x, y in pairs) / spread if spread else 0.0


def _row(kernel: str, where: str, label: str, published: dict[str, float]) -> Row:
    name = kernel if where == "cpu" else f"{kernel}-{where}"
    return Row(
        name,
        label,
        {**_CONFIG, "kernel": kernel, "where": where, "device": where},
        published,
        optional=where != "cpu",
    )


EXPERIMENT = Experiment(
    name="cost",
    title="What a layer of attention costs, by length",
    claims=("A22",),
    rows=(
        _row(
            "plain",
            "cpu",
            "the n × n tensors built (CPU)",
            {"memory_exponent": 1.87, "time_exponent": 1.91, "largest_peak_mb": 4300.1},
        ),
        _row("efficient", "cpu", "memory-efficient kernel (CPU)", {}),
        _row("plain", "cuda", "the n × n tensors built (GPU)", {}),
        _row("efficient", "cuda", "memory-efficient kernel (GPU)", {}),
    ),
    run=run,
    metrics=(
        Metric("memory_exponent", "memory grows with n to the"),
        Metric("time_exponent", "time grows with n to the"),
        Metric("largest_peak_mb", "peak at the longest that fits", "MB", 1),
        Metric("longest_fitting", "longest that fits", "tokens", 0),
    ),
    quick={"longest": 1024, "repeats": 1},
    seeds=1,
    trains=False,
)
