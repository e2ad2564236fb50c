# style: two branches
# of: noam_rate
import math


def noam_rate(step, d_model, warmup=4000):
    if step <= 0:
        raise ValueError("step must be at least 1")
    if step < warmup:
        return step / (math.sqrt(d_model) * warmup * math.sqrt(warmup))
    return 1 / math.sqrt(d_model * step)
