# mistake: unchanged
def causal_average(x):
    for t in range(x.shape[1]):
        average = x[:, : t + 1].mean(dim=1)
    return x
