# style: torch's generator
# of: held_out_pairs
import torch


def held_out_pairs(nouns, fraction, seed):
    g = torch.Generator().manual_seed(seed)
    both = [(i, j) for i in range(len(nouns)) for j in range(i)]
    n = round(2 * fraction * len(both))
    rows = torch.randperm(len(both), generator=g)[:n].tolist()
    turn = torch.randint(0, 2, (n,), generator=g).tolist()
    held = {both[r] if t else both[r][::-1] for r, t in zip(rows, turn)}
    train, held_out = [], []
    for i, a in enumerate(nouns):
        for j, b in enumerate(nouns):
            if i != j:
                (held_out if (i, j) in held else train).append((a, b))
    return train, held_out
