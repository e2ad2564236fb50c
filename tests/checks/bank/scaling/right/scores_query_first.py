# style: the query is divided first
# of: scaled_scores
import math


def scaled_scores(q, k):
    return (q * q.shape[-1] ** -0.5) @ k.mT
