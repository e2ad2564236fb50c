# style: a tensor of no dimension
# of: fetches
def fetches(weights, query, key):
    return weights[..., query, key].mean()
