"""What a page shows of an executed notebook: no trace of the machine, the hour or the runner.

Removed: the cell that papermill injects, its and the kernel's time stamps, absolute paths, the
last line of a progress bar, the date in a figure, the state of widgets that no page can show.
The names of widgets become their number in the notebook, so that two runs of one notebook
differ only where their results do.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from course_book import crossref

Notebook = dict[str, Any]

STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_KERNEL_FILE = re.compile(r"\S*ipykernel_\d+[/\\]\d+\.py")
_BAR = re.compile(r"^.*\d+%\|.*\|.*\[.*\].*$|^\s*\d+(it|tok|step)s? \[.*\]\s*$")
_SVG_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)


def plain(text: str) -> str:
    """``text`` without terminal colours."""
    return _ANSI.sub("", text)


def settle(text: str) -> str:
    """What a terminal would show at the end: a carriage return overwrites its line."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(next((s for s in reversed(line.split("\r")) if s), "") for line in lines)


def without_bars(text: str) -> str:
    """``text`` without the finished progress bars (a live notebook shows them, a page need not)."""
    kept = [line for line in settle(text).split("\n") if not _BAR.match(line)]
    return "\n".join(kept) if any(line.strip() for line in kept) else ""


def _paths(root: Path) -> list[tuple[str, str]]:
    """(absolute path, what to show), the longest first."""
    pairs = {
        str(root): ".",
        str(root.resolve()): ".",
        sys.prefix: "<environment>",
        sys.base_prefix: "<python>",
        tempfile.gettempdir(): "<temporary>",
        str(Path.home()): "~",
    }
    shown = [(p, s) for p, s in pairs.items() if len(p) > 2]  # never replace "/" itself
    return sorted(shown, key=lambda pair: -len(pair[0]))


def relative(text: str, root: Path) -> str:
    """``text`` with the absolute paths of this machine replaced."""
    text = _KERNEL_FILE.sub("<cell>", text)
    for absolute, shown in _paths(root):
        # a whole path only: /root must not eat the start of /rootless
        text = re.sub(re.escape(absolute) + r"(?=[/\\\s'\":),\]]|$)", lambda _, s=shown: s, text)
    return text.replace("./", "", 1) if text.startswith("./") else text


def _clean_value(value: Any, root: Path) -> Any:
    if isinstance(value, str):
        return relative(value, root)
    if isinstance(value, list):
        return [_clean_value(v, root) for v in value]
    return value


def _joined(value: Any) -> str:
    return "".join(value) if isinstance(value, list) else str(value)


def _clean_output(output: dict[str, Any], root: Path) -> dict[str, Any] | None:
    """One output as the page shows it, or ``None`` for one that shows nothing."""
    kind = output["output_type"]
    if kind == "stream":
        output["text"] = relative(without_bars(_joined(output["text"])), root)
        return output if output["text"].strip() else None
    if kind == "error":
        output["traceback"] = [relative(line, root) for line in output.get("traceback", [])]
        output["evalue"] = relative(output.get("evalue", ""), root)
        return output
    data = output.get("data", {})
    if VIEW in data:
        # the page draws the widget; "ScaledSoftmax(...)" beside it helps nobody
        output["data"] = {VIEW: data[VIEW], **{k: v for k, v in data.items() if k == "text/html"}}
    for mime, value in data.items():
        if mime == "image/svg+xml":
            data[mime] = _SVG_METADATA.sub("", _joined(value))
        elif mime.startswith("text/"):
            data[mime] = _clean_value(value, root)
    return output


def _merge_streams(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Neighbouring pieces of one stream as one: a bar arrives in hundreds of pieces."""
    merged: list[dict[str, Any]] = []
    for output in outputs:
        last = merged[-1] if merged else None
        if (
            last is not None
            and output["output_type"] == last["output_type"] == "stream"
            and output["name"] == last["name"]
        ):
            last["text"] = _joined(last["text"]) + _joined(output["text"])
        else:
            merged.append(output)
    return merged


def _prune_widgets(notebook: Notebook) -> None:
    """Keep the state of anywidgets: the only ones a page without a kernel can draw."""
    widgets = notebook["metadata"].get("widgets", {})
    saved = widgets.get(STATE)
    if saved is None:
        return
    state = saved.get("state", {})
    keep = {i: m for i, m in state.items() if m.get("model_module") == "anywidget"}
    if not keep:
        del notebook["metadata"]["widgets"]
        return
    saved["state"] = keep
    notebook["metadata"]["widgets"] = {STATE: saved}


def _rename_widgets(notebook: Notebook, stem: str) -> Notebook:
    """Model ids in order of appearance, ``05-scaling-w1``, instead of random ones."""
    widgets = notebook["metadata"].get("widgets", {})
    state = widgets.get(STATE, {}).get("state", {})
    if not state:
        return notebook
    views = [
        output["data"][VIEW]["model_id"]
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if VIEW in output.get("data", {})
    ]
    order = [*views, *state]
    known = dict.fromkeys(i for i in order if i in state)
    text = json.dumps(notebook)
    for number, model in enumerate(known, start=1):
        text = text.replace(model, f"{stem}-w{number}")
    renamed: Notebook = json.loads(text)
    return renamed


def clean(notebook: Notebook, root: Path, stem: str) -> Notebook:
    """The executed ``notebook`` (nbformat 4 as plain data) as a page should show it."""
    notebook["metadata"].pop("papermill", None)
    cells = []
    for cell in notebook["cells"]:
        if "injected-parameters" in cell["metadata"].get("tags", []):
            continue
        for name in ("papermill", "execution", "collapsed", "scrolled"):
            cell["metadata"].pop(name, None)
        if cell["cell_type"] == "code":
            merged = _merge_streams(cell["outputs"])
            cleaned = (_clean_output(output, root) for output in merged)
            cell["outputs"] = [output for output in cleaned if output is not None]
        elif cell["cell_type"] == "markdown":
            cell["source"] = crossref.numbered(_joined(cell["source"]))
        cells.append(cell)
    notebook["cells"] = cells
    _prune_widgets(notebook)
    return _rename_widgets(notebook, stem)
