"""The colours of the course, written down once.

The pages (``book/_static/palette.css`` is :func:`css`, a test holds the two equal), the figures
(:mod:`course.figures.style`) and the widgets all take them from here. A figure is drawn in the
light colours; where the book puts it into a page, every colour of :data:`LIGHT` is replaced by
its variable (:func:`variable`), so that the figure follows the reader's theme.

A query is orange on any page, a key teal, a value violet; grey and dashed is the average, blue
and solid is attention; red always comes with a cross.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the palette itself needs no matplotlib: the book's build reads it too
    from matplotlib.colors import ListedColormap

Colour = tuple[float, float, float]


def rgb(hex_colour: str) -> Colour:
    """``"#1d2229"`` → three numbers from 0 to 1. Raises ``ValueError`` on anything else."""
    if len(hex_colour) != 7 or not hex_colour.startswith("#"):
        raise ValueError(f"not a colour of the form #rrggbb: {hex_colour!r}")
    r, g, b = (int(hex_colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return r, g, b


def mix(over: str, under: str, amount: float) -> str:
    """``over`` laid on ``under`` with opacity ``amount`` (0 to 1), as a browser blends it."""
    if not 0.0 <= amount <= 1.0:
        raise ValueError(f"amount is an opacity from 0 to 1, not {amount}")
    pairs = zip(rgb(over), rgb(under), strict=True)
    return "#" + "".join(f"{round(255 * (amount * o + (1 - amount) * u)):02x}" for o, u in pairs)


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.2, "relative luminance")."""

    def luminance(colour: str) -> float:
        linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb(colour))
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _theme(**named: str) -> Mapping[str, str]:
    """The named colours, and the quiet ones that are mixed from ink and paper."""
    ink, paper = named["ink"], named["paper"]
    named["muted"] = mix(ink, paper, 0.72)  # secondary text: still at least 4.5 : 1
    named["line"] = mix(ink, paper, 0.16)  # hairlines, axes' spines
    named["faint"] = mix(ink, paper, 0.48)  # hatching
    named["surface"] = mix(ink, paper, 0.025)  # behind code
    return MappingProxyType(named)


LIGHT: Mapping[str, str] = _theme(
    ink="#1d2229",
    paper="#fffdf9",
    query="#c2410c",
    key="#0f766e",
    value="#6d28d9",
    average="#6b7280",
    attention="#1d4ed8",
    wrong="#b91c1c",
)
DARK: Mapping[str, str] = _theme(
    ink="#e8e6e1",
    paper="#15181c",
    query="#ff9a5c",
    key="#4fd1c5",
    value="#b79cff",
    average="#9aa3af",
    attention="#8fb0ff",
    wrong="#ff8a8a",
)
THEMES: Mapping[str, Mapping[str, str]] = MappingProxyType({"light": LIGHT, "dark": DARK})

# Who says that a page is dark: the book's theme, JupyterLab and Notebook, Colab.
DARK_SELECTORS = (
    'html[data-theme="dark"]',
    'body[data-jp-theme-light="false"]',
    "html[theme=dark]",
)


def variable(name: str) -> str:
    """The CSS variable of a colour: ``"query"`` → ``"--course-query"``. ``KeyError`` if unknown."""
    if name not in LIGHT:
        raise KeyError(f"no colour is called {name!r}; there are {', '.join(LIGHT)}")
    return f"--course-{name}"


def css(scope: str = "") -> str:
    """The palette as CSS variables, light and dark.

    ``scope`` is a selector (``".course-widget"``): then the variables exist inside it only, for
    places that do not load the book's style sheet. Without one they hold for the whole page.
    """
    dark = ",\n".join(f"{s} {scope}".strip() for s in DARK_SELECTORS)
    blocks = []
    for selector, scheme, colours in ((scope or ":root", "light", LIGHT), (dark, "dark", DARK)):
        lines = [f"  {variable(name)}: {value};" for name, value in colours.items()]
        blocks.append("\n".join([f"{selector} {{", f"  color-scheme: {scheme};", *lines, "}"]))
    head = "/* Generated from course/figures/palette.py: `python -m course.figures.palette`. */"
    return "\n".join([head, *blocks]) + "\n"


def weight_rgba(weight: float, theme: str = "light") -> tuple[float, float, float, float]:
    """Colour of an attention weight: attention's blue with opacity ``weight``.

    0 is bare paper and 1 is full, in either theme, whatever lies beneath; so one scale serves
    every map on a page. Raises ``ValueError`` for a weight outside 0 to 1.
    """
    if not 0.0 <= weight <= 1.0:
        raise ValueError(f"a weight lies between 0 and 1, not {weight}")
    return (*rgb(THEMES[theme]["attention"]), weight)


def weights_cmap(theme: str = "light") -> ListedColormap:
    """The same scale as a matplotlib colour map; use it with ``vmin=0, vmax=1``."""
    from matplotlib.colors import ListedColormap

    colours = [weight_rgba(i / 255, theme) for i in range(256)]
    return ListedColormap(colours, name=f"course-weights-{theme}")


def main() -> None:
    """Write the style sheet of the book (run from the repository's root)."""
    from pathlib import Path

    from course.files import atomic_write_text

    target = Path(__file__).parents[2] / "book" / "_static" / "palette.css"
    atomic_write_text(target, css())
    print(target)


if __name__ == "__main__":
    main()
