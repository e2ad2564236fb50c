# mistake: imported-answer
from course.attention import Head
