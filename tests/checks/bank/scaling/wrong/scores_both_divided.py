# mistake: divided-by-width
# of: scaled_scores
import math


def scaled_scores(q, k):
    d = math.sqrt(q.shape[-1])
    return (q / d) @ (k / d).transpose(-2, -1)
