# mistake: pairs-lost
# of: held_out_pairs
import random


def held_out_pairs(nouns, fraction, seed):
    rng = random.Random(seed)
    unordered = [(a, b) for i, a in enumerate(nouns) for b in nouns[i + 1 :]]
    n = round(fraction * len(nouns) * (len(nouns) - 1))
    chosen = rng.sample(unordered, n)
    held_out = [pair if rng.random() < 0.5 else pair[::-1] for pair in chosen]
    gone = set(held_out)
    train = [(a, b) for a in nouns for b in nouns if a != b and (a, b) not in gone and (b, a) not in gone] + [p[::-1] for p in held_out[1:]]
    return train, held_out
