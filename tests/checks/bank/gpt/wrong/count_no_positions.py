# mistake: count-no-positions
# of: count_parameters
def count_parameters(d_model, n_layers, vocab_size, context_length):
    d = d_model
    attention = 4 * d * d + 4 * d
    mlp = 8 * d * d + 5 * d
    norms = 4 * d
    blocks = n_layers * (attention + mlp + norms)
    return vocab_size * d + blocks + 2 * d
