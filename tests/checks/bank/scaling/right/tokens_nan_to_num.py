# style: NaN terms set to zero
# of: effective_tokens
def effective_tokens(weights):
    terms = (weights * weights.log()).nan_to_num(0.0)
    return (-terms.sum(-1)).exp()
