# mistake: largest-head
# of: fetches
def fetches(weights, query, key):
    return weights[..., query, key].max().item()
