"""The bug museum's exhibits: each passes the ordinary tests, and is caught by the check it says."""

from __future__ import annotations

import ast
import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course.checks import self_check

NOTEBOOK = Path(__file__).parents[2] / "book" / "bug-museum.ipynb"
EXHIBITS = {
    "DividedByWidth": ("head", "divided by √d_model"),
    "Inverted": ("head", "a position must see all that precedes it"),
    "masked_softmax": ("softmax", "You hide with a finite number"),
    "Awake": ("head", "Dropout is still active in evaluation"),
    "Shown": ("head", "There is no causal mask"),
    "sample_next": ("gpt:sample_next", "You set the logits of the rest to 0"),
    "WrongAxis": ("head", "Your softmax runs over the queries"),
}


@pytest.fixture(scope="module")
def exhibits() -> dict[str, Any]:
    """The classes and functions that the notebook's cells define."""
    names: dict[str, Any] = {"math": math, "torch": torch, "nn": nn, "F": F}
    wanted = {"Head", "probe", *EXHIBITS}
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            for node in ast.parse("".join(cell["source"])).body:
                if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name in wanted:
                    exec(ast.unparse(node), names)
    return names


def test_the_head_that_they_change_is_right(exhibits: dict[str, Any]) -> None:
    report = self_check("head", exhibits["Head"], seed=1).report
    assert report.score == report.max_score


@pytest.mark.parametrize("name", EXHIBITS)
def test_an_exhibit_is_caught_by_what_it_says(name: str, exhibits: dict[str, Any]) -> None:
    slug, sentence = EXHIBITS[name]
    for seed in (0, 1):
        report = self_check(slug, exhibits[name], seed=seed).report
        assert report.score < report.max_score
        said = [f.sentence for f in report.findings] + [o.message for o in report.outcomes]
        assert any(sentence in text for text in said), said


@pytest.mark.parametrize("name", ["DividedByWidth", "Inverted", "Awake", "Shown", "WrongAxis"])
def test_an_exhibit_passes_the_ordinary_tests(name: str, exhibits: dict[str, Any]) -> None:
    torch.manual_seed(0)
    head = exhibits[name](12, 5, 9)
    x, target = torch.randn(4, 7, 12), torch.randn(4, 7, 5)
    optimizer = torch.optim.Adam(head.parameters(), lr=0.01)
    losses = []
    for _ in range(40):
        loss = F.mse_loss(head(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    out = head(x)
    assert out.shape == (4, 7, 5)
    assert out.isfinite().all()
    assert all(p.grad is not None for p in head.parameters())
    assert losses[-1] < losses[0], "it trains"
