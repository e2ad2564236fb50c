# style: both divided by the fourth root
# of: scaled_scores
import math


def scaled_scores(q, k):
    root = math.sqrt(math.sqrt(k.size(-1)))
    return (q / root) @ (k / root).mT
