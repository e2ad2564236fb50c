"""Data of the right shape for widgets that show records: made up here, shown on no page."""

from __future__ import annotations

from typing import Any

import numpy as np

from course.widgets.arithmetic import normals, softmax


def some_logits() -> tuple[Any, list[str], list[str]]:
    """Logits (2, 60), sixty pieces, two contexts."""
    logits = 2.5 * normals(5, 0, 120).reshape(2, 60)
    pieces = [" the", "\n", *[f"piece{i}" for i in range(58)]]
    return logits, pieces, ["ROMEO:", "But soft, what light"]


def some_weights() -> tuple[Any, list[str]]:
    """Causal weights (2, 4, 9, 9) and nine tokens."""
    scores = 2 * normals(6, 0, 648).reshape(2, 4, 9, 9)
    scores[..., np.triu(np.ones((9, 9), dtype=bool), k=1)] = -np.inf
    return softmax(scores), ["the", "cat", "sat", "on", "the", "mat", "and", "slept", "."]


def some_causal_weights() -> tuple[Any, list[str]]:
    """One of these maps (9, 9), and its tokens."""
    weights, tokens = some_weights()
    return weights[0, 0], tokens


def some_cross_weights() -> tuple[Any, list[str], list[str]]:
    """Weights (6, 6) that run backwards, and two sentences."""
    scores = 5.0 * np.eye(6)[::-1]
    return softmax(scores), list("fedcba"), list("abcdef")


def some_maps() -> dict[str, Any]:
    """Maps (1, 4, 40, 40) as an experiment stores them."""
    scores = 2 * normals(7, 0, 6400).reshape(1, 4, 40, 40)
    scores[..., np.triu(np.ones((40, 40), dtype=bool), k=1)] = -np.inf
    return {"maps": softmax(scores).astype(np.float16), "pieces": [f" w{i}" for i in range(40)]}


def some_runs() -> list[dict[str, Any]]:
    """Four runs in the shape of the records of the norms."""
    return [
        {
            "norm": norm,
            "warmup": warmup,
            "mean": mean,
            "sd": 0.5,
            "n": 2,
            "published": mean + 0.25,
            "loss": [
                [s, 2.5 + 4.5 * (s / 1000 + 0.15) ** -0.3 / 1.8 + up] for s in range(0, 1001, 25)
            ],
            "gradient": [size * (1 + i / 20) for i in range(12)],
        }
        for norm, warmup, mean, up, size in [
            ("pre", False, 37.5, 0.0, 0.05),
            ("pre", True, 37.0, 0.1, 0.05),
            ("post", False, 300.0, 2.0, 0.1),
            ("post", True, 38.0, 0.2, 0.1),
        ]
    ]


def some_pronouns() -> tuple[Any, list[list[str]], list[str], list[str], Any]:
    """Weights (8, 2, 15), sentences, adjectives, referents, and scores (8, 15)."""
    adjectives = ["tired", "scared", "slow", "weak", "wet", "wide", "busy", "steep"]
    base = "the dog did not cross the road because it was too {} , so the"
    sentences = [base.format(a).split() for a in adjectives]
    scores = np.tile(normals(8, 0, 16)[:15], (8, 1))
    scores[:, 11] += normals(9, 0, 8)
    second = np.tile(normals(10, 0, 16)[:15], (8, 1))
    second[:4, 11] += 5
    second[4:, 6] += 5
    weights = np.stack([softmax(scores), softmax(second)], axis=1)
    return weights, sentences, adjectives, ["dog"] * 4 + ["road"] * 4, scores
