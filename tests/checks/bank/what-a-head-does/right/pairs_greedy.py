# style: ordered pairs taken while the reverse is free
# of: held_out_pairs
import itertools
import random


def held_out_pairs(nouns, fraction, seed):
    pairs = list(itertools.permutations(nouns, 2))
    order = random.Random(seed).sample(pairs, len(pairs))
    wanted, held_out = int(fraction * len(pairs)), []
    for a, b in order:
        if len(held_out) < wanted and (b, a) not in held_out:
            held_out.append((a, b))
    return [p for p in pairs if p not in held_out], held_out
