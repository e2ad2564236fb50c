# mistake: imported-answer
# of: sample_next
from course.sampling import sample_next
