# mistake: normalised
# of: scaled_scores
import math


def scaled_scores(q, k):
    q, k = q / q.norm(dim=-1, keepdim=True), k / k.norm(dim=-1, keepdim=True)
    return q @ k.transpose(-2, -1)
