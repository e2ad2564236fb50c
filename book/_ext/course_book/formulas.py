"""Formulas to HTML while the book is built, by KaTeX in one Node process.

In place of sphinxcontrib-katex's own server, which listens at a socket, is connected to before it
listens where the machine is busy, and gives up after five seconds there.
"""

from __future__ import annotations

import atexit
import json
import subprocess
from pathlib import Path
from typing import Any

_SCRIPT = """
const katex = require(process.argv[1]);
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { latex, options } = JSON.parse(line);
  let answer;
  try { answer = { html: katex.renderToString(latex, options) }; }
  catch (error) { answer = { error: String(error.message) }; }
  process.stdout.write(JSON.stringify(answer) + "\\n");
});
"""


class FormulaError(RuntimeError):
    """KaTeX could not be run; a formula that does not parse is not an error here, it is shown."""


class Renderer:
    """One Node process; a line with a formula goes in, a line with HTML comes out."""

    def __init__(self, node: str, katex: Path, options: dict[str, Any]) -> None:
        self.options = options
        self.known: dict[tuple[str, bool], str] = {}
        self.process = subprocess.Popen(
            [node, "-e", _SCRIPT, str(katex)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        atexit.register(self.close)

    def __call__(self, latex: str, options: dict[str, Any] | None = None) -> str:
        """The formula as HTML with MathML; ``options`` may ask for ``displayMode``.

        Raises
        ------
        FormulaError
            If Node ended, or KaTeX refused.
        """
        display = bool((options or {}).get("displayMode"))
        if (latex, display) not in self.known:
            self.known[latex, display] = self._ask(latex, display)
        return self.known[latex, display]

    def _ask(self, latex: str, display: bool) -> str:
        stdin, stdout = self.process.stdin, self.process.stdout
        if stdin is None or stdout is None:
            raise FormulaError("the renderer is closed")
        question = {"latex": latex, "options": {**self.options, "displayMode": display}}
        try:
            stdin.write(json.dumps(question) + "\n")
            stdin.flush()
            line = stdout.readline()
        except OSError as error:
            raise FormulaError(f"Node ended while it rendered formulas: {error}") from error
        if not line:
            raise FormulaError(f"Node ended (status {self.process.wait()}) at the formula {latex}")
        answer = json.loads(line)
        if "html" not in answer:
            raise FormulaError(f"KaTeX refuses {latex}: {answer['error']}")
        return str(answer["html"])

    def close(self) -> None:
        """End the process; it ends by itself when its input does."""
        if self.process.stdin is not None and not self.process.stdin.closed:
            self.process.stdin.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
