"""What a cell printed and displayed, as notebook outputs, within a budget of bytes."""

from __future__ import annotations

import json
import re
from typing import Any

from course.grading.limits import Limits
from course.grading.parent import Helper

KINDS = ("image/png", "image/jpeg", "image/svg+xml", "text/html", "text/latex", "text/markdown",
         "text/plain")  # fmt: skip
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")


class OutputBudget:
    """Counts what one notebook puts out. The worker's word is taken for nothing."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.left = limits.notebook_output
        self._rest: list[dict[str, Any]] = []  # printed by a worker that has died since

    def keep_text(self, worker: Helper) -> None:
        """Take what a dying worker printed."""
        self._rest += self.printed(worker)

    def printed(self, worker: Helper, *, hidden: bool = False) -> list[dict[str, Any]]:
        """Stream outputs of what was printed since the last call; nothing if ``hidden``."""
        runs, total = worker.take_text()
        if hidden:
            return []
        outputs: list[dict[str, Any]] = []
        kept = 0
        for stream, text in runs:
            text = text[: max(0, self.left)]
            self.left -= len(text)
            kept += len(text)
            if text:
                outputs.append({"output_type": "stream", "name": stream, "text": text})
        if (total > kept and total > self.limits.cell_output) or (total and not kept):
            outputs.append(self._note(f"{total:,} bytes were printed and {kept:,} are kept."))
        return outputs

    def outputs(self, worker: Helper | None, body: bytes, error: Any) -> list[dict[str, Any]]:
        """Everything a learner's cell put out: text, pictures, its error."""
        outputs, self._rest = self._rest, []
        if worker is not None:
            outputs += self.printed(worker)
        outputs += self._displays(body)
        if isinstance(error, dict):
            outputs.append(error_output(error))
        return outputs

    def test_outputs(self, text: str) -> list[dict[str, Any]]:
        """What the visible part of a test printed, and what a worker that died meanwhile did."""
        self._rest = []
        if not text:
            return []
        return [{"output_type": "stream", "name": "stdout", "text": text}]

    def _note(self, text: str) -> dict[str, Any]:
        return {"output_type": "stream", "name": "stdout", "text": f"\n[Output cut off: {text}]\n"}

    def _displays(self, body: bytes) -> list[dict[str, Any]]:
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            return []
        outputs: list[dict[str, Any]] = []
        for display in found if isinstance(found, list) else ():
            data = _bundle(display)
            if not data:
                continue
            size = sum(map(len, data.values()))
            if size > self.left:
                outputs.append(self._note(f"a display of {size:,} bytes is left out."))
                break
            self.left -= size
            outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
        return outputs


def _bundle(display: Any) -> dict[str, str]:
    """The kinds of data we keep, if they are what they should be."""
    data = display.get("data") if isinstance(display, dict) else None
    if not isinstance(data, dict):
        return {}
    kept = {k: data[k] for k in KINDS if isinstance(data.get(k), str)}
    for kind in ("image/png", "image/jpeg"):
        if kind in kept and not _BASE64.fullmatch(kept[kind]):
            del kept[kind]
    return kept


def error_output(error: dict[str, Any]) -> dict[str, Any]:
    """A notebook's error output from the plain description of one."""
    name, message = str(error.get("type", "Error"))[:200], str(error.get("message", ""))[:4000]
    lines = error.get("lines")
    shown = [str(line)[:1000] for line in lines[:10]] if isinstance(lines, list) else []
    return {"output_type": "error", "ename": name, "evalue": message,
            "traceback": [*shown, f"{name}: {message}"]}  # fmt: skip
