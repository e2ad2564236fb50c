# style: the closed form
# of: count_parameters
def count_parameters(d_model, n_layers, vocab_size, context_length):
    return d_model * (vocab_size + context_length + 2) + n_layers * d_model * (12 * d_model + 13)
