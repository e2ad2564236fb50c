"""Every widget, how a reader moves it, and the further states in which the numbers are compared."""

from __future__ import annotations

import pytest

from tests.widgets.harness import Case, Move

CASES = [
    Case(
        "ScaledSoftmax()",
        moves=[
            Move("d_k", 1.0, lambda n: n["undivided"]["mean_tokens"] < 1.3),
            Move("row", 0.5, lambda n: 100 < n["row"] < 156),
            Move("d_k", 0.0, lambda n: 38 < n["divided"]["mean_tokens"] < 43),
        ],
        states=[{"d_k": d, "row": r} for d, r in [(4, 0), (5, 9), (64, 1), (100, 70), (1024, 255)]],
    ),
    Case(
        "ShuffledAverage()",
        moves=[
            Move("shuffle", 0.5, lambda n: n["moved"]["average"] == 0 < n["moved"]["weighted"]),
            Move("slope", 0.0, lambda n: n["moved"]["weighted"] == 0),
            Move("shuffle", act="shuffle"),
        ],
        states=[{"shuffle": s, "slope": v} for s, v in [(0, 0.5), (1, 0.5), (77, 1.5), (200, 0.0)]],
    ),
    Case(
        "AveragingMatrix()",
        moves=[
            Move("T", 1.0, lambda n: n["T"] == 32 and n["products"] == 1024),
            Move("row", 1.0, lambda n: n["row"] == 32 and abs(n["weight"] - 1 / 32) < 1e-12),
            Move("T", 0.2, lambda n: n["row"] == n["T"] == 8),
        ],
        states=[{"T": T, "row": r} for T, r in [(2, 1), (8, 5), (32, 32), (6, 20)]],
    ),
    Case(
        "AveragingMatrix([(8, 1e-4, 2e-5), (64, 8e-4, 3e-5), (512, 6e-3, 4e-4)])",
        moves=[Move("T", 0.6)],
    ),
    Case(
        "MaskedSoftmaxRow()",
        moves=[
            Move("scores", (1, 0.0), lambda n: n["weights"][1] < 0.05 and n["leak"] == 0),
            Move("mask", "−1e4", lambda n: n["leak"] == 0),
            Move("shift", 0.55, lambda n: n["leak"] > 0.99),
            Move("dtype", "float16"),
        ],
        states=[
            {"shift": s, "mask": m, "dtype": d}
            for s in (0.0, -100.0, -30000.0, -1e5, -1e9, -1e10)
            for m, d in [("−∞", "float32"), ("−1e9", "bfloat16"), ("−1e4", "float16")]
        ],
    ),
    Case(
        "WorkedAttention()",
        moves=[
            Move("masked", None, lambda n: n["weights"][0] == [1.0, 0.0, 0.0]),
            Move("projections", "own", lambda n: n["asymmetry"] > 0.1),
            Move("row", "2", lambda n: n["token"] == "cat"),
            Move("x", 0.9, lambda n: n["out"][0][0] == 0.9),
        ],
        states=[
            {"masked": m, "projections": p, "row": r}
            for m, p, r in [(False, "same", 1), (True, "same", 2), (True, "own", 1)]
        ],
    ),
    Case(
        "ParameterCount()",
        moves=[
            Move("preset", "GPT-2 XL", lambda n: n["total"] == 1_557_611_200),
            Move("d_model", 0.0, lambda n: n["share"]["embedding"] > 0.5),
            Move("n_layers", 1.0, lambda n: abs(n["mlp"] - 2 / 3) < 0.005),
        ],
        states=[
            {"d_model": c, "n_layers": n, "vocab_size": v}
            for c, n, v in [(768, 12, 50257), (64, 1, 256), (12288, 96, 50257), (100, 3, 5000)]
        ],
    ),
    Case(
        "QuadraticCost(measured=[(1024, 89.1), (4096, 1100.1)])",
        moves=[
            Move("n", 7 / 13, lambda n: n["n"] == 16384 and n["scores"] == 8192),
            Move("dtype", "float16", lambda n: n["scores"] == 4096),
            Move("n", 1.0),
        ],
        states=[{"n": n, "dtype": d} for n in (128, 4096, 2**20) for d in ("float32", "float16")],
    ),
    Case(
        "LearningRate()",
        moves=[
            Move("warmup", 1.0, lambda n: n["warmup"] == 16000 and n["phase"] == "still rising"),
            Move("step", 0.99, lambda n: n["phase"] == "falling"),
            Move("d_model", 0.0, lambda n: 9.8 < n["top"] < 9.9),
        ],
        states=[
            {"d_model": d, "warmup": w, "step": s}
            for d, w, s in [(512, 4000, 4000), (64, 250, 1), (2048, 16000, 20000)]
        ],
    ),
    Case(
        "PositionReach({'learned': [(64, 40.0), (256, 90.0)], 'ALiBi': [(64, 45.0), (256, 42.0)]})",
        moves=[
            Move("distance", 0.5, lambda n: n["distance"] == 128),
            Move("head", 1.0, lambda n: abs(n["bias"] - 0.5) < 1e-12),
            Move("pair", 0.0, lambda n: n["theta"] == 1),
        ],
        states=[{"distance": d, "pair": p, "head": 1} for d, p in [(0, 1), (256, 1), (37, 16)]],
    ),
    Case("PositionReach({})", moves=[Move("distance", 1.0)]),
    Case(
        "LadderMap()",
        moves=[Move("rung", 5 / 9, lambda n: n["rung"] == 6), Move("rung", 0.0)],
        states=[{"rung": r} for r in range(1, 11)],
    ),
    Case(
        "Quiz([{'question': 'How much is 1 + 1?', 'choices': ['1', '2'], 'correct': 1, "
        "'why': ['That is one alone.', 'One and one more.']}, {'question': 'And 2 + 2?', "
        "'choices': ['three', 'four', 'five'], 'correct': 1, "
        "'why': ['One short.', 'Two twice.', 'One over.']}])",
        moves=[
            Move("answer-0", "0", lambda n: n["right"] == 0),
            Move("tries", act="check-0", check=lambda n: n == {"right": 0, "total": 2, "tries": 1}),
            Move("answer-0", "1", lambda n: n["right"] == 0),
            Move("tries", act="check-0", check=lambda n: n == {"right": 1, "total": 2, "tries": 2}),
        ],
        states=[{"answers": [1, 0], "checked": [True, True], "tries": [1, 3]}],
    ),
    Case(
        "Quiz('05-scaling')",
        moves=[
            Move("answer-0", "1"),
            Move("tries", act="check-0", check=lambda n: n == {"right": 1, "total": 4, "tries": 1}),
        ],
    ),
    Case(
        "NextToken(*some_logits())",
        moves=[
            Move("temperature", 0.0, lambda n: n["kept"] == 1 and n["best"] == 1.0),
            Move("temperature", 1.0, lambda n: n["kept"] == n["total"]),
            Move("top_k", 4 / 7, lambda n: n["kept"] == 10),
            Move("top_p", 0.5, lambda n: n["kept"] < 10),
            Move("context", "1"),
        ],
        states=[
            {"temperature": t, "top_k": k, "top_p": p, "context": c}
            for t, k, p, c in [
                (1.0, 0, 1.0, 0),
                (0.2, 40, 0.9, 1),
                (2.0, 3, 0.5, 0),
                (0.0, 0, 1.0, 1),
            ]
        ],
    ),
    Case(
        "AttentionMap(*some_weights())",
        moves=[
            Move("query", 0.5),
            Move("head", "0", lambda n: n["head"] == 0),
            Move("layer", "2", lambda n: n["layer"] == 2),
        ],
        states=[
            {"layer": a, "head": b, "query": c} for a, b, c in [(1, 1, 1), (2, 0, 9), (2, 3, 5)]
        ],
    ),
    Case(
        "FromAverage(*some_causal_weights())",
        moves=[
            Move("strength", 0.0, lambda n: n["weight"] == pytest.approx(1 / 9)),
            Move("strength", 1.0, lambda n: n["effective"] < 6),
            Move("query", 0.0, lambda n: n["row"][0] == 1),
        ],
        states=[{"strength": s, "query": q} for s, q in [(0.0, 4), (1.0, 9), (2.0, 6), (0.35, 2)]],
    ),
    Case("CrossAttentionMap(*some_cross_weights())", moves=[Move("query", 0.0)]),
    Case("HeadMaps(some_maps())", moves=[Move("head", "3"), Move("query", 0.3)]),
    Case(
        "NormsAndWarmup(some_runs())",
        moves=[
            Move("warmup", None, lambda n: n["mean"] == 38.0),
            Move("norm", "pre", lambda n: n["mean"] == 37.0),
        ],
        states=[{"norm": a, "warmup": b} for a in ("pre", "post") for b in (True, False)],
    ),
    Case(
        "PronounMaps(*some_pronouns())",
        moves=[
            Move("adjective", "5", lambda n: n["adjective"] == "wide"),
            Move("against", "1", lambda n: n["against"] == "scared"),
        ],
        states=[{"adjective": a, "against": b} for a, b in [(0, 4), (7, 7), (2, 6)]],
    ),
]

# Made where nothing is recorded: they say that nothing is measured, and how to measure it.
WITHOUT_RECORDS = [
    "NextToken.from_record(['a'])",
    "HeadMaps()",
    "CrossAttentionMap()",
    "PronounMaps()",
    "NormsAndWarmup()",
    "FromAverage()",
]
