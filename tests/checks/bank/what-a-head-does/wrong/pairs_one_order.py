# mistake: pairs-in-one-order
# of: held_out_pairs
import random


def held_out_pairs(nouns, fraction, seed):
    pairs = [(a, b) for i, a in enumerate(nouns) for b in nouns[i + 1 :]]
    random.Random(seed).shuffle(pairs)
    n = round(fraction * len(pairs))
    return pairs[n:], pairs[:n]
