# style: a loop over heads
# of: fetches
def fetches(weights, query, key):
    maps = weights.reshape(-1, weights.shape[-2], weights.shape[-1])
    return sum(float(one[query, key]) for one in maps) / len(maps)
