"""Leave out at start what takes seconds to load and is never used."""

from __future__ import annotations

import sys

__all__ = ["leave_out_grammars"]


def leave_out_grammars() -> None:
    """Keep ``jsonschema`` from building the grammars of RFC 3987, if it is not loaded yet.

    JupyterLab brings ``rfc3987_syntax``; where it is, every import of ``nbformat`` builds 38
    parsers with it (about 1.8 s), to check strings whose format is "iri". A notebook has none.
    ``jsonschema`` does without where the import fails, and a ``None`` here makes it fail.
    """
    if "jsonschema" not in sys.modules:
        sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
