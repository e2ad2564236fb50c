# mistake: over-batch
def causal_average(x):
    return x.mean(dim=0, keepdim=True).expand_as(x)
