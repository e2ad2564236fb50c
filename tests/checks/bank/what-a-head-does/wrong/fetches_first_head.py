# mistake: first-head-only
# of: fetches
def fetches(weights, query, key):
    return weights[0, query, key].item()
