"""The course's book on top of Jupyter Book: its look, its executed pages, its downloads.

No page contacts any host. Loaded by ``_config.yml`` (``local_extensions``).
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

_EXT = Path(__file__).resolve().parents[1]
for _folder in (_EXT, _EXT.parents[1]):  # beside the extension: setup_cell; the root: course
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))

from course_book import (  # noqa: E402
    api,
    assets,
    cards,
    cite,
    crossref,
    downloads,
    exercise,
    figure_numbers,
    nav,
    page,
    speed,
    swap,
    versions,
    widget_code,
)
from course_book.formulas import Renderer  # noqa: E402
from course_book.frontdoor import write_front_door  # noqa: E402
from course_book.keys import file_hash  # noqa: E402
from course_book.single import write_single_page  # noqa: E402

# Handlers of extensions that Jupyter Book always loads, and whose part we play ourselves.
_REPLACED = ("sphinx_book_theme", "sphinx_thebe", "sphinx_comments")


def _silence_replaced(app: Sphinx) -> None:
    for name, listeners in app.events.listeners.items():
        kept = [e for e in listeners if e.handler.__module__.split(".")[0] not in _REPLACED]
        app.events.listeners[name] = kept


def _configure(app: Sphinx, config: Config) -> None:
    import sphinxcontrib.katex as katex

    root = Path(app.srcdir)
    _silence_replaced(app)
    try:
        assets.vendor(root, root / "_build" / "assets")
        node, script = assets.tool("node"), assets.katex_script(root)
        address = downloads.configured(
            config.course_book_repository, config.course_book_url, config.course_book_branch
        )
    except (assets.MissingTool, ValueError) as error:
        raise ExtensionError(str(error)) from error
    config.katex_css_path = "vendor/katex.min.css"
    # a formula that does not parse is shown as it is, and becomes a warning of the build
    options = {"throwOnError": False, "strict": False, "trust": False}
    katex.render_latex = Renderer(node, script, options)
    config.html_static_path.append(str(root / "_build" / "assets"))
    config.course_book_address = address


def _finished(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    root, out = Path(app.srcdir), Path(app.outdir)
    env = app.env
    if not any(name.startswith("solutions/") for name in env.found_docs):
        # pages of an instructor's copy, built here before: Sphinx leaves what it does not write
        shutil.rmtree(out / "solutions", ignore_errors=True)
    # model answers, where they are pages, are not for taking along
    names = [d for d in sorted(env.found_docs) if d.startswith("book/")]
    notebooks = [Path(env.doc2path(d)) for d in names if swap.is_notebook(env, d)]
    slugs = [slug for found in downloads.exercises(root).values() for slug in found]
    notebooks += [downloads.exercise_path(root, slug) for slug in slugs]
    downloads.write_downloads(notebooks, root, out, app.config.course_book_address)
    if "book/flashcards" in env.found_docs:
        cards.write_deck(root / "book", out / "book" / cards.DECK)
    widget_code.drop_unused(out)
    write_front_door(out, app.config.root_doc, app.config.html_title)
    write_single_page(out, [app.config.root_doc, *nav.docnames(app)], app.config.html_title)


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_html_theme("course", str(_EXT.parent / "_templates" / "course"))
    app.add_config_value("course_book_repository", "", "html")
    app.add_config_value("course_book_url", "", "html")
    app.add_config_value("course_book_branch", downloads.DEFAULT_BRANCH, "html")
    app.add_config_value("course_book_address", None, "")
    api.setup(app)
    speed.setup(app)
    app.add_directive("course-cards", cards.CourseCards)
    app.add_directive("course-versions", versions.CourseVersions)
    exercise.setup(app)
    app.connect("config-inited", _configure, priority=900)
    app.connect("env-get-outdated", swap.outdated)
    app.connect("source-read", swap.source_read, priority=100)
    app.connect("env-get-updated", figure_numbers.by_page, priority=900)
    app.connect("doctree-resolved", cite.link)
    app.connect("doctree-resolved", crossref.link)
    app.connect("html-page-context", page.context, priority=900)
    app.connect("build-finished", _finished)
    # a change of this extension makes every page anew
    own = file_hash(*sorted(Path(__file__).parent.glob("*.py")))
    return {"parallel_read_safe": True, "parallel_write_safe": False, "env_version": int(own, 16)}
