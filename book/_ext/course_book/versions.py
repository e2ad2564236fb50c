"""What the book is made with, at the versions of the lock files.

````
```{course-versions}
torch | the models | BSD-3-Clause
npm katex | the formulas | MIT
```
````

A line is a distribution of ``constraints.txt`` (or, after ``npm``, a package of
``book/package-lock.json``), what it does here, and its licence; the version is looked up.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(root: Path) -> dict[str, str]:
    """Distribution, or ``npm package`` → version, as the two lock files have them."""
    lines = (root / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.partition("==") for line in lines if "==" in line and not line.startswith("#")]
    found = {_normal(name): version.split(";")[0].strip() for name, _, version in pairs}
    lock = json.loads((root / "book" / "package-lock.json").read_text(encoding="utf-8"))
    for path, package in lock["packages"].items():
        if path.startswith("node_modules/"):
            found[f"npm {path.removeprefix('node_modules/')}"] = package["version"]
    return found


class CourseVersions(SphinxDirective):
    """The directive ``course-versions``: a table of what the book is made with."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        known = pins(root)
        for name in ("constraints.txt", "book/package-lock.json"):
            self.env.note_dependency(str(root / name))
        rows = []
        for line in filter(str.strip, self.content):
            parts = [part.strip() for part in line.split("|")]
            if len(parts) != 3:
                raise self.error(f"name | what it does | licence, not {line!r}")
            name = parts[0] if parts[0].startswith("npm ") else _normal(parts[0])
            if name not in known:
                raise self.error(f"{parts[0]} is in no lock file")
            shown = [parts[0].removeprefix("npm "), known[name], *parts[1:]]
            cells = "".join(f"<td>{html.escape(part)}</td>" for part in shown[1:])
            rows.append(f'<tr><th scope="row">{html.escape(shown[0])}</th>{cells}</tr>')
        heads = ("what", "version", "for", "licence")
        head = "".join(f'<th scope="col">{h}</th>' for h in heads)
        text = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        return [nodes.raw("", text, format="html")]
