"""Where a peer is not installed its comparisons are skipped, with the command that installs it."""

from __future__ import annotations

import pytest

from benchmarks import peers


def require_peers(*names: str) -> None:
    """Skip unless these can be imported: `make setup` installs no peers, `make bench` does."""
    absent = peers.missing(names)
    if absent:
        pytest.skip(f"{', '.join(absent)} not installed: python -m benchmarks --install")


@pytest.fixture(name="require_peers", scope="session")
def _require_peers():
    """The function, for tests that ask for it by name."""
    return require_peers
