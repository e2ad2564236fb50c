# mistake: yes-or-no
# of: fetches
def fetches(weights, query, key):
    return float(weights.mean(0)[query].argmax() == key)
