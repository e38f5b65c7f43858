"""One number of a report: what we measured, what the paper says, and the verdict."""

import dataclasses
from typing import Any

from globalbandits.experiments.verdicts import (
    Z95,
    Published,
    Verdict,
    judge_number,
    judge_statement,
)

UNSETTLED = (Verdict.NOT_REPRODUCED, Verdict.TOO_NOISY)  # verdicts that ask for a reason


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """A measured number beside the paper's number or statement, where there is one."""

    label: str
    value: float
    sem: float
    runs: int  # 0: a number without randomness
    unit: str = ""
    published: Published | None = None
    statement: str = ""  # what the paper claims of this difference: that it is positive
    why: str = ""  # why it is not reproduced or too noisy, shown only if it is
    number: str = ""  # which of the paper's numbers or statements this is one reading of
    searched: bool = False  # one of several readings that were tried: never called reproduced
    comparable: bool = True  # simulated as the paper did; with another horizon it is not

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval."""
        return self.value - Z95 * self.sem

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval."""
        return self.value + Z95 * self.sem

    @property
    def verdict(self) -> Verdict:
        """By the rule of `globalbandits.experiments.verdicts`."""
        if not self.comparable:
            return Verdict.NOT_STATED
        if self.searched:
            return Verdict.NOT_IDENTIFIED
        if self.statement:
            return judge_statement(self.value, self.sem)
        return judge_number(self.value, self.sem, self.runs, self.published)

    def to_dict(self) -> dict[str, Any]:
        """The entry as it stands in ``results.json``."""
        entry: dict[str, Any] = {
            "label": self.label,
            "value": self.value,
            "sem": self.sem,
            "low": self.low,
            "high": self.high,
            "runs": self.runs,
            "unit": self.unit,
            "verdict": self.verdict.value,
        }
        if self.published is not None:
            entry["paper"] = self.published.value
            if self.runs > 0:
                entry["paper_runs"] = self.published.runs
                entry["paper_runs_are"] = "stated" if self.published.stated else "assumed"
        if self.statement:
            entry["statement"] = self.statement
        if self.why and self.verdict in UNSETTLED:
            entry["why"] = self.why
        return entry
