# style: a loop over rows, visible keys only
import torch


def masked_softmax(scores, mask):
    mask = mask.expand(scores.shape)
    flat, seen = scores.reshape(-1, scores.shape[-1]), mask.reshape(-1, scores.shape[-1])
    rows = []
    for s, m in zip(flat, seen):
        row = torch.zeros_like(s)
        if m.any():
            row = row.masked_scatter(m, s[m].softmax(0))
        rows.append(row)
    return torch.stack(rows).reshape(scores.shape)
