"""What a feedback page shows: the learner's work, the score, and nothing that runs or is hidden."""

from __future__ import annotations

import html.parser
import time

import nbformat
import pytest

from course.grading.feedback import clean_html, safe_markdown
from course.grading.regions import hidden_lines, redact
from tests.grading.lab import SECRET, Lab

ATTACKS = (
    "<script>steal()</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<script>steal()",
    '<img src="x" onerror="steal()">',
    "<svg onload=steal()>",
    "<svg><script>steal()</script></svg>",
    '<a href="javascript:steal()">here</a>',
    '<a href=" jav&#x09;ascript:steal()">here</a>',
    '<a href="data:text/html,<script>steal()</script>">here</a>',
    '<iframe src="https://evil.example"></iframe>',
    '<object data="https://evil.example"></object>',
    '<form action="https://evil.example"><input></form>',
    '<meta http-equiv="refresh" content="0;url=https://evil.example">',
    '<link rel="stylesheet" href="https://evil.example/x.css">',
    "<style>body{background:url(https://evil.example/x.png)}</style>",
    '<div style="background:url(https://evil.example/x.png)">x</div>',
    '<img src="https://evil.example/pixel.png">',
    '<details ontoggle="steal()" open>x</details>',
    "<math><mtext></form><form><mglyph><style></math><img src onerror=steal()>",
)


class Look(html.parser.HTMLParser):
    """What in the notebook part of a page could run, or ask another server for something."""

    def __init__(self) -> None:
        super().__init__()
        self.inside = False
        self.bad: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "div" and ("id", "notebook-container") in attrs:
            self.inside = True
        if not self.inside:
            return
        if tag in ("script", "iframe", "object", "form", "link", "meta", "style"):
            self.bad.append(tag)
        for name, value in attrs:
            text = (value or "").lower()
            if name.startswith("on") or "evil.example" in text or "javascript:" in text:
                self.bad.append(f"{tag} {name}={value}")


@pytest.mark.parametrize("attack", ATTACKS)
def test_markup_that_runs_is_taken_out(attack: str) -> None:
    for page in (clean_html(attack), safe_markdown(attack), safe_markdown(f"Text.\n\n{attack}\n")):
        look = Look()
        look.feed(f'<div id="notebook-container">{page}</div>')
        assert look.bad == [], page


def test_links_and_pictures_of_markdown() -> None:
    page = safe_markdown(
        "[x](javascript:steal()) ![y](https://evil.example/p.png) [z](https://ok.org)"
    )
    assert "javascript" not in page
    assert "evil.example" not in page
    assert 'href="https://ok.org"' in page


def test_mathematics_stays_and_its_commands_that_act_go() -> None:
    page = safe_markdown(r"$\frac{q k^T}{\sqrt{d_k}}$ and $\href{javascript:steal()}{x}$")
    assert r"\frac{q k^T}{\sqrt{d_k}}" in page
    assert r"\href" not in page


def test_what_an_exercise_uses_survives() -> None:
    source = (
        "<details><summary>Hint 1</summary>\n\n`a < b` and **bold**\n\n</details>\n\n"
        "| in | out |\n|---|---|\n| x | y |\n\n```python\nif a < b: print('<b>')\n```\n"
    )
    page = safe_markdown(source)
    for kept in ("<details>", "<summary>", "<table>", "<strong>", "&lt;"):
        assert kept in page
    small = "data:image/png;base64,iVBORw0KGgo="
    assert small in clean_html(f'<img src="{small}" alt="a map">')


def test_hidden_regions() -> None:
    source = "a\n### BEGIN HIDDEN TESTS\nb\n### END HIDDEN TESTS\nc\n# BEGIN HIDDEN TESTS\nd"
    assert hidden_lines(source) == {2, 3, 4, 6, 7}  # one that is never closed reaches to the end
    assert redact(source, "…") == "a\n…\nc\n…"


def test_a_page_of_a_hostile_submission(lab: Lab) -> None:
    nb = lab.notebook()
    show = "from IPython.display import HTML, SVG, Javascript, Markdown, display\n"
    svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="steal()"></svg>'
    more = f"display(SVG({svg!r}))\ndisplay(Javascript('steal()'))\n"
    nb.cells.append(nbformat.v4.new_code_cell(show + more))
    for attack in ATTACKS:
        nb.cells.append(nbformat.v4.new_markdown_cell(attack))
        code = f"display(HTML({attack!r}), Markdown({attack!r}))\nprint({attack!r})"
        nb.cells.append(nbformat.v4.new_code_cell(code))
    lab.submit("eve", nb)
    assert lab.autograde()["success"]
    assert lab.room.api.generate_feedback("tiny", "eve", force=True)["success"]
    page = lab.feedback("eve")
    assert lab.total("eve") == 10
    assert SECRET not in page
    assert "Hidden tests are run here" in page
    look = Look()
    look.feed(page)
    assert look.inside
    assert look.bad == []


@pytest.mark.parametrize(
    "source", ["<div>" * 100_000, "<b></i>" * 5000, "<" * 1_000_000, "> " * 100_000, "[" * 200_000]
)
def test_markup_that_takes_hours_is_shown_as_written(source: str) -> None:
    start = time.process_time()
    assert safe_markdown(source).startswith("<pre>")
    assert "<div>" not in clean_html(source)
    assert time.process_time() - start < 60


def test_ordinary_markup_is_not_taken_for_nesting() -> None:
    table = "<table>" + "<tr><td>a<br><b>b</b>" * 400 + "</table>"
    for source in (table, "<p>one" * 500, "- a\n" * 400, "![a](attachment:b.png)"):
        assert "<pre>" not in safe_markdown(source)
        assert "<pre>" not in clean_html(source)
