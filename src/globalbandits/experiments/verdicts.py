"""The rule that decides whether a published number or statement is reproduced.

The paper's numbers are means over runs, printed with a few digits and no error. Ours are means
over more runs with a standard error. With n the paper's number of runs, a printed number may lie
within ``3 sqrt(sem**2 + sd**2 / n) + half a unit of its last digit`` of ours: ``sd`` is our
standard deviation over runs, so ``sd / sqrt(n)`` estimates the error the paper's own mean must
have. The paper states n = 100 for some experiments only. Where it does not, 100 is an assumption,
and a number may be the mean of as little as one run. So a printed number is

- *not reproduced* when it is farther away than the tolerance at its stated runs, or at one run
  if they are assumed;
- *too noisy to tell* when it is not that far, but that tolerance is more than half of the number
  itself, or the verdict would be another one with 100 runs;
- *reproduced* otherwise.

A number without randomness must agree after rounding alone. A statement ("WAGP beats UCB1") is
turned into a difference that it claims to be positive, and is reproduced when the whole 95 %
interval of that difference is above zero.
"""

import dataclasses
import math
from decimal import Decimal, InvalidOperation
from enum import StrEnum

from globalbandits.errors import ScenarioError

SIGMAS = 3.0  # how many standard errors may lie between two means of one quantity
Z95 = 1.959963984540054  # half width of a 95 % interval, in standard errors
MOST_VAGUE = 0.5  # of a printed number: a wider tolerance would let readings half as large pass
_SLACK = 1e-9  # 0.015 lies on the edge of what rounds to 0.02: floats must not decide it


class Verdict(StrEnum):
    """What became of a published number."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    TOO_NOISY = "too noisy to tell"
    NOT_IDENTIFIED = "not identified"
    NOT_STATED = "not stated in the paper"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Published:
    """A number as the paper prints it, with the digits it prints.

    >>> Published(printed="81.7").half_unit
    0.05
    """

    printed: str
    runs: int = 100  # of which it is the mean
    stated: bool = True  # whether the paper states the runs; else they are assumed

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
        """Half a unit of the last printed digit: what rounding can have moved."""
        exponent = Decimal(self.printed).as_tuple().exponent
        assert isinstance(exponent, int)  # finite, as checked
        return 0.5 * 10.0**exponent


def tolerance(
    published: Published, sem: float, runs: int, published_runs: int | None = None
) -> float:
    """How far our mean may lie from a printed one; `sem` is 0 for a number without randomness.

    Args:
        published: the printed number.
        sem: our standard error.
        runs: our runs.
        published_runs: of which the printed number is the mean, instead of its own.

    >>> round(tolerance(Published(printed="1.58"), sem=0.04, runs=1000), 4)
    0.403
    """
    variance = sem**2 * (1.0 + runs / (published_runs or published.runs))
    return SIGMAS * math.sqrt(variance) + published.half_unit


def deviation(value: float, sem: float, runs: int, published: Published) -> float:
    """How far a printed number is from ours, in standard errors of the difference.

    Rounding to the last digit counts as a uniform error.

    >>> round(deviation(166.4, 0.2, 1000, Published(printed="164.85")), 2)
    -2.34
    """
    rounding = published.half_unit**2 / 3.0
    error = math.sqrt(sem**2 * (1.0 + runs / published.runs) + rounding)
    return (published.value - value) / error


def judge_number(value: float, sem: float, runs: int, published: Published | None) -> Verdict:
    """Whether a printed number lies within the tolerance of ours, and whether that tells much.

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
    slack = 1.0 + _SLACK
    fewest = published.runs if published.stated else 1
    widest = tolerance(published, sem, runs, fewest)
    if distance > widest * slack:
        return Verdict.NOT_REPRODUCED
    if sem == 0.0:
        return Verdict.REPRODUCED
    vague = widest > MOST_VAGUE * abs(published.value) * slack
    if vague or distance > tolerance(published, sem, runs) * slack:
        return Verdict.TOO_NOISY
    return Verdict.REPRODUCED


def judge_statement(difference: float, sem: float) -> Verdict:
    """Whether a difference that the paper says is positive is positive with 95 % confidence.

    >>> judge_statement(2.0, 0.9), judge_statement(2.0, 1.1)
    (<Verdict.REPRODUCED: 'reproduced'>, <Verdict.NOT_REPRODUCED: 'not reproduced'>)
    """
    return Verdict.REPRODUCED if difference - Z95 * sem > 0.0 else Verdict.NOT_REPRODUCED
