# mistake: edits-input
# of: scaled_scores
import math


def scaled_scores(q, k):
    q /= math.sqrt(q.shape[-1])
    return q @ k.transpose(-2, -1)
