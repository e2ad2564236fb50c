# mistake: over-uniform
# of: fetches
def fetches(weights, query, key):
    return (weights[..., query, key].mean() * (query + 1)).item()
