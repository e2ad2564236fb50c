# mistake: noam-step-zero
# of: noam_rate
def noam_rate(step, d_model, warmup=4000):
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
