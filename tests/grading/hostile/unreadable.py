"""Files that hold no notebook."""

from __future__ import annotations

from collections.abc import Iterator

from tests.grading.hostile.case import NOTHING, Case, raw
from tests.grading.lab import Lab


def unreadable() -> Iterator[Case]:
    """Files that hold no notebook: a zero with an explanation."""
    yield raw("invalid-json", b'{"cells": [', "not valid JSON")
    yield raw("empty-file", b"", "the file is empty")
    yield raw("conflict", b"<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> theirs\n", "conflict markers")
    yield raw("other-json", b'{"hello": 1}', "but no notebook")
    yield raw("a-number", b"17", "but no notebook")
    yield raw("nested", b"[" * 200_000, "not")
    yield raw("binary", bytes(range(256)) * 40, "not text")
    yield raw(
        "no-cells", b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}}', "no list of cells"
    )
    yield raw("new-format", b'{"nbformat": 99, "cells": []}', "format 99")
    yield raw("a-picture", b"\x89PNG\r\n", "There is no tiny.ipynb", file="photo.png")

    def renamed(lab: Lab, who: str) -> None:
        lab.submit(who, lab.notebook(), "tiny (1).ipynb")

    def nothing(lab: Lab, who: str) -> None:
        lab.submit(who, None)

    yield Case("renamed", NOTHING, renamed, "tiny (1).ipynb")
    yield Case("nothing", NOTHING, nothing, "There is no tiny.ipynb")
