"""The claims ledger: every fact the course must establish, measured here, with a verdict."""

from course.claims.base import Claim, Entry, Evidence, Finding
from course.claims.ledger import IDS, claims, ledger

__all__ = ["IDS", "Claim", "Entry", "Evidence", "Finding", "claims", "ledger"]
