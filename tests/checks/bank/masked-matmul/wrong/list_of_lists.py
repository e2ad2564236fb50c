# mistake: not-a-tensor
def averaging_matrix(T):
    return [[1 / (t + 1) if s <= t else 0.0 for s in range(T)] for t in range(T)]
