"""Measured numbers, the paper's numbers and statements, and the rule that compares them.

The paper prints means over runs with a few digits and without errors. Ours are means over more
runs, with a standard error. With n the number of runs in the paper, a printed number may differ
from ours by ``3 sqrt(sem**2 + sd**2 / n) + half a unit of its last digit``, where ``sd`` is our
standard deviation over runs: ``sd / sqrt(n)`` estimates the standard error of the paper's mean.
The paper states n = 100 for some experiments only. For the others 100 is an assumption, and a
printed number may be the mean of a single run. So a printed number is

- *not reproduced* if the difference exceeds the tolerance at its stated runs, or at one run if
  the runs are assumed;
- *too noisy to tell* if the difference is smaller, but that tolerance is more than half of the
  number, or 100 runs would give another verdict;
- *reproduced* otherwise.

A number without randomness must agree after rounding. A statement ("WAGP beats UCB1") becomes a
difference that must be positive. It is reproduced if the whole 95 % interval of the difference
is above zero.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any

from globalbandits._means import Z95
from globalbandits.errors import ScenarioError

TOLERANCE_IN_ERRORS = 3.0  # allowed difference of two means of one quantity, in standard errors
# As a share of the printed number. A wider tolerance would accept values half as large.
MAX_RELATIVE_TOLERANCE = 0.5
# 0.015 is exactly on the edge of the numbers that round to 0.02. The slack keeps floating-point
# errors from deciding such cases.
_RELATIVE_SLACK = 1e-9
UNLIKELY_P_VALUE = 0.01


class Verdict(StrEnum):
    """The outcome of comparing a published number or statement with ours."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    TOO_NOISY = "too noisy to tell"
    NOT_IDENTIFIED = "not identified"
    NOT_STATED = "not stated in the paper"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Published:
    """A number with the digits that the paper prints.

    >>> Published(printed="81.7").half_unit
    0.05
    """

    printed: str
    runs: int = 100  # that it is the mean of
    stated: bool = True  # whether the paper states the runs; otherwise they are assumed

    def __post_init__(self) -> None:
        """Check that the text is a number."""
        try:
            finite = Decimal(self.printed).is_finite()
        except InvalidOperation:
            finite = False
        if not finite:
            raise ScenarioError(f"printed must be the text of a number, got {self.printed!r}")

    @property
    def value(self) -> float:
        """The printed number."""
        return float(self.printed)

    @property
    def half_unit(self) -> float:
        """Half a unit of the last printed digit: the largest rounding error."""
        exponent = Decimal(self.printed).as_tuple().exponent
        assert isinstance(exponent, int)  # finite, as checked
        return 0.5 * 10.0**exponent


def tolerance(
    published: Published, sem: float, runs: int, published_runs: int | None = None
) -> float:
    """Return the largest accepted difference between a printed number and ours.

    Args:
        published: the printed number.
        sem: our standard error; 0 for a number without randomness.
        runs: number of our runs.
        published_runs: number of the paper's runs, instead of ``published.runs``.

    >>> round(tolerance(Published(printed="1.58"), sem=0.04, runs=1000), 4)
    0.403
    """
    variance = sem**2 * (1.0 + runs / (published_runs or published.runs))
    return TOLERANCE_IN_ERRORS * math.sqrt(variance) + published.half_unit


def deviation(value: float, sem: float, runs: int, published: Published) -> float:
    """Return printed number minus ours, in standard errors of the difference.

    Rounding to the last digit counts as a uniform error.

    >>> round(deviation(166.4, 0.2, 1000, Published(printed="164.85")), 2)
    -2.34
    """
    rounding = published.half_unit**2 / 3.0
    error = math.sqrt(sem**2 * (1.0 + runs / published.runs) + rounding)
    return (published.value - value) / error


def judge_number(value: float, sem: float, runs: int, published: Published | None) -> Verdict:
    """Compare a printed number with ours.

    >>> judge_number(1.33, 0.04, 1000, Published(printed="1.58"))
    <Verdict.REPRODUCED: 'reproduced'>
    >>> judge_number(0.26, 0.0, 0, Published(printed="0.1"))
    <Verdict.NOT_REPRODUCED: 'not reproduced'>
    >>> judge_number(1.33, 0.04, 1000, Published(printed="1.58", stated=False))
    <Verdict.TOO_NOISY: 'too noisy to tell'>
    """
    if published is None:
        return Verdict.NOT_STATED
    distance = abs(published.value - value)
    slack = 1.0 + _RELATIVE_SLACK
    fewest = published.runs if published.stated else 1
    widest = tolerance(published, sem, runs, fewest)
    if distance > widest * slack:
        return Verdict.NOT_REPRODUCED
    if sem == 0.0:
        return Verdict.REPRODUCED
    vague = widest > MAX_RELATIVE_TOLERANCE * abs(published.value) * slack
    if vague or distance > tolerance(published, sem, runs) * slack:
        return Verdict.TOO_NOISY
    return Verdict.REPRODUCED


def judge_statement(difference: float, sem: float) -> Verdict:
    """Decide whether a difference is positive with 95 % confidence, as the paper claims.

    >>> judge_statement(2.0, 0.9), judge_statement(2.0, 1.1)
    (<Verdict.REPRODUCED: 'reproduced'>, <Verdict.NOT_REPRODUCED: 'not reproduced'>)
    """
    return Verdict.REPRODUCED if difference - Z95 * sem > 0.0 else Verdict.NOT_REPRODUCED


UNSETTLED = (Verdict.NOT_REPRODUCED, Verdict.TOO_NOISY)  # verdicts that need a reason


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """One measured number, and the paper's number or statement about it if there is one."""

    label: str
    value: float
    sem: float
    runs: int  # 0 for a number without randomness
    unit: str = ""
    published: Published | None = None
    statement: str = ""  # the paper's claim that this difference is positive
    why: str = ""  # reason, shown if the number is not reproduced or too noisy
    number: str = ""  # the paper's number or statement that this is one reading of
    searched: bool = False  # one of several readings that were tried; never counts as reproduced
    comparable: bool = True  # whether the horizon is the paper's

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
        """The verdict, by the rule of this module."""
        if not self.comparable:
            return Verdict.NOT_STATED
        if self.searched:
            return Verdict.NOT_IDENTIFIED
        if self.statement:
            return judge_statement(self.value, self.sem)
        return judge_number(self.value, self.sem, self.runs, self.published)

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as ``results.json`` holds it."""
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Joint:
    """Chi-square test that all printed numbers of one table are means of our simulations.

    A single number may differ by three standard errors. Several numbers that each differ by two
    standard errors are unlikely together, which the sum of squared deviations measures. The test
    assumes independent numbers, normal means, and 100 runs if the paper states no number of runs.
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
        """Probability of a statistic at least as large.

        >>> round(Joint(title="", deviations=(2.0, 2.0, 2.0), assumed=False).p_value, 4)
        0.0074
        """
        from scipy import stats

        return float(stats.chi2.sf(self.statistic, len(self.deviations)))

    def __str__(self) -> str:
        """Return the test in one line."""
        n = len(self.deviations)
        singly = ", ".join(f"{z:+.1f}" for z in self.deviations)
        runs = "; 100 runs of the paper assumed" if self.assumed else ""
        verdict = "unlikely" if self.p_value < UNLIKELY_P_VALUE else "compatible"
        return (
            f"{self.title}: {verdict} together, chi-square {self.statistic:.1f} of {n} numbers, "
            f"p = {self.p_value:.2g} (singly {singly} standard errors{runs})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the test as ``results.json`` holds it."""
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
    """Return one test per group of comparable entries; ``groups`` maps titles to entry keys."""
    found = []
    for title, keys in groups.items():
        members = [entries[key] for key in keys]
        if all(entry.comparable for entry in members):
            claims = [entry.published for entry in members]
            assert all(claim is not None for claim in claims)  # checked by the spec
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
