"""What every widget of the course has in common, Python's side.

A widget is one ``.py`` (its traits, its strings, a Python twin of its numbers) and one ``.js``
(the same numbers, its controls, its picture). The class here puts the shared frame in front of
the widget's JavaScript, so that each widget is a single ES module with no imports: it loads from
a blob, which is what the built page, JupyterLab and Colab all do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import numpy as np
import traitlets

from course.figures import palette
from course.widgets.arithmetic import fill, pack, unpack

HERE = Path(__file__).parent

Strings = Mapping[str, Any]
COMMON_STRINGS: Strings = {
    "reset": "Reset",
    "look_for_label": "Look for:",
    "logarithmic": "log scale",
    "picture": "The picture; its numbers are in the text below it.",
    "one_seed": "{mean:.1f} (one seed)",
    "seeds": "{mean:.1f} ± {sd:.1f} ({n:d} seeds)",
    "missing": "Not yet measured. {command}",
}


def theme_css() -> str:
    """The palette for the inside of a widget, light and dark, wherever the widget is shown.

    The book, JupyterLab and Colab say themselves which theme they are in
    (``palette.DARK_SELECTORS``); on a page that says nothing, the reader's system decides.
    """
    scoped = palette.css(".course-widget")
    dark = ";".join(f"{palette.variable(n)}:{c}" for n, c in palette.DARK.items())
    block = f".course-widget{{color-scheme:dark;{dark}}}"
    says = "[data-jp-theme-light],[data-vscode-theme-kind]"
    silent = f"html:not([data-theme],[theme]) body:not({says}) {block}"
    editor = f'body[data-vscode-theme-kind="vscode-dark"] {block}'
    return f"{scoped}{editor}@media (prefers-color-scheme:dark){{{silent}}}\n"


def _file(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def measured(row: Mapping[str, Any], strings: Strings) -> str:
    """A recorded mean as text: ``12.3 ± 0.4 (3 seeds)``, or ``12.3 (one seed)``."""
    return fill(strings["one_seed" if row["n"] == 1 else "seeds"], row)


class Array(traitlets.TraitType[Any, Any]):
    """A numpy array that travels as JSON (base64), or None. See :func:`pack` for the dtypes."""

    info_text = "a numpy array or None"

    def __init__(self, dtype: str, ndim: int, **kwargs: Any) -> None:
        self.dtype, self.ndim = dtype, ndim
        kwargs.setdefault("allow_none", True)
        kwargs.setdefault("default_value", None)
        super().__init__(**kwargs)
        self.tag(sync=True, to_json=lambda a, _: pack(a), from_json=lambda j, _: unpack(j))

    def validate(self, obj: Any, value: Any) -> Any:
        """``value`` as an array of the declared dtype; ``TraitError`` for another rank."""
        array = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
        if array.ndim != self.ndim:
            raise traitlets.TraitError(
                f"{self.name} has {self.ndim} axes, not the {array.ndim} of shape {array.shape}"
            )
        return array.astype(self.dtype)


class CourseWidget(anywidget.AnyWidget):
    """Base class of the widgets.

    A subclass sets ``STRINGS`` (everything it says, so that it can be translated: ``title``,
    ``look_for``, ``readout``, optionally ``table``), its traits tagged ``sync=True``, and
    :meth:`numbers`. Its JavaScript is the file with the class's name in snake case, after the
    shared parts named in ``PARTS``.

    Args of every widget:
        strings: replacements for some of ``STRINGS``. ``ValueError`` names an unknown key.
    """

    STRINGS: ClassVar[Strings] = {}
    PARTS: ClassVar[tuple[str, ...]] = ()
    FILE: ClassVar[str] = ""  # for widgets that share one JavaScript file
    HEIGHTS: ClassVar[tuple[int, int]] = (520, 420)  # px at 360 and at 700 px width

    strings = traitlets.Dict().tag(sync=True)
    missing = traitlets.Unicode("").tag(sync=True)  # a sentence instead of the picture
    reserve = traitlets.List(traitlets.Int()).tag(sync=True)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Put the ES module and the style sheet together."""
        name = cls.FILE or re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        if "STRINGS" in cls.__dict__:  # traitlets also subclasses, to add traits: leave those alone
            parts = ("frame.js", *cls.PARTS, f"{name}.js")
            cls._esm = "\n".join(_file(part) for part in parts)
            sheets = [Path(part).stem + ".css" for part in parts]
            styles = [_file(sheet) for sheet in sheets if (HERE / sheet).exists()]
            cls._css = theme_css() + "".join(styles)
        super().__init_subclass__(**kwargs)

    def __init__(self, *, strings: Strings | None = None, **traits: Any) -> None:
        known = {**COMMON_STRINGS, **self.STRINGS}
        if unknown := sorted(set(strings or {}) - set(known)):
            raise ValueError(f"{type(self).__name__} says nothing called {', '.join(unknown)}")
        traits.setdefault("reserve", [240, 180] if traits.get("missing") else list(self.HEIGHTS))
        super().__init__(strings={**known, **(strings or {})}, **traits)

    @classmethod
    def not_measured(cls, experiment: str) -> str:
        """The sentence a widget shows where the records it needs do not exist yet."""
        command = f"The command is: python -m course experiments run {experiment}"
        return str({**COMMON_STRINGS, **cls.STRINGS}["missing"]).replace("{command}", command)

    def numbers(self) -> dict[str, Any]:
        """What the picture shows for the present traits: the twin of the JavaScript's numbers."""
        raise NotImplementedError

    def _say(self, name: str, chosen: str | None) -> Any:
        return self.strings.get(f"{name}_{chosen}" if chosen else name)

    def readout(self) -> str:
        """The sentence under the picture, word for word as the page shows it."""
        if self.missing:
            return self.missing
        n = self.numbers()
        return fill(self._say("readout", n.get("say")), n)

    def table(self) -> list[list[str]]:
        """The small table under the picture, cell for cell; ``[]`` where a widget has none."""
        if self.missing:
            return []
        n = self.numbers()
        rows = self._say("table", n.get("table")) or []
        return [[fill(cell, n) for cell in row] for row in rows]

    def __repr__(self) -> str:
        """What is shown where no JavaScript runs (also the output's text/plain)."""
        return f"{type(self).__name__}: {self.strings.get('title', '')}. {self.readout()}"
