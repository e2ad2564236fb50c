"""Figures of the book: functions that take data and draw it in one visual language.

``palette`` the colours (single source for pages, figures and widgets), ``style`` the matplotlib
style, ``reveal`` the hidden answers; one module a topic besides. Importing the package imports
no matplotlib: the topic modules do, when they are imported.
"""

from course.figures.reveal import reveal

__all__ = ["reveal"]
