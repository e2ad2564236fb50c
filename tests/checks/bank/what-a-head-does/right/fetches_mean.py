# style: an index and a mean
# of: fetches
def fetches(weights, query, key):
    return weights[..., query, key].mean().item()
