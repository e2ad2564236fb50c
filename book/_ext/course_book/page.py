"""What each page's template gets, and the last changes to its HTML."""

from __future__ import annotations

import html
import json
import os
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from course.figures.palette import LIGHT, variable
from course_book import (
    code,
    exercise,
    keys,
    nav,
    pdf,
    places,
    svg,
    swap,
    tables,
    texts,
    widget_code,
)
from course_book.clean import STATE
from course_book.downloads import Address, exercises
from course_book.whole import whole

logger = logging.getLogger(__name__)

WORDS_A_MINUTE = 220
# A cell of code is read too, but not word by word: seconds a line.
SECONDS_A_LINE = 2.0
DESCRIPTION_LENGTH = 155

# The style sheets and scripts of the page are our own; other extensions add theirs to every page.
_KEEP_ALWAYS = ("widgets-static", "course.", "palette.")
# a label that hides the words from a screen reader, and paragraphs where no paragraph may be
_FOLDED = re.compile(
    r'<summary aria-label="Toggle hidden content">\s*'
    r'<p class="collapsed[^>]*>(.*?)</p>\s*<p class="expanded.*?</p>\s*</summary>',
    re.DOTALL,
)
_EMPTY_HEAD = '<th class="head"><p></p></th>'
_IMAGE = re.compile(r"<img\b[^>]*>")
_INLINE_COLOUR = re.compile(r"(color:\s*)(#[0-9a-fA-F]{6})")
_KATEX_ERROR = re.compile(r'<span class="katex-error" title="([^"]*)"')
_BY_COLOUR = {value.lower(): f"var({variable(name)})" for name, value in LIGHT.items()}


def _attribute(tag: str, name: str) -> str:
    found = re.search(rf'\b{name}="([^"]*)"', tag)
    return html.unescape(found[1]) if found else ""


def _no_real_alt(alt: str, src: str) -> bool:
    """No words, or a file's name in their place."""
    return not alt.strip() or alt == src or re.search(r"[0-9a-f]{20}|\.(svg|png)$", alt) is not None


class Figures:
    """Replaces the images of one page by inline figures; warns of those without words."""

    def __init__(self, app: Sphinx, pagename: str) -> None:
        self.pagename = pagename
        self.images = app.builder.images
        self.files = {name: path for path, name in self.images.items()}
        self.srcdir = Path(app.srcdir)
        self.count = 0

    def replace(self, match: re.Match[str]) -> str:
        tag = match[0]
        src, alt = _attribute(tag, "src"), _attribute(tag, "alt")
        if _no_real_alt(alt, src):
            logger.warning(
                "an image has no alt text (cell metadata `mystnb: {image: {alt: …}}`): %s",
                src,
                location=self.pagename,
                type="course_book",
            )
            return tag
        path = self.files.get(src.rsplit("/", 1)[-1])
        if path is None or not src.endswith(".svg"):
            return tag
        text = (self.srcdir / path).read_text(encoding="utf-8")
        if not svg.is_figure(text):
            return tag
        self.count += 1
        self.images.pop(path, None)  # it need not be copied into the book as a file as well
        return svg.inline(text, alt, f"fig{self.count}")


def description(doctree: nodes.document | None, given: str = "") -> str:
    """The page in a sentence, for search engines: ``given``, else its first paragraph."""
    text = given
    if not text and doctree is not None:
        paragraphs = (p for p in doctree.findall(nodes.paragraph) if not texts.is_a_note(p))
        text = next((p.astext() for p in paragraphs if len(p.astext()) > 40), "")
    text = " ".join(text.split())
    if len(text) <= DESCRIPTION_LENGTH:
        return text
    return text[:DESCRIPTION_LENGTH].rsplit(" ", 1)[0].rstrip(",;:") + " …"


def reading_minutes(doctree: nodes.document) -> int:
    """Minutes a page takes to read, at least one."""
    code_lines = sum(b.astext().count("\n") + 1 for b in doctree.findall(nodes.literal_block))
    prose = sum(
        len(t.astext().split())
        for kind in (nodes.paragraph, nodes.title)
        for t in doctree.findall(kind)
    )
    return max(1, round(prose / WORDS_A_MINUTE + code_lines * SECONDS_A_LINE / 60))


def running_time(seconds: float) -> str:
    """Seconds as a reader says them."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 90:
        return f"{5 * round(seconds / 5)} s"
    return f"{round(seconds / 60)} min"


def _own_assets(context: dict[str, Any], body: str) -> None:
    """Drop what the page does not use: most of what extensions add to every page."""

    def name(asset: Any) -> str:
        return str(getattr(asset, "filename", asset) or "")

    styles = [s for s in context["css_files"] if name(s).startswith("_static/course.")]
    if 'class="sd-' in body:
        styles = [s for s in context["css_files"] if "sphinx-design" in name(s)] + styles
    context["css_files"] = styles
    # a script without a file is one a page carries itself: the state of its widgets
    context["script_files"] = [
        s for s in context["script_files"] if not name(s) or "widgets-static" in name(s)
    ]


def _code_beside(app: Sphinx, context: dict[str, Any]) -> None:
    """The widgets' code out of the page's state, into scripts that all pages share."""
    scripts: list[Any] = []
    for one in context["script_files"]:
        attributes = getattr(one, "attributes", {})
        if attributes.get("type") == STATE:
            saved = json.loads(attributes["body"])
            states, parts = widget_code.taken_out(saved["state"], widget_code.files())
            beside = widget_code.write(parts, Path(app.outdir))
            body = json.dumps({**saved, "state": states}, ensure_ascii=False, separators=(",", ":"))
            # a script's element ends at the first "</", whatever stands around it
            attributes = {**attributes, "body": body.replace("</", "<\\/")}
            one = type(one)(one.filename, priority=one.priority, **attributes)
            # before the loader, which looks for them; all are deferred, in this order
            scripts += [type(one)(path, defer="defer") for path in beside]
        scripts.append(one)
    context["script_files"] = scripts


def with_code(text: str) -> str:
    """A sentence as HTML, what stands in backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def meta_line(context: dict[str, Any]) -> str:
    """The line under a title: how long it takes, and what can be taken along."""
    items = [f"<span>{html.escape(text)}</span>" for text in context["times"]]
    links = context["downloads"]
    if links:
        items.append(f'<a href="{html.escape(links["archive"])}" download>Notebook and package</a>')
        if links["colab"]:
            items.append(f'<a href="{html.escape(links["colab"])}">Open in Colab</a>')
    for slug, target in context["exercises"]:
        items.append(f'<a href="{target}" download>Exercise: {html.escape(slug)}</a>')
    return f'<p class="meta">{"".join(items)}</p>' if items else ""


# "*Chapter 5 · 30 minutes to read, half a minute to run*": for a reader in a notebook, who has no
# line under the title. On the page it becomes that line.
_AUTHORS_LINE = re.compile(r"\n?<p><em>(?:Chapter \d+|Front page)\s*·\s*([^<]+?)\.?</em></p>")


def authors_times(body: str) -> tuple[str, list[str]]:
    """The author's estimate, taken out of the text: (rest of the page, its parts)."""
    found = _AUTHORS_LINE.search(body)
    if found is None:
        return body, []
    parts = [part.strip() for part in html.unescape(found[1]).split(",")]
    return body[: found.start()] + body[found.end() :], [p for p in parts if p]


def head_of(body: str, line: str) -> str:
    """ "Chapter 5" for "5." over the title, and ``line`` under it."""
    body = re.sub(
        r'(<h1>)<span class="section-number">([\w.]+?)\.? ?</span>',
        r'\1<span class="section-number">Chapter \2</span> ',
        body,
        count=1,
    )
    return body.replace("</h1>", f"</h1>\n{line}", 1)


# A result's link to a notebook beside its own: right in JupyterLab, another page in the book.
_PAGE_LINK = re.compile(
    r'<a class="page" href="([\w-]+)\.(?:ipynb|md)(#[\w-]+)?">(.*?)</a>', re.DOTALL
)


def page_links(app: Sphinx, pagename: str, body: str) -> str:
    """Links in results that lead to pages of the book; where a page does not exist, its name."""
    folder = pagename.rpartition("/")[0]

    def link(match: re.Match[str]) -> str:
        name = f"{folder}/{match[1]}" if folder else match[1]
        if name not in app.env.found_docs:
            return match[3]
        return f'<a href="{match[1]}.html{match[2] or ""}">{match[3]}</a>'

    return _PAGE_LINK.sub(link, body)


def finish_body(app: Sphinx, pagename: str, body: str) -> str:
    """Figures inline, the palette's colours as variables, wide things scrollable."""
    body = _IMAGE.sub(Figures(app, pagename).replace, body)
    body = _INLINE_COLOUR.sub(lambda m: m[1] + _BY_COLOUR.get(m[2].lower(), m[2]), body)
    body = _FOLDED.sub(r"<summary>\n\1\n</summary>", body).replace(_EMPTY_HEAD, "<td></td>")
    body = page_links(app, pagename, body)
    if swap.is_notebook(app.env, pagename):
        body = places.boxes(body, places.reserves(swap.executed(app.env, pagename)))
    body = tables.finish(body)
    for message in _KATEX_ERROR.findall(body):
        logger.warning(
            "a formula does not parse: %s",
            html.unescape(message),
            location=pagename,
            type="course_book",
        )
    return code.colour_names(whole(body))


def context(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """The ``html-page-context`` event, after all other extensions."""
    body = context.get("body", "") or ""
    if doctree is not None:
        body = context["body"] = finish_body(app, pagename, body)
    _own_assets(context, body)
    _code_beside(app, context)
    metadata = app.env.metadata.get(pagename, {})
    context.update(
        book_title=app.config.html_title,
        pdf=pdf.NAME if os.environ.get(pdf.VARIABLE) == "1" else "",
        has_math='class="katex' in body,
        description=description(doctree, str(metadata.get("description", ""))),
        parts=nav.parts(app, pagename),
        sections=nav.sections(doctree),
        front=pagename == app.config.root_doc,
        times=[],
        downloads={},
        exercises=[],
        notice="",
    )
    if doctree is None:
        return
    if re.search(r"/\d\d-|/intro$", pagename):
        context["times"].append(f"{reading_minutes(doctree)} min to read")
    if swap.is_notebook(app.env, pagename):
        _executed(app, pagename, context)
    slug = exercise.slug_of(pagename)
    if slug:
        address: Address = app.config.course_book_address
        path = f"exercises/{slug}/{slug}"
        context["downloads"] = {
            "archive": f"../{path}.zip",
            "colab": address.colab(f"{path}.ipynb"),
        }
    context["body"], times = authors_times(context["body"])
    if times:
        context["times"] = times
    context["body"] = head_of(context["body"], meta_line(context))


def _executed(app: Sphinx, pagename: str, context: dict[str, Any]) -> None:
    """What the runner knows about the page, and what of it can be downloaded."""
    stored = keys.stored(swap.executed(app.env, pagename))
    context["times"].append(f"{running_time(stored.get('seconds', 0.0))} to run")
    context["notice"] = with_code(stored.get("notice", ""))
    if not pagename.startswith("book/"):  # a model answer
        return
    address: Address = app.config.course_book_address
    stem = pagename.rsplit("/", 1)[-1]
    context["downloads"] = {
        "notebook": f"{stem}.ipynb",
        "archive": f"{stem}.zip",
        "colab": address.colab(f"{pagename}.ipynb"),
    }
    slugs = exercises(Path(app.srcdir)).get(stem, [])
    up = "../" * pagename.count("/")
    context["exercises"] = [(slug, f"{up}exercises/{slug}/{slug}.zip") for slug in slugs]
