"""One executor: local processes that share the machine, or a Dask cluster; no scheduling here."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
import time
from concurrent.futures import Executor, Future

import pytest

from course.parallel import available_cores, executor, keep_freed_memory, limit_threads


def square(x: int) -> int:
    return x * x


def threads() -> tuple[str, int]:
    import torch

    return os.environ["OMP_NUM_THREADS"], torch.get_num_threads()


def fail(x: int) -> int:
    raise ArithmeticError(f"no {x}")


def test_local_processes_do_the_work():
    with executor(2) as pool:
        assert isinstance(pool, Executor)
        assert list(pool.map(square, range(5))) == [0, 1, 4, 9, 16]
        assert pool.submit(os.getpid).result() != os.getpid()
        with pytest.raises(ArithmeticError, match="no 3"):
            pool.submit(fail, 3).result()


def test_each_process_gets_its_share_of_the_threads():
    share = max(1, available_cores() // 2)
    with executor(2) as pool:
        assert pool.submit(threads).result() == (str(share), share)


def test_an_error_cancels_what_has_not_begun():
    futures: list[Future[None]] = []

    def begin_and_fail():
        with executor(1) as pool:
            futures.extend(pool.submit(time.sleep, 0.5) for _ in range(20))
            raise KeyError("stop")

    with pytest.raises(KeyError):
        begin_and_fail()
    assert all(future.done() for future in futures)
    assert sum(future.cancelled() for future in futures) > 10


def test_wrong_numbers_are_named():
    with pytest.raises(ValueError, match="jobs must be at least 1, got 0"), executor(0):
        pass
    with pytest.raises(ValueError, match="threads must be at least 1, got -2"):
        limit_threads(-2)


def test_without_dask_it_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **keywords):
        if name.partition(".")[0] == "distributed":
            raise ModuleNotFoundError("No module named 'distributed'", name="distributed")
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)
    with (
        pytest.raises(ModuleNotFoundError, match=r"attention-from-average\[cluster\]"),
        executor(scheduler="tcp://127.0.0.1:1"),
    ):
        pass


def test_an_address_where_nothing_answers_is_named(monkeypatch):
    distributed = pytest.importorskip("distributed")

    def silent(address, timeout):
        raise OSError(f"Timed out trying to connect to {address} after {timeout}")

    monkeypatch.setattr(distributed, "Client", silent)
    with (
        pytest.raises(ConnectionError, match="no Dask scheduler answers at tcp://127"),
        executor(scheduler="tcp://127.0.0.1:1"),
    ):
        pass


def test_importing_it_loads_neither_torch_nor_dask():
    code = (
        "import sys, course.parallel; "
        "assert not {'torch', 'distributed', 'dask', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_kept_memory_is_a_setting_that_glibc_takes():
    pytest.importorskip("torch", reason="torch is not installed here")
    code = (
        "from course.parallel import keep_freed_memory; import torch; "
        "assert keep_freed_memory(); x = torch.ones(5_000_000); del x; "
        "assert float(torch.ones(5_000_000).sum()) == 5e6"
    )
    if not keep_freed_memory():
        pytest.skip("not glibc: the setting does not exist here")
    subprocess.run([sys.executable, "-c", code], check=True)
