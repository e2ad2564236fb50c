# mistake: batch-transposed
# of: scaled_scores
import math


def scaled_scores(q, k):
    return q @ k.transpose(0, -1) / math.sqrt(q.shape[-1])
