# mistake: not-last-two
# of: fetches
def fetches(weights, query, key):
    return weights[:, query, key].mean().item()
