# mistake: transposed
# of: fetches
def fetches(weights, query, key):
    return weights[..., key, query].mean().item()
