"""What one submission may use: seconds, memory, processes, files, output."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Limits:
    """The budget of one notebook. Every field can be set in ``nbgrader_config.py``.

    Attributes:
        cell_seconds: wall seconds for one of the learner's cells, and for all that one test cell
            asks of the learner's code.
        notebook_seconds: wall seconds for everything the learner's code does in one notebook.
        test_seconds: wall seconds for the test itself, the learner's part included.
        memory_mb: memory on top of what the warm parent has already loaded.
        processes: processes and threads at once.
        file_mb: the largest file that can be written.
        scratch_mb: the size of the scratch directory (it is memory).
        cell_output: bytes of text kept of one cell.
        notebook_output: bytes of text and pictures kept of one notebook.
        message_mb: the largest message between the processes.
    """

    cell_seconds: float = 20.0
    notebook_seconds: float = 90.0
    test_seconds: float = 120.0
    memory_mb: int = 2048
    processes: int = 48
    file_mb: int = 64
    scratch_mb: int = 256
    cell_output: int = 50_000
    notebook_output: int = 2_000_000
    message_mb: int = 128

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not value > 0:
                raise ValueError(f"the limit {name} must be positive, got {value!r}")

    @property
    def cpu_seconds(self) -> int:
        """CPU seconds of one process: a process that hides from the clock still ends."""
        return int(self.notebook_seconds) + 5

    def to_dict(self) -> dict[str, Any]:
        """All fields, for a record or a message."""
        return asdict(self)
