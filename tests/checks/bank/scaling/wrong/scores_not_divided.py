# mistake: not-divided
# of: scaled_scores
import math


def scaled_scores(q, k):
    return q @ k.transpose(-2, -1)
