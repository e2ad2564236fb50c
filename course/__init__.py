"""Attention from an average: a transformer derived one step at a time.

The package behind the book: the corpus and its tokenizer, the average that attention replaces,
attention itself, blocks, whole models, training and sampling. Importing ``course`` loads none of
that (and no PyTorch): every part is imported where it is used, ``from course.attention import
Head``.
"""

__version__ = "0.1.0"
