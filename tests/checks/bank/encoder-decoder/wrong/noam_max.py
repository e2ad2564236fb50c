# mistake: noam-maximum
# of: noam_rate
def noam_rate(step, d_model, warmup=4000):
    if step < 1:
        raise ValueError(f"steps count from 1, got {step}")
    return d_model**-0.5 * max(step**-0.5, step * warmup**-1.5)
