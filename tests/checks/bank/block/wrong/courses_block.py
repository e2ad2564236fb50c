# mistake: imported-answer
from course.block import Block
