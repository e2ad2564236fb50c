"""``index.html`` at the top of the built book, which leads to the front page."""

from __future__ import annotations

import html
from pathlib import Path


def write_front_door(out: Path, root_doc: str, title: str) -> None:
    """Write ``out/index.html``: at once to the front page, with a link where that is refused."""
    target = html.escape(f"{root_doc}.html", quote=True)
    name = html.escape(title)
    (out / "index.html").write_text(
        f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="{name}">
<meta http-equiv="refresh" content="0; url={target}">
<link rel="canonical" href="{target}">
<link rel="icon" href="_static/favicon.svg" type="image/svg+xml">
<title>{name}</title>
</head>
<body><main><h1>{name}</h1><p><a href="{target}">To the front page</a></p></main></body>
</html>
""",
        encoding="utf-8",
    )
