# mistake: imported-answer
from course.averaging import average_loop


def causal_average(x):
    return average_loop(x)
