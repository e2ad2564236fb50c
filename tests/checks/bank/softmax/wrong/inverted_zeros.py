# mistake: inverted


def masked_softmax(scores, mask):
    return scores.masked_fill(mask, float("-inf")).softmax(dim=-1).nan_to_num(0.0)
