# mistake: transposed
# of: scaled_scores
import math


def scaled_scores(q, k):
    return k @ q.transpose(-2, -1) / math.sqrt(q.shape[-1])
