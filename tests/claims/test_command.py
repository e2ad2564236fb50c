"""`python -m course claims`: every claim or those asked for, and when it exits with 1."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from course.claims import cli
from course.claims.base import (
    VERDICTS,
)
from course.claims.ledger import IDS
from tests.claims.made import put

ROOT = Path(__file__).resolve().parents[2]


def test_the_command_prints_every_claim(capsys):
    assert cli.main(["--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [claim["id"] for claim in printed["claims"]] == list(IDS)
    assert sum(printed["counts"].values()) == 58
    for claim in printed["claims"]:
        assert set(claim) == {
            "id",
            "title",
            "statement",
            "published",
            "measured",
            "check",
            "verdict",
            "explanation",
            "ours",
            "evidence",
        }
        assert claim["verdict"] in VERDICTS


def test_the_command_takes_ids_and_refuses_others(capsys):
    assert cli.main(["A23", "C8"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("A23 holds ")
    assert "124,439,808" in out
    assert "2 holds" in out
    assert cli.main(["A99"]) == 2
    assert "no claim 'A99'" in capsys.readouterr().err


def test_strict_exits_with_1_where_a_claim_does_not_hold(capsys):
    put("ladder", "no-context", {"held_out": 99.0, "train": 1.0})
    assert cli.main(["A2"]) == 0
    assert cli.main(["A2", "--strict"]) == 1
    assert "does not hold" in capsys.readouterr().out


def test_listing_claims_loads_no_torch():
    code = (
        "import sys; from course.claims import claims; assert len(claims()) == 58; "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
