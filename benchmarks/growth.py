"""How parallel work grows: 1 and 2 workers doing it, then 4 to 64 asleep for as long as it takes.

All parallel work of the course goes through :func:`course.parallel.executor`; here it is given
pieces of a training run. This machine has few cores, so from 4 workers on a piece is a *sleep* of
the measured time of one piece: that shows what the executor and Dask's scheduler cost, not what
more cores would give.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

from benchmarks.cluster import cluster, wait_for_workers
from benchmarks.comparison import Comparison, Context
from benchmarks.measure import summary
from benchmarks.results import Row
from course.parallel import executor, limit_threads

Work = list[tuple[Any, ...]]


def piece(number: int, steps: int, small: bool) -> float:
    """Train one rung for some steps on one thread; its last loss."""
    limit_threads(1)
    import torch

    from course.models import build_rung
    from course.training import Batches, Trainer

    sizes = (64, 32, 2, 16) if small else (1024, 128, 4, 128)
    torch.manual_seed(number)
    tokens = torch.randint(sizes[0], (20_000,))
    model = build_rung("one-block", *sizes)
    batches = Batches(tokens, sizes[3], 8, seed=number)
    return Trainer(model, batches, steps=steps).run(progress=False)[-1]


def asleep(seconds: float) -> float:
    """In place of the work."""
    time.sleep(seconds)
    return seconds


def timed(function: Callable[..., Any], work: Work, pool: Executor, slots: int) -> float:
    """Seconds for all of the work, after each slot has done one piece (imports, warm-up)."""
    for future in [pool.submit(function, *work[0]) for _ in range(slots)]:
        future.result()
    start = time.perf_counter()
    for future in [pool.submit(function, *arguments) for arguments in work]:
        future.result()
    return time.perf_counter() - start


def on_dask(
    context: Context, function: Callable[..., Any], work: Work, workers: int, threads: int = 1
) -> float:
    """Seconds on ``workers`` processes with ``threads`` slots each."""
    with cluster(context.folder / "dask", workers, threads) as running:
        wait_for_workers(running.address, workers)
        with executor(scheduler=running.address) as pool:
            return timed(function, work, pool, workers * threads)


def run(context: Context) -> list[Row]:
    pieces = context.pick(12, 2)
    work = [(n, context.pick(40, 2), context.quick) for n in range(pieces)]
    rows: list[Row] = []
    seconds: dict[int, dict[str, float]] = {}
    for workers in (1, 2):
        values: dict[str, list[float]] = {"Dask": [], "local processes": []}
        for number in range(context.rounds):
            context.say(f"{workers} workers, round {number + 1} of {context.rounds}")
            values["Dask"].append(on_dask(context, piece, work, workers))
            with executor(workers) as pool:
                values["local processes"].append(timed(piece, work, pool, workers))
        seconds[workers] = {name: summary(v).median for name, v in values.items()}
        pairs = seconds[workers].items()
        gain = {f"{name}: × one worker": seconds[1][name] / s for name, s in pairs}
        rows.append(Row(f"{pieces} pieces of training, workers: {workers}", "s", values, (), gain))
    item = seconds[1]["Dask"] / pieces
    for workers in context.pick((4, 8, 16, 32, 64), (4,)):
        context.say(f"{workers} workers, asleep")
        sleeps = [(item,)] * (4 * workers)
        took = on_dask(context, asleep, sleeps, 2, workers // 2)
        rows.append(
            Row(
                f"SLEEPS in place of the work, workers: {workers}", "s", {"Dask": [took]}, (),
                {"× one worker": len(sleeps) * item / took,
                 "% of the time asleep": 100 * len(sleeps) * item / workers / took},
                note=f"{len(sleeps)} sleeps of {item:.3g} s, the measured time of one piece; "
                f"slots of two worker processes",
            )
        )  # fmt: skip
    return rows


COMPARISON = Comparison(
    name="growth",
    title="More workers",
    against="one worker",
    run=run,
    seconds=150,
    rounds=1,
)
