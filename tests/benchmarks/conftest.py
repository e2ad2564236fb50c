"""Where a peer is not installed its comparisons are skipped, with the command that installs it.

Under ``CI=true`` they fail, as with any tool that is missing there.
"""

from __future__ import annotations

import pytest

from benchmarks import peers
from tests.conftest import IN_CI


def require_peers(*names: str) -> None:
    """Skip unless these can be imported: `make setup` installs no peers, `make bench` does."""
    absent = peers.missing(names)
    if absent:
        reason = f"{', '.join(absent)} not installed: python -m benchmarks --install"
        if IN_CI:
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)


@pytest.fixture(name="require_peers", scope="session")
def _require_peers():
    """The function, for tests that ask for it by name."""
    return require_peers
