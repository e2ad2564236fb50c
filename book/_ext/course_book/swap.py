"""Put the executed copy in place of a notebook while Sphinx reads it.

So that ``jupyter-book build .``, typed from habit, gives the executed book too; where a copy is
missing or older than its notebook the build stops and says which command makes it. A page never
shows outputs that are not those of its code.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError

from course_book import keys
from course_book.clean import VIEW

_REGION = re.compile(
    r"[ \t]*### BEGIN HIDDEN TESTS\n.*?### END HIDDEN TESTS[ \t]*\n?"
    r"|[ \t]*### (?:BEGIN|END) SOLUTION[ \t]*\n?",
    re.DOTALL,
)
_HIDING = {"remove-cell", "remove-input", "hide-cell", "hide-input"}
COMMAND = "python book/_ext/build.py"


def is_notebook(env: BuildEnvironment, docname: str) -> bool:
    return str(env.doc2path(docname)).endswith(".ipynb")


def executed(env: BuildEnvironment, docname: str) -> Path:
    root = Path(env.srcdir)
    return keys.executed_path(Path(env.doc2path(docname)), root)


def _check(app: Sphinx, env: BuildEnvironment) -> None:
    """Stop, naming all notebooks at once, where an executed copy is missing or out of date."""
    root = Path(app.srcdir)
    missing = []
    for docname in sorted(env.found_docs):
        if not is_notebook(env, docname):
            continue
        notebook = Path(env.doc2path(docname))
        wanted = keys.notebook_keys(notebook, root)
        if not keys.is_fresh(executed(env, docname), wanted):
            missing.append(notebook.relative_to(root).as_posix())
    if missing:
        shown = ", ".join(missing[:5]) + (
            f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        )
        raise ExtensionError(
            f"not executed since they, or the package, changed: {shown}. "
            f"Run `make book` (or `{COMMAND}`): it executes the notebooks, then builds the pages."
        )


def _fingerprints(env: BuildEnvironment) -> dict[str, str]:
    return {
        docname: keys.file_hash(executed(env, docname))
        for docname in env.found_docs
        if is_notebook(env, docname)
    }


def outdated(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Documents whose executed copy is not the one that was read last time."""
    _check(app, env)
    before: dict[str, str] = getattr(env, "course_book_read", {})
    now = _fingerprints(env)
    env.course_book_read = now  # type: ignore[attr-defined]
    return [d for d, print_ in now.items() if before.get(d) != print_]


def _mostly_imports(source: str) -> bool:
    """Whether a cell imports and sets up, rather than says anything about the subject."""
    lines = [line for line in source.splitlines() if line.strip()]
    imports = sum(line.startswith(("import ", "from ")) for line in lines)
    return bool(imports) and 2 * imports >= len(lines)


def _is_a_picture(data: dict[str, object]) -> bool:
    """Whether a result is a widget, a figure or a table: something to look at, not a value."""
    return any(kind in (VIEW, "text/html") or kind.startswith("image/") for kind in data)


def quiet(notebook: str) -> str:
    """The executed notebook with its machinery out of a reader's way.

    The parameters are not shown (a page cannot change them); cells that do little but import are
    folded unless there is something to look at in their result; in a model answer, neither the
    hidden tests nor the marks round the answer are shown.
    """
    data = json.loads(notebook)
    for cell in data["cells"]:
        tags = cell["metadata"].setdefault("tags", [])
        if cell["cell_type"] != "code":
            continue
        cell["source"] = _REGION.sub("", "".join(cell["source"])).strip("\n")
        if "parameters" in tags and "remove-cell" not in tags:
            tags.append("remove-cell")
        shown = any({VIEW, "text/html"} & set(o.get("data", {})) for o in cell["outputs"])
        if not shown and not _HIDING & set(tags) and _mostly_imports("".join(cell["source"])):
            tags.append("hide-cell")
    return json.dumps(data)


def source_read(app: Sphinx, docname: str, source: list[str]) -> None:
    """The event in which Sphinx lets an extension replace a source."""
    if is_notebook(app.env, docname):
        source[0] = quiet(executed(app.env, docname).read_text(encoding="utf-8"))
