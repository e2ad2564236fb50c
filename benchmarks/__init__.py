"""What a reader, a learner, an instructor or a CI waits for, against what they would use instead.

``python -m benchmarks`` measures, ``benchmarks/results/`` keeps the latest, and the book's page
"speed" shows it. One file a comparison; :mod:`benchmarks.registry` lists them.
"""
