# mistake: reverse-held-out-too
# of: held_out_pairs
import random


def held_out_pairs(nouns, fraction, seed):
    unordered = [(a, b) for i, a in enumerate(nouns) for b in nouns[:i]]
    n = round(fraction * len(unordered))
    chosen = random.Random(seed).sample(unordered, n)
    held_out = chosen + [(b, a) for a, b in chosen]
    train = [(a, b) for a in nouns for b in nouns if a != b and (a, b) not in held_out]
    return train, held_out
