"""What becomes of decisions and rewards, straight from the table of the document, one at a time."""


class NaiveLog:
    """Decisions by number; a list of what was learned. No batches, no store, no versions."""

    def __init__(self, deadline, default, late):
        self.deadline, self.default, self.late = deadline, default, late
        self.decisions = []
        self.requests = {}
        self.learned = []  # (arm, value), one taken out again by a retraction
        self.n_events = 0

    def decide(self, request, arm, now):
        """The number of the decision, and whether it was there already."""
        if request is not None and request in self.requests:
            return self.requests[request], True
        self.decisions.append(
            {"arm": arm, "due": now + self.deadline, "state": "open", "value": None}
        )
        if request is not None:
            self.requests[request] = len(self.decisions) - 1
        return len(self.decisions) - 1, False

    def reward(self, number, value, now):
        if not 0 <= number < len(self.decisions):
            return "unknown"
        row = self.decisions[number]
        if row["state"] != "open" and row["value"] == value:
            return "duplicate"
        if row["state"] == "retracted":
            self._learn(row, "rewarded", value)
            return "learned"
        if row["state"] != "open":
            return "conflict"
        if now > row["due"] and self.late == "refuse":
            return "late"
        self._learn(row, "rewarded", value)
        return "learned"

    def sweep(self, now):
        """Defaults of all that waited too long; how many."""
        due = [row for row in self.decisions if row["state"] == "open" and row["due"] <= now]
        for row in due:
            self._learn(row, "defaulted", self.default)
        return len(due)

    def retract(self, number):
        if not 0 <= number < len(self.decisions):
            return "unknown"
        row = self.decisions[number]
        if row["state"] == "open":
            return "unknown"
        if row["state"] == "retracted":
            return "duplicate"
        row["state"] = "retracted"
        self.learned.remove((row["arm"], row["value"]))
        self.n_events += 1
        return "learned"

    def _learn(self, row, state, value):
        row["state"], row["value"] = state, value
        self.learned.append((row["arm"], value))
        self.n_events += 1
