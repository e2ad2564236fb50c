# mistake: divided-by-length
# of: scaled_scores
import math


def scaled_scores(q, k):
    return q @ k.transpose(-2, -1) / math.sqrt(q.size(-2))
