"""A result in words: for the terminal, and as Markdown for the book's page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Result = Mapping[str, Any]


def number(value: float) -> str:
    """Three significant digits, thousands apart, no exponent where a reader would want none."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.1e}"


def side(values: Mapping[str, Any]) -> str:
    """Median, and the middle half of the rounds where there were several."""
    spread = ""
    if len(values["values"]) > 1:
        spread = f" ({number(values['low'])} to {number(values['high'])})"
    ratio = f", × {number(values['ratio'])}" if "ratio" in values else ""
    return f"{number(values['median'])}{spread}{ratio}"


def bound(goal: Mapping[str, Any]) -> str:
    """The goal in words."""
    if "at_least" in goal:
        return f"at least {number(goal['at_least'])} {goal['unit']}".rstrip()
    return f"below {number(goal['below'])} {goal['unit']}".rstrip()


def verdict(goal: Mapping[str, Any]) -> str:
    """One line: measured, the goal, whether it is reached and, if not, why."""
    said = "reached" if goal["reached"] else f"NOT reached: {goal['why']}"
    value = f"{number(goal['value'])} {goal['unit']}".rstrip()
    return f"{goal['what']}: {value} (goal: {bound(goal)}): {said}"


def machine(result: Result) -> str:
    """Where and when, in one sentence."""
    m, git = result["machine"], result["git"]
    commit = (git["commit"] or "no commit")[:10] + (", changed files" if git["dirty"] else "")
    memory = f", {m['memory_mb'] / 1024:.0f} GiB" if m.get("memory_mb") else ""
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    load = result.get("load_before")
    busy = "" if load is None else f"; load before it began {load}"
    rounds = f"{result['rounds']} round" + ("" if result["rounds"] == 1 else "s")
    return (
        f"{result['taken']}; {m['cpu']}, {m['cores']} cores, {m['threads']} threads{memory}, "
        f"{m['system']}; {versions}; commit {commit}; {rounds}{busy}"
    )


def text(result: Result) -> str:
    """For a terminal."""
    quick = " [quick: the numbers mean nothing]" if result["quick"] else ""
    lines = [f"{result['title']}{quick}", f"  against {result['against']}"]
    for row in result["rows"]:
        lines.append(f"  {row['work']}, {row['unit']}")
        width = max(map(len, row["sides"]))
        lines += [f"    {name:<{width}}  {side(v)}" for name, v in row["sides"].items()]
        lines += [f"    {name}: {number(value)}" for name, value in row["details"].items()]
        lines += [f"    → {verdict(goal)}" for goal in row["goals"]]
    return "\n".join([*lines, f"  {machine(result)}"])


def goals_table(latest: Mapping[str, Result | None]) -> list[tuple[str, str, str, str]]:
    """One line a goal: work, measured, goal, verdict; a comparison never measured says so."""
    lines = []
    for name, result in latest.items():
        if result is None:
            lines.append((name, "not yet measured", "", "–"))
            continue
        for row in result["rows"]:
            for goal in row["goals"]:
                value = f"{number(goal['value'])} {goal['unit']}".rstrip()
                reached = "yes" if goal["reached"] else "no"
                work = f"{result['title']}: {row['work']}; {goal['what']}"
                lines.append((work, value, bound(goal), reached))
    return lines
