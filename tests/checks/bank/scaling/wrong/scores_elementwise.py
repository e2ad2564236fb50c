# mistake: elementwise
# of: scaled_scores
import math


def scaled_scores(q, k):
    return q * k / math.sqrt(q.shape[-1])
