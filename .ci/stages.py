#!/usr/bin/env python3
"""Run the tests as named stages, time each, and say at the end what passed, failed or did not run.

    python .ci/stages.py [--slow] [--only lint,unit] [--budget-minutes 30] [--tally]

`make test` is all stages but `others` and `slow`; `make test-all` adds those. A stage that lacks a
tool (Chromium, bubblewrap) is skipped with the reason, and fails where CI=true. A failing stage
does not stop the next one, except the stages that need its result.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "_build" / "test-reports"
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
TOOLS = {
    "chromium": (CHROMIUM, "apt-get install chromium"),
    "bwrap": (("bwrap",), "apt-get install bubblewrap"),
}
NOT_FAST = "slow or book or browser or grading"


@dataclass
class Stage:
    """One named step of the tests: its commands, run in order until one fails."""

    name: str
    does: str
    commands: list[list[str]]
    needs: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    minutes: float = 20


@dataclass
class Outcome:
    """How a stage ended: passed, FAILED, skipped, not run or left out, and why."""

    stage: str
    state: str
    seconds: float = 0.0
    reason: str = ""
    counts: dict[str, int] = field(default_factory=dict)


def python(*arguments: str) -> list[str]:
    """A command of this environment's Python."""
    return [sys.executable, *arguments]


def pytest(stage: str, *arguments: str) -> list[str]:
    """pytest, with its counts written where the summary finds them."""
    return python("-m", "pytest", "-q", f"--junitxml={REPORTS / stage}.xml", *arguments)


def stages() -> list[Stage]:
    """Every stage but `slow`, in the order they run."""
    workers = ["-n", str(min(CORES, 4)), "--dist", "loadfile"]
    return [
        Stage(
            "lint",
            "ruff, spelling, notebooks without outputs",
            [
                python("-m", "ruff", "check", "."),
                python("-m", "ruff", "format", "--check", "."),
                python("-m", "codespell_lib"),
                python(".ci/notebooks_clean.py"),
            ],
        ),
        Stage("types", "mypy over course/ and benchmarks/", [python("-m", "mypy")]),
        Stage(
            "floors",
            "imports in course/ only go down",
            [[str(Path(sys.executable).parent / "lint-imports"), "--no-logo"]],
        ),
        Stage(
            "unit",
            "unit, property and oracle tests",
            [pytest("unit", "-m", f"not ({NOT_FAST})", *workers)],
        ),
        Stage(
            "notebooks",
            "every notebook of book/ and solutions/",
            [python("book/_ext/execute.py", "book", "solutions")],
        ),
        Stage(
            "book",
            "the pages, warnings as errors, and what they hold",
            [
                python("book/_ext/build.py"),
                pytest("book", "-m", "book and not (slow or browser or grading)"),
            ],
            needs=("notebooks",),
        ),
        Stage(
            "exercises",
            "exercises/ is what solutions/ generates",
            [python("solutions/regenerate.py", "--check")],
        ),
        Stage(
            "browser",
            "the widgets, dragged in Chromium",
            [pytest("browser", "-m", "browser and not (slow or grading)", *workers)],
            needs=("book",),
            tools=("chromium",),
        ),
        Stage(
            "grading",
            "nbgrader, from submission to feedback",
            [pytest("grading", "-m", "grading and not slow")],
            needs=("exercises",),
            tools=("bwrap",),
        ),
    ]


OTHERS = Stage(
    "others",
    "what needs no torch, under the other Pythons of this machine",
    [python(".ci/torch_free.py")],
)
NOTHING_TO_RUN = 77  # what a command exits with to say so; it has printed why


def environment() -> dict[str, str]:
    """The stages' environment: this Python's programs first, no windows, threads to fit."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "MPLBACKEND": "Agg", "PYTHONUNBUFFERED": "1"}


def run(command: list[str], seconds: float) -> tuple[int, str]:
    """Run a command in a process group of its own; returns its exit code and what went wrong."""
    shown = " ".join(command).replace(sys.executable, "python").replace(f"{ROOT}{os.sep}", "")
    print(f"$ {shown}", flush=True)
    process = subprocess.Popen(command, cwd=ROOT, env=environment(), start_new_session=True)
    try:
        code = process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        end(process)
        return 1, f"`{shown}` ran past {seconds / 60:.0f} minutes and was ended"
    except BaseException:
        end(process)
        raise
    return code, "" if code == 0 else f"`{shown}` exited {code}"


def end(process: subprocess.Popen[bytes]) -> None:
    """End a command and all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=10)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def missing_tool(stage: Stage) -> str:
    """The first tool the stage needs that is not on this machine, or ""."""
    for tool in stage.tools:
        names, how = TOOLS[tool]
        if not any(shutil.which(name) for name in names):
            return f"{tool} is missing ({how})"
    return ""


def counts_of(report: Path) -> dict[str, int]:
    """Passed, failed and skipped, from a report that pytest wrote."""
    total = {"passed": 0, "failed": 0, "skipped": 0}
    for suite in ElementTree.parse(report).getroot().iter("testsuite"):
        failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped = int(suite.get("skipped", 0))
        total["failed"] += failed
        total["skipped"] += skipped
        total["passed"] += int(suite.get("tests", 0)) - failed - skipped
    return total


def run_stage(stage: Stage, done: dict[str, Outcome]) -> Outcome:
    """Run one stage, unless a tool or an earlier stage is missing."""
    print(f"\n=== {stage.name}: {stage.does}", flush=True)
    blocked = [name for name in stage.needs if name in done and done[name].state != "passed"]
    if blocked:
        return Outcome(stage.name, "not run", reason=f"{blocked[0]} did not pass")
    lacking = missing_tool(stage)
    if lacking:
        state = "FAILED" if os.environ.get("CI") == "true" else "skipped"
        return Outcome(stage.name, state, reason=lacking)
    for report in REPORTS.glob(f"{stage.name}*.xml"):
        report.unlink()
    start = time.monotonic()
    code, reason = 0, ""
    for command in stage.commands:
        left = stage.minutes * 60 - (time.monotonic() - start)
        code, reason = run(command, max(left, 1))
        if reason:
            break
    seconds = time.monotonic() - start
    counts: dict[str, int] = {}
    for report in sorted(REPORTS.glob(f"{stage.name}*.xml")):
        for key, value in counts_of(report).items():
            counts[key] = counts.get(key, 0) + value
    state = {0: "passed", NOTHING_TO_RUN: "skipped"}.get(code, "FAILED")
    return Outcome(stage.name, state, seconds, reason, counts)


def slow_files() -> list[str]:
    """The test files that hold slow tests, by asking pytest."""
    command = python("-m", "pytest", "-qq", "--collect-only", "-m", "slow", "-p", "no:randomly")
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True)
    if done.returncode not in (0, 5):  # 5: no test is slow
        raise RuntimeError(f"pytest could not list the slow tests:\n{done.stdout}{done.stderr}")
    names = [line.split("::")[0].rsplit(": ", 1)[0] for line in done.stdout.splitlines()]
    return sorted({name for name in names if name.endswith(".py")})


def run_slow(budget: float | None, done: dict[str, Outcome]) -> list[Outcome]:
    """The slow tests, a file at a time; within a budget, those that fit, and the rest named."""
    outcomes = []
    start = time.monotonic()
    for number, name in enumerate(slow_files(), 1):
        left = None if budget is None else budget - (time.monotonic() - start) / 60
        title = f"slow {number}"
        # The longest file takes seven minutes on two cores: one is begun only with room for it.
        if left is not None and left < 12:
            outcomes.append(Outcome(title, "left out", reason=f"{name}: {left:.0f} min left"))
            continue
        stage = Stage(
            title, name, [pytest(title, "-m", "slow", name)], minutes=60 if left is None else left
        )
        outcomes.append(run_stage(stage, done))
    if not outcomes:
        outcomes.append(Outcome("slow", "passed", reason="no test is marked slow"))
    return outcomes


def summary(outcomes: list[Outcome]) -> bool:
    """Print a line a stage, then pytest's counts over all of them; returns whether all is well."""
    total = {"passed": 0, "failed": 0, "skipped": 0}
    print("\n=== summary")
    for one in outcomes:
        for key, value in one.counts.items():
            total[key] += value
        told = ", ".join(f"{value} {key}" for key, value in one.counts.items() if value)
        notes = "; ".join(part for part in (told, one.reason) if part)
        print(f"{one.stage:<10} {one.state:<8} {one.seconds:7.1f} s  {notes}")
    wrong = [one.stage for one in outcomes if one.state in ("FAILED", "not run")]
    if wrong:
        print(f"not passed: {', '.join(wrong)}")
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return not wrong


def tally() -> bool:
    """The counts of every report that this clone's last runs left, run by run."""
    reports = sorted(REPORTS.glob("*.xml"))
    return summary(
        [
            Outcome(path.stem, "FAILED" if counts["failed"] else "passed", counts=counts)
            for path in reports
            for counts in [counts_of(path)]
        ]
    )


def main() -> int:
    """Run the stages asked for; exit 1 when one of them did not pass."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="stages by name, with commas between")
    parser.add_argument("--slow", action="store_true", help="the slow tests too")
    parser.add_argument("--budget-minutes", type=float, help="slow tests only while these last")
    parser.add_argument("--tally", action="store_true", help="only add up the last runs' counts")
    arguments = parser.parse_args()
    if arguments.tally:
        return 0 if tally() else 1
    known = stages()
    names = [name for name in arguments.only.split(",") if name]
    unknown = set(names) - {stage.name for stage in known} - {"others", "slow"}
    if unknown:
        parser.error(f"no stage {sorted(unknown)}; there are {[stage.name for stage in known]}")
    REPORTS.mkdir(parents=True, exist_ok=True)
    done: dict[str, Outcome] = {}
    wanted = [one for one in known if not names or one.name in names]
    if arguments.slow or "others" in names:
        wanted.append(OTHERS)
    for stage in wanted:
        done[stage.name] = one = run_stage(stage, done)
        print(f"--- {one.stage}: {one.state} {one.reason}".rstrip(), flush=True)
    outcomes = list(done.values())
    if arguments.slow or "slow" in names:
        outcomes += run_slow(arguments.budget_minutes, done)
    return 0 if summary(outcomes) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        sys.exit(130)
