# mistake: count-no-biases
# of: count_parameters
def count_parameters(d_model, n_layers, vocab_size, context_length):
    d = d_model
    attention = 4 * d * d
    mlp = 8 * d * d
    norms = 4 * d
    blocks = n_layers * (attention + mlp + norms)
    return vocab_size * d + context_length * d + blocks + 2 * d
