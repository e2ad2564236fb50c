# mistake: inverted


def masked_softmax(scores, mask):
    return scores.softmax(dim=-1) * ~mask
