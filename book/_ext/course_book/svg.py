"""Figures inside the page: matplotlib's SVG as part of the HTML, in the reader's colours.

An image loaded from a file keeps the colours it was drawn in. A figure that is part of the page
takes the page's: each colour of the light palette becomes its CSS variable, words take the
page's font, and the description becomes the figure's label for a screen reader.
"""

from __future__ import annotations

import html
import re

from course.figures.palette import LIGHT, variable

# One point of a figure on the page, pixels: its 10-point words come out as large as the text.
SCALE = 1.72
_BY_COLOUR = {value.lower(): f"var({variable(name)})" for name, value in LIGHT.items()}
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b")
_FONT = re.compile(r"\s*font-family:[^;\"]*;?")
# a hundredth of a point is finer than any screen; words and ids hold no such number
_NUMBER = re.compile(r"(?<![\w.#-])-?\d+\.\d{3,}(?![\w.])")
_PATH = re.compile(r'<path d="([^"]+)"([^>]*)/>')
_SIZE = re.compile(r'<svg[^>]*?\bwidth="([\d.]+)pt"[^>]*?\bheight="([\d.]+)pt"')


def is_figure(svg: str) -> bool:
    """Whether ``svg`` is one of ours: drawn by matplotlib, with its size in points."""
    return 'id="figure_1"' in svg and _SIZE.search(svg) is not None


def recolour(svg: str) -> str:
    """Each colour of the palette as its variable; other colours stay."""
    return _COLOUR.sub(lambda m: _BY_COLOUR.get(m[0].lower(), m[0]), svg)


def _own_ids(svg: str, prefix: str) -> str:
    """Ids that are referred to get ``prefix``, the others go: a page has several figures."""
    used = set(re.findall(r"url\(#([^)]+)\)", svg)) | set(re.findall(r'href="#([^"]+)"', svg))

    def rename(match: re.Match[str]) -> str:
        return f' id="{prefix}-{match[1]}"' if match[1] in used else ""

    svg = re.sub(r'\s+id="([^"]+)"', rename, svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
    return re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', svg)


def _shorter(svg: str) -> str:
    """Coordinates to a hundredth of a point. Only inside tags: what a label says stays as it is."""

    def rounded(match: re.Match[str]) -> str:
        return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")

    return re.sub(r"<[^>]+>", lambda tag: _NUMBER.sub(rounded, tag[0]), svg)


def _without_idle_groups(svg: str) -> str:
    """Groups that set nothing are taken out of the text, and their content stays."""
    kept: list[bool] = []  # for each open group, whether it stays

    def one(match: re.Match[str]) -> str:
        if match[0] == "</g>":
            return "</g>" if kept.pop() else ""
        kept.append(match[0] != "<g>")
        return match[0] if kept[-1] else ""

    return re.sub(r"<g\b[^>]*>|</g>", one, svg)


def _joined(svg: str) -> str:
    """Neighbouring shapes that look alike as one: the bars of a chart, the cells of a map.

    Only opaque ones without an outline: two of those drawn together look as drawn in turn.
    """

    def one(match: re.Match[str]) -> str:
        shapes = _PATH.findall(match[0])
        look = shapes[0][1]
        if "opacity" in look or "stroke" in look or "url(#" in look.split("style=")[-1]:
            return match[0]
        return f'<path d="{" ".join(d.strip() for d, _ in shapes)}"{look}/>'

    return re.sub(r'<path d="[^"]+"([^>]*)/>(?:\s*<path d="[^"]+"\1/>)+', one, svg)


def inline(svg: str, alt: str, prefix: str) -> str:
    """The figure as HTML.

    Parameters
    ----------
    svg
        The file's text.
    alt
        What the figure shows, in words.
    prefix
        Unique on the page; starts the figure's ids.

    Raises
    ------
    ValueError
        If it is not one of our figures, or ``alt`` says nothing.
    """
    size = _SIZE.search(svg)
    if size is None:
        raise ValueError("an SVG without a size in points is not one of our figures")
    if not alt.strip():
        raise ValueError("a figure needs words that say what it shows (alt text)")
    width = float(size[1]) * SCALE
    body = re.sub(r"^.*?(?=<svg)", "", svg, flags=re.DOTALL)
    body = re.sub(r"\s*<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    # one rule for every element: in a page it would reach beyond this figure
    body = re.sub(r"\s*<defs>\s*<style.*?</style>\s*</defs>", "", body, flags=re.DOTALL)
    view = re.search(r'viewBox="([^"]+)"', body)
    if view is None:
        raise ValueError("an SVG without a viewBox cannot be scaled to the page")
    body = re.sub(r"^<svg[^>]*>", "", body)
    body = _own_ids(_FONT.sub("", recolour(body)), prefix)
    body = _shorter(body)
    body = re.sub(r"\s*\n\s*", " ", body).replace("> <", "><")
    body = _joined(_without_idle_groups(body))
    label = html.escape(alt, quote=True)
    return (
        f'<svg class="figure" role="img" aria-label="{label}" viewBox="{view[1]}" '
        f'style="max-width:{width:.0f}px" xmlns="http://www.w3.org/2000/svg" '
        f'xmlns:xlink="http://www.w3.org/1999/xlink">{body}'
    )
