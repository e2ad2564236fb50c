"""A widget's code beside the pages, once for the whole book, instead of in each saved state.

A saved state holds its widget's whole ES module and style sheet, and most of both is the frame that
all widgets share: a page with four widgets would carry the frame four times, and the next page
again. Here the code is cut where the package's files meet, each file's part goes into a script of
its own under ``_static/widgets``, and the state keeps the parts' names; ``widgets-static.js`` puts
them together again. Ordinary scripts, since a page opened from a file may not import a module from
another file.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import course

FOLDER = "_static/widgets"
# The traits that hold code, and the files that they are made from.
_TRAITS = {"_esm": ".js", "_css": ".css"}
_SHORTEST = 200  # characters of a file worth a place of its own
_REFERENCE = re.compile(rf'src="[^"]*{FOLDER}/([\w.-]+\.js)')

# {part: {"_esm": text, "_css": text}}
Parts = dict[str, dict[str, str]]


def files() -> dict[str, dict[str, str]]:
    """The package's own pieces of widget code: {"_esm": {file's stem: text}, "_css": …}."""
    folder = Path(course.__file__).parent / "widgets"
    found: dict[str, dict[str, str]] = {}
    for trait, suffix in _TRAITS.items():
        texts = {p.stem: p.read_text(encoding="utf-8") for p in sorted(folder.glob(f"*{suffix}"))}
        found[trait] = {stem: text for stem, text in texts.items() if len(text) >= _SHORTEST}
    return found


def cut(text: str, known: dict[str, str]) -> list[tuple[str, str]]:
    """``text`` as (stem, piece) in order, or ``[]`` where it holds none of the known files.

    What stands before the first known file belongs to it; what follows a known file, up to the
    next, belongs to that file. The pieces joined are ``text``.
    """
    places = sorted((text.find(piece), stem) for stem, piece in known.items() if piece in text)
    if not places:
        return []
    starts = [0, *(at for at, _ in places[1:]), len(text)]
    return [
        (stem, text[starts[i] : starts[i + 1]])
        for i, (_, stem) in enumerate(places)
        if starts[i] < starts[i + 1]
    ]


def taken_out(
    states: dict[str, Any], known: dict[str, dict[str, str]]
) -> tuple[dict[str, Any], Parts]:
    """The saved states with the names of their parts in place of code, and the parts."""
    parts: Parts = {}
    kept = {}
    for name, model in states.items():
        state = dict(model["state"])
        pieces = {trait: cut(state.get(trait) or "", known[trait]) for trait in _TRAITS}
        own: Parts = {}
        for trait, found in pieces.items():
            for stem, piece in found:
                own.setdefault(stem, {})[trait] = piece
        names = {stem: f"{stem}.{_hash(part)}" for stem, part in own.items()}
        for trait, found in pieces.items():
            if found:
                state[trait] = {"parts": [names[stem] for stem, _ in found]}
        parts |= {names[stem]: part for stem, part in own.items()}
        kept[name] = {**model, "state": state}
    return kept, parts


def _hash(part: dict[str, str]) -> str:
    return hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:8]


def script(name: str, part: dict[str, str]) -> str:
    """The script that holds one part."""
    body = json.dumps(part, ensure_ascii=False, separators=(",", ":"))
    return f"(self.widgetParts??={{}})[{json.dumps(name)}]={body};\n"


def write(parts: Parts, out: Path) -> list[str]:
    """Write the parts' scripts below ``out``; their paths, as a page's template wants them."""
    folder = out / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in parts.items():
        path = folder / f"{name}.js"
        if not path.is_file():  # the name says what is in it
            path.write_text(script(name, part), encoding="utf-8")
    return [f"{FOLDER}/{name}.js" for name in parts]


def drop_unused(out: Path) -> None:
    """Remove the parts that no page names any more."""
    pages = [*out.glob("*.html"), *out.glob("*/*.html")]
    used = {name for page in pages for name in _REFERENCE.findall(page.read_text(encoding="utf-8"))}
    for path in (out / FOLDER).glob("*.js"):
        if path.name not in used:
            path.unlink()
