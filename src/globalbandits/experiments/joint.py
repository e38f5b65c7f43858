"""Whether the printed numbers of one table can all come from the same simulation as ours.

Single verdicts let each number lie up to three standard errors away. Several numbers that are
each two away are less likely than that sounds: the sum of the squared distances tells.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from globalbandits.experiments.entries import Entry
from globalbandits.experiments.verdicts import deviation

UNLIKELY = 0.01


@dataclasses.dataclass(frozen=True, kw_only=True)
class Joint:
    """The chi-square test of several printed numbers against ours.

    Numbers are taken for independent, and means over runs for normal. Where the paper does not
    state its runs, they are taken to be 100.
    """

    title: str
    deviations: tuple[float, ...]  # in standard errors of the difference
    assumed: bool  # whether the runs of some number are assumed

    @property
    def statistic(self) -> float:
        """Sum of the squared deviations."""
        return sum(z * z for z in self.deviations)

    @property
    def p_value(self) -> float:
        """Probability of a statistic as large if all numbers are means of what we simulate.

        >>> round(Joint(title="", deviations=(2.0, 2.0, 2.0), assumed=False).p_value, 4)
        0.0074
        """
        from scipy import stats

        return float(stats.chi2.sf(self.statistic, len(self.deviations)))

    def __str__(self) -> str:
        """The test in one line."""
        n = len(self.deviations)
        singly = ", ".join(f"{z:+.1f}" for z in self.deviations)
        runs = "; 100 runs of the paper assumed" if self.assumed else ""
        verdict = "unlikely" if self.p_value < UNLIKELY else "compatible"
        return (
            f"{self.title}: {verdict} together, chi-square {self.statistic:.1f} of {n} numbers, "
            f"p = {self.p_value:.2g} (singly {singly} standard errors{runs})"
        )

    def to_dict(self) -> dict[str, Any]:
        """The test as it stands in ``results.json``."""
        return {
            "title": self.title,
            "statistic": self.statistic,
            "numbers": len(self.deviations),
            "p_value": self.p_value,
            "runs": "assumed" if self.assumed else "stated",
        }


def judge_jointly(
    groups: Mapping[str, Sequence[str]], entries: Mapping[str, Entry]
) -> tuple[Joint, ...]:
    """One test per group of entries that can be compared; ``groups`` are keys by title."""
    found = []
    for title, keys in groups.items():
        members = [entries[key] for key in keys]
        if all(entry.comparable for entry in members):
            claims = [entry.published for entry in members]
            assert all(claim is not None for claim in claims)  # as the spec has checked
            found.append(
                Joint(
                    title=title,
                    deviations=tuple(
                        deviation(entry.value, entry.sem, entry.runs, claim)
                        for entry, claim in zip(members, claims, strict=True)
                        if claim is not None
                    ),
                    assumed=any(claim is not None and not claim.stated for claim in claims),
                )
            )
    return tuple(found)
