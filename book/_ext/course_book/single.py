"""The whole book on one page, for printing and for searching in.

Made from the finished pages, in the order of the table of contents: their ids get the page's name
in front, and links between pages become links within this one. On the screen each chapter is
folded; for the printer everything is open.
"""

from __future__ import annotations

import html
import re
from pathlib import Path, PurePosixPath

from course_book import contents

# Beside the book's folder and not in it: a page of many megapixels is for the printer only.
PAGE = "single/print.html"
# What the first sheet of paper says under the title.
COVER = "A transformer, derived from a causal average, one tested step at a time."
_ARTICLE = re.compile(r"<article>(.*)</article>", re.DOTALL)
_STYLES = re.compile(r'<link rel="stylesheet"[^>]*>')
_STATES = re.compile(r"<script[^>]*widget-state\+json[^>]*>.*?</script>", re.DOTALL)
# the loader, and the widgets' code, which has to be there first
_LOADER = re.compile(r"<script[^>]*widgets-static[^>]*></script>")
_CODE = re.compile(r"<script[^>]*_static/widgets/[^>]*></script>")


def slug(docname: str) -> str:
    """``book/05-scaling`` → ``p-05-scaling``, in front of that page's ids."""
    return "p-" + re.sub(r"[^A-Za-z0-9]+", "-", PurePosixPath(docname).name)


def resolve(link: str, page: str) -> tuple[str, str]:
    """(document, fragment) of a relative link on ``page``; the document is "" outside the book."""
    path, _, fragment = link.partition("#")
    if "://" in link or link.startswith(("mailto:", "data:")):
        return "", ""
    if not path:
        return page, fragment
    parts: list[str] = []
    for part in (PurePosixPath(page).parent / path).parts:
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    target = "/".join(parts)
    return (target.removesuffix(".html"), fragment) if target.endswith(".html") else ("", "")


def article(text: str, page: str, pages: set[str]) -> str:
    """What ``page`` says, ready to stand beside the other pages.

    Raises
    ------
    ValueError
        If the page has no article.
    """
    found = _ARTICLE.search(text)
    if found is None:
        raise ValueError(f"{page}.html has no <article>")
    own = slug(page)
    body = re.sub(r'<p class="meta">.*?</p>', "", found[1], count=1, flags=re.DOTALL)
    body = re.sub(r"<a class=\"headerlink\".*?</a>", "", body)
    body = re.sub(r'\bid="([^"]+)"', rf'id="{own}-\1"', body)
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#{own}-\1)", body)
    body = re.sub(
        r'\b(aria-(?:labelledby|describedby|controls)|for)="([^"]+)"',
        lambda m: f'{m[1]}="{" ".join(f"{own}-{name}" for name in m[2].split())}"',
        body,
    )

    def link(match: re.Match[str]) -> str:
        target, fragment = resolve(html.unescape(match[2]), page)
        if target not in pages:
            return match[0]
        anchor = f"{slug(target)}-{fragment}" if fragment else slug(target)
        return f'{match[1]}href="#{html.escape(anchor, quote=True)}"'

    body = re.sub(r'(\b(?:xlink:)?)href="([^"]*)"', link, body)
    heading = html.escape(contents.title(body), quote=False)
    return f'<details class="chapter" id="{own}">\n<summary>{heading}</summary>\n{body}\n</details>'


def write_single_page(out: Path, docnames: list[str], title: str) -> Path:
    """Write ``single/print.html`` beside ``out`` from the pages already in ``out``."""
    texts = {name: (out / f"{name}.html").read_text(encoding="utf-8") for name in docnames}
    pages = set(docnames)
    bodies = {name: article(text, name, pages) for name, text in texts.items()}
    lines = [line for name, body in bodies.items() for line in contents.entries(slug(name), body)]
    styles = dict.fromkeys(s for text in texts.values() for s in _STYLES.findall(text))
    kinds = (_CODE, _LOADER)
    scripts = dict.fromkeys(s for k in kinds for text in texts.values() for s in k.findall(text))
    states = [s for text in texts.values() for s in _STATES.findall(text)]
    name = html.escape(title)
    target = out.parent / PAGE
    target.parent.mkdir(exist_ok=True)
    text = f"""<!DOCTYPE html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="{name}: the whole book on one page, for printing.">
<meta name="robots" content="noindex">
<title>{name}: the whole book on one page</title>
<link rel="icon" href="../_static/favicon.svg" type="image/svg+xml">
{chr(10).join(styles)}
{chr(10).join(states)}
{chr(10).join(scripts)}
</head>
<body class="single">
<main id="content">
<h1>{name}</h1>
<p class="meta">Open a chapter, or print: everything is on the paper.</p>
<p class="cover">{COVER}</p>
{contents.nav(lines)}
<article>
{chr(10).join(bodies.values())}
</article>
</main>
<script>
addEventListener("beforeprint", function () {{
  document.querySelectorAll("details").forEach(function (d) {{ d.open = true; }});
}});
</script>
</body>
</html>
"""
    # every page of the book lies one folder deep, as this one does, but in the book's own folder
    text = re.sub(r'="\.\./(_static|_images|exercises)/', rf'="../{out.name}/\1/', text)
    target.write_text(text, encoding="utf-8")
    return target
