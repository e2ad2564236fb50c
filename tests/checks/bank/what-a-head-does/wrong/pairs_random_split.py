# mistake: reverse-held-out-too
# of: held_out_pairs
import random


def held_out_pairs(nouns, fraction, seed):
    pairs = [(a, b) for a in nouns for b in nouns if a != b]
    random.Random(seed).shuffle(pairs)
    n = round(fraction * len(pairs))
    return pairs[n:], pairs[:n]
