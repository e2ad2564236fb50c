"""A place for each widget in the page as it is sent: of the widget's height, with words inside.

The script that draws the widgets runs after the first paint. Without a place of the right height
the text below would jump, and without words a reader who has switched scripts off would not know
that something is missing.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from course_book.clean import STATE, VIEW

_VIEW = re.compile(
    rf'<script type="{re.escape(VIEW)}">\s*(\{{.*?\}})\s*</script>',
    re.DOTALL,
)
NO_SCRIPT = (
    '<noscript><p class="widget-note">Here is a picture that can be moved; it needs JavaScript. '
    "Nothing is fetched from elsewhere for it.</p></noscript>"
)


def reserves(notebook: Path) -> dict[str, tuple[int, int]]:
    """Heights in px on a narrow and on a wide page, by the widget's id, as each widget says."""
    saved = json.loads(notebook.read_text(encoding="utf-8"))["metadata"].get("widgets", {})
    states = saved.get(STATE, {}).get("state", {})
    found = {}
    for name, model in states.items():
        narrow, wide = model.get("state", {}).get("reserve", (0, 0))
        found[name] = (int(narrow), int(wide))
    return found


def boxes(body: str, heights: dict[str, tuple[int, int]]) -> str:
    """Put every view into a box of its widget's height; a view without a state gets one of 0."""

    def box(match: re.Match[str]) -> str:
        narrow, wide = heights.get(json.loads(match[1])["model_id"], (0, 0))
        style = f"--narrow: {narrow}px; --wide: {wide}px"
        return f'<div class="widget-place" style="{style}">{match[0]}{NO_SCRIPT}</div>'

    return _VIEW.sub(box, body)
