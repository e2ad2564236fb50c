# mistake: fixed-dtype
# of: scaled_scores
import math


def scaled_scores(q, k):
    q, k = q.float(), k.float()
    return q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
