"""``book/notation.md`` and ``book/glossary.md`` from ``course.notation``: run this to write them.

The pages are committed, so that a change of a letter shows in its diff; a test holds them equal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from course.files import atomic_write_text  # noqa: E402
from course.notation import GLOSSARY, LETTERS, TERMS  # noqa: E402

PAGE = ROOT / "book" / "notation.md"
GLOSSARY_PAGE = ROOT / "book" / "glossary.md"

HEAD = """\
<!-- Written by `python book/_ext/notation_page.py` from course/notation.py: change it there. -->

# One letter, one meaning

The letters and names on this page mean the same in the prose, in the code, in its docstrings and in
its error messages. The columns on the right say what others call the same thing, so that a paper or
another library can be read beside this one. (Two exceptions are common in the field and kept:
`F` is also how code calls `torch.nn.functional`, and a formula with an entropy calls that *H*.)

## Sizes

A shape is written as a row of letters: `x` of shape `(B, T, C)` is a batch of `B` sequences of `T`
tokens, each a vector of `C` numbers.

"""

TERMS_HEAD = """
## Names in the code

One road leads through every attention layer of this course: `q, k, v` → `scores` → `weights` →
`out`. A **mask is boolean, and `True` means “may attend”**, as in PyTorch's
`F.scaled_dot_product_attention`. PyTorch's `nn.MultiheadAttention` means the opposite (`True` =
*may not*); the course converts where the two meet, and nowhere else.

"""

GLOSSARY_HEAD = """\
<!-- Written by `python book/_ext/notation_page.py` from course/notation.py: change it there. -->

# Words, in a line each

The terms are those of the field. A line says what a word means in this book, and in which chapter
it is derived; {doc}`notation` has the letters, and what others call the same things.

```{glossary}
"""


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    head = list(header)
    lines = [head, ["---"] * len(head), *(list(row) for row in rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def code(text: str) -> str:
    """Text set as code; nothing stays nothing."""
    return f"`{text}`" if text else "–"


def page() -> str:
    """The whole page, as Markdown."""
    sizes = table(
        ("letter", "name", "counts", "2017 paper", "PyTorch", "nanoGPT"),
        (
            (code(e.letter), code(e.name), e.meaning, *map(code, (e.paper, e.pytorch, e.nanogpt)))
            for e in LETTERS
        ),
    )
    names = table(
        ("name", "shape", "is", "elsewhere"),
        ((code(t.name), code(t.shape), t.meaning, t.elsewhere) for t in TERMS),
    )
    return HEAD + sizes + TERMS_HEAD + names


def glossary() -> str:
    """The glossary, as Markdown. The build makes of a link what exists: a page, or the words."""
    lines = []
    for w in GLOSSARY:
        link = f"Chapter\N{NO-BREAK SPACE}{int(w.chapter[:2])}"  # the page makes a link of it
        lines.append(f"{w.word}\n  {w.meaning[0].upper()}{w.meaning[1:]}. {link}\n")
    return GLOSSARY_HEAD + "\n".join(lines) + "```\n"


if __name__ == "__main__":
    atomic_write_text(PAGE, page())
    atomic_write_text(GLOSSARY_PAGE, glossary())
    print(PAGE, GLOSSARY_PAGE)
