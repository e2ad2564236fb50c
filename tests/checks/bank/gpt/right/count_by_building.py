# style: building the modules on the meta device
# of: count_parameters
import torch
from torch import nn


def count_parameters(d_model, n_layers, vocab_size, context_length):
    with torch.device("meta"):
        modules = nn.ModuleList([nn.Embedding(vocab_size, d_model),
                                 nn.Embedding(context_length, d_model), nn.LayerNorm(d_model)])
        for _ in range(n_layers):
            modules += [nn.LayerNorm(d_model), nn.Linear(d_model, 3 * d_model),
                        nn.Linear(d_model, d_model), nn.LayerNorm(d_model),
                        nn.Linear(d_model, 4 * d_model), nn.Linear(4 * d_model, d_model)]
    return sum(p.numel() for p in modules.parameters())
