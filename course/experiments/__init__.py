"""What the course measures: experiments, their records, and the tables made of them."""

from course.experiments.records import Record, RecordError
from course.experiments.table import Records, RowSummary, Stat, load_records

__all__ = ["Record", "RecordError", "Records", "RowSummary", "Stat", "load_records"]
