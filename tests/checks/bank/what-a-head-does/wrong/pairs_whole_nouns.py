# mistake: whole-nouns
# of: held_out_pairs
import random


def held_out_pairs(nouns, fraction, seed):
    hidden = set(random.Random(seed).sample(nouns, max(1, round(fraction * len(nouns)))))
    pairs = [(a, b) for a in nouns for b in nouns if a != b]
    train = [p for p in pairs if not hidden & set(p)]
    return train, [p for p in pairs if hidden & set(p)]
