# mistake: imported-answer
import course.attention as attention


def masked_softmax(scores, mask):
    return attention.masked_softmax(scores, mask)
