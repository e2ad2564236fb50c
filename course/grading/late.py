"""Late penalties: so many percent of the score for each day begun, after some grace."""

from __future__ import annotations

import math

from nbgrader.plugins import BasePlugin
from traitlets import Dict, Float, validate


class LatePenalty(BasePlugin):
    """For ``c.AssignLatePenalties.plugin_class``. The due date is the gradebook's:
    ``nbgrader db assignment add head --duedate "2027-03-01 23:59 UTC"``.
    """

    grace_minutes = Float(15.0, help="Late by no more than this is in time.").tag(config=True)
    percent_per_day = Float(
        0.0, help="Percent of the score lost for each day begun; 0 means no penalty."
    ).tag(config=True)
    most_percent = Float(100.0, help="The most that lateness can cost.").tag(config=True)
    extensions = Dict(help="Learner → hours granted beyond the due date.").tag(config=True)

    @validate("percent_per_day", "most_percent")
    def _check_percent(self, proposal: dict[str, float]) -> float:
        if not 0 <= proposal["value"] <= 100:
            raise ValueError(f"a penalty is 0 to 100 percent, got {proposal['value']:g}")
        return proposal["value"]

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        """Points to take off, or ``None``; nbgrader calls this for each late notebook."""
        granted = 3600.0 * float(self.extensions.get(student_id, 0.0))
        late = total_seconds_late - granted - 60.0 * self.grace_minutes
        if late <= 0 or not self.percent_per_day:
            return None
        # The day is counted from the end of the extension: the grace is no part of it.
        days = math.ceil((total_seconds_late - granted) / 86_400)
        percent = min(self.most_percent, days * self.percent_per_day)
        return score * percent / 100.0
