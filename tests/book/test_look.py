"""One visual language: the palette, the figures, the hidden answers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from course.figures import palette, reveal, style
from tests.book import minibook

from course_book import assets, code, svg  # isort: skip

STATIC = minibook.REPOSITORY / "book" / "_static"

# look.md's table, typed a second time on purpose: a change has to be made twice.
LIGHT = dict(ink="#1d2229", paper="#fffdf9", query="#c2410c", key="#0f766e", value="#6d28d9")
LIGHT |= dict(average="#6b7280", attention="#1d4ed8", wrong="#b91c1c")
DARK = dict(ink="#e8e6e1", paper="#15181c", query="#ff9a5c", key="#4fd1c5", value="#b79cff")
DARK |= dict(average="#9aa3af", attention="#8fb0ff", wrong="#ff8a8a")


def test_the_style_sheet_is_the_palette() -> None:
    assert (STATIC / "palette.css").read_text(encoding="utf-8") == palette.css()
    assert {n: palette.LIGHT[n] for n in LIGHT} == LIGHT
    assert {n: palette.DARK[n] for n in DARK} == DARK
    for theme in palette.THEMES.values():
        for name, value in theme.items():
            assert f"{palette.variable(name)}: {value};" in palette.css()


def test_no_colour_is_written_down_anywhere_else() -> None:
    css = (STATIC / "course.css").read_text(encoding="utf-8")
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b(?![^{]*\{)", css) == []
    used = set(re.findall(r"var\((--course-[a-z]+)\)", css))
    assert used <= {palette.variable(name) for name in palette.LIGHT}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_can_be_read_on_paper_and_behind_code(theme: str) -> None:
    colours = palette.THEMES[theme]
    words = set(colours) - {"paper", "surface", "line", "faint"}
    for name in words:
        for ground in ("paper", "surface"):
            ratio = palette.contrast(colours[name], colours[ground])
            assert ratio >= 4.5, (theme, name, ground, ratio)


def oklab_lightness(colour: str) -> float:
    """Lightness in Oklab (Ottosson 2020), 0 to 1."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in palette.rgb(colour)
    ]
    to_lms = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
    ]
    to_lms.append([0.0883024619, 0.2817188376, 0.6299787005])
    cones = np.cbrt(np.array(to_lms) @ np.array(linear))
    return float(np.array([0.2104542553, 0.7936177850, -0.0040720468]) @ cones)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_weights_go_evenly_from_paper_to_full(theme: str) -> None:
    colours = palette.THEMES[theme]
    weights = np.linspace(0, 1, 41)
    shades = [palette.mix(colours["attention"], colours["paper"], w) for w in weights]
    assert shades[0] == colours["paper"]
    assert shades[-1] == colours["attention"]
    light = np.array([oklab_lightness(s) for s in shades])
    steps = np.diff(light)
    assert (steps < 0).all() or (steps > 0).all()
    even = light[0] + (light[-1] - light[0]) * weights
    assert np.abs(light - even).max() < 0.04 * abs(light[-1] - light[0]) + 0.01


@pytest.mark.parametrize("weight", [-0.01, 1.01])
def test_a_weight_outside_zero_to_one_is_refused(weight: float) -> None:
    with pytest.raises(ValueError, match=str(weight)):
        palette.weight_rgba(weight)


def test_the_palette_needs_no_matplotlib() -> None:
    source = (
        "import sys, course.figures.palette, course.figures; print('matplotlib' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


# ------------------------------------------------------------------ figures


@pytest.fixture
def styled():
    with mpl.rc_context():
        style.use_style()
        yield
    plt.close("all")


def drawn(figure: plt.Figure, folder: Path) -> str:
    path = folder / "figure.svg"
    figure.savefig(path, metadata={"Date": None})
    return path.read_text(encoding="utf-8")


def test_a_figure_follows_the_readers_theme(styled: None, tmp_path: Path) -> None:
    figure, ax = plt.subplots()
    ax.plot([0, 1], [0, 1], **style.OURS)
    ax.plot([0, 1], [1, 1], **style.BASELINE)
    ax.set(xlabel="width d_k", title="A claim")
    text = drawn(figure, tmp_path)
    assert svg.is_figure(text)
    assert ">width d_k</text>" in text, "words stay words"
    page = svg.inline(text, 'Blue "rises"', "fig1")
    assert 'aria-label="Blue &quot;rises&quot;"' in page
    assert "var(--course-attention)" in page
    assert "var(--course-average)" in page
    assert re.findall(r"#[0-9a-f]{6}", page) == [], "every colour is the page's"
    assert "font-family" not in page
    assert "<style" not in page
    assert len(page) < len(text)


def test_what_a_label_says_is_never_rounded(styled: None, tmp_path: Path) -> None:
    figure, ax = plt.subplots()
    ax.plot([0.00012345, 0.0004], [1, 2])
    ax.set(xticks=[0.0002], xlabel="a rate of 0.000125")
    shown = svg.inline(drawn(figure, tmp_path), "A line.", "f1")
    assert "a rate of 0.000125" in shown
    assert ">0.0002<" in shown
    assert not re.search(r' d="[^"]*\d\.\d{3}', shown), "coordinates are"


def test_figures_of_one_page_share_no_id(styled: None, tmp_path: Path) -> None:
    figure, ax = plt.subplots()
    ax.plot([0, 1], [0, 1])
    text = drawn(figure, tmp_path)
    one, two = svg.inline(text, "One", "fig1"), svg.inline(text, "Two", "fig2")
    ids = [re.findall(r'\bid="([^"]+)"', page) for page in (one, two)]
    assert ids[0]
    assert not set(ids[0]) & set(ids[1])
    for page, own in zip((one, two), ids, strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", page)) <= set(own)


def test_bars_of_one_look_become_one_shape_and_lines_stay(styled: None, tmp_path: Path) -> None:
    figure, ax = plt.subplots()
    ax.bar(range(30), range(1, 31), color=palette.LIGHT["attention"])
    for height in (3, 4):
        ax.plot([0, 29], [height, height], color=palette.LIGHT["query"])
    page = svg.inline(drawn(figure, tmp_path), "Bars and two lines", "fig1")
    bars = [p for p in re.findall(r"<path [^>]*>", page) if "fill: var(--course-attention)" in p]
    assert len(bars) == 1
    assert bars[0].count("M ") == 30
    assert page.count("stroke: var(--course-query)") == 2
    assert "<g>" not in page
    assert page.count("<g ") == page.count("</g>")


@pytest.mark.parametrize(("text", "alt"), [("<svg/>", "words"), (None, "  ")])
def test_inline_refuses_what_is_no_figure_and_what_says_nothing(
    styled: None, tmp_path: Path, text: str | None, alt: str
) -> None:
    figure, _ = plt.subplots()
    with pytest.raises(ValueError, match=r"alt text|not one of our figures"):
        svg.inline(text or drawn(figure, tmp_path), alt, "fig1")


def test_a_map_shows_masked_cells_as_hatching_and_stays_small(styled: None, tmp_path: Path) -> None:
    mask = np.tril(np.ones((64, 64), bool))
    figure, ax = plt.subplots()
    style.draw_weights(ax, mask / mask.sum(1, keepdims=True), mask=mask)
    text = drawn(figure, tmp_path)
    assert "<pattern" in text
    assert len(svg.inline(text, "A map", "fig1")) < 20_000
    figure, ax = plt.subplots()
    style.draw_weights(ax, np.eye(3))
    assert "<pattern" not in drawn(figure, tmp_path), "a weight of zero is not a masked cell"


@pytest.mark.parametrize(
    ("weights", "mask", "said"),
    [
        (np.ones((2, 2)), None, "row 0 is no distribution: it sums to 2.0000"),
        (np.ones(3), None, "not of shape"),
        (np.eye(2), np.ones((3, 2), bool), "the mask is bool"),
        (np.array([[1.5, -0.5]]), None, "no distribution"),
    ],
)
def test_what_is_no_map_is_refused(
    styled: None, weights: np.ndarray, mask: np.ndarray | None, said: str
) -> None:
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match=said):
        style.draw_weights(ax, weights, mask=mask)


def test_spread_refuses_shapes_that_differ(styled: None) -> None:
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match="differ in shape"):
        style.spread(ax, [0, 1], [0, 1], [0], "#1d4ed8")
    with pytest.raises(ValueError, match="negative"):
        style.spread(ax, [0, 1], [0, 1], [0, -1], "#1d4ed8")


# ------------------------------------------------------------------ hidden answers, code, type


def test_a_hidden_answer_is_details_and_escapes_what_it_is_given() -> None:
    answer = reveal("How far?", "By `1e-8` < *rounding* & <b>.\n\nTwice.", 3)
    page = answer._repr_html_()
    assert page.startswith('<details class="reveal">\n<summary>How far?</summary>')
    assert "<code>1e-8</code> &lt; <em>rounding</em> &amp; &lt;b&gt;." in page
    assert page.count("<p>") == 3
    assert "open" not in page.split("<summary>")[0]
    assert repr(answer).startswith("How far?")


def test_a_hidden_answer_takes_objects_that_show_themselves() -> None:
    inner = reveal("Again?", "yes")
    assert inner._repr_html_() in reveal("Once?", inner)._repr_html_()


@pytest.mark.parametrize(("summary", "body"), [("", ("x",)), ("Q", ()), ("Q", ("  ",))])
def test_an_empty_answer_is_refused(summary: str, body: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="reveal"):
        reveal(summary, *body)


def test_names_are_coloured_where_queries_meet_keys_only() -> None:
    def block(*names: str) -> str:
        inner = " ".join(f'<span class="n">{n}</span>' for n in names)
        return f'<div class="highlight"><pre>{inner}</pre>'

    assert 'class="n is-query">q<' in code.colour_names(block("q", "k", "v"))
    assert "is-" not in code.colour_names(block("k", "v", "items"))
    assert code.colour_names(block("items")) == '<div class="highlight"><pre>items</pre>'
    comment = '<div class="highlight"><pre><span class="c1"># (B, T)</span></pre>'
    assert code.colour_names(comment) == comment


def test_type_is_two_families_and_within_the_budget(tmp_path: Path) -> None:
    folder = assets.vendor(minibook.REPOSITORY, tmp_path)
    text = [folder / "fonts" / f"{name}.woff2" for _, name, _, _ in assets.FONTS]
    assert len({family for family, *_ in assets.FONTS}) <= 2
    assert sum(path.stat().st_size for path in text) <= 120 * 1024
    for sheet in ("fonts.css", "katex.min.css"):
        for name in re.findall(r"url\(\"?([^)\"]+)", (folder / sheet).read_text(encoding="utf-8")):
            assert name.startswith("data:font/woff2") or (folder / name).is_file(), name
    assert (folder / "LICENSE-katex.txt").is_file()
