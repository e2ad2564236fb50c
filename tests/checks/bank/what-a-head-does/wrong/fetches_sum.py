# mistake: summed
# of: fetches
def fetches(weights, query, key):
    return weights[..., query, key].sum().item()
