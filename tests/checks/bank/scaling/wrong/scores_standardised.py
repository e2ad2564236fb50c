# mistake: standardised
# of: scaled_scores
import math


def scaled_scores(q, k):
    s = q @ k.transpose(-2, -1)
    return s / s.std()
