"""Delays: how many rounds after its decision a reward becomes known.

A delay is drawn by inversion from one uniform number per round, which all policies of a run share.
Delay 0 means that the next decision knows the reward. The same specifications are laws of delay
for outcomes that are awaited: `Delay.chance` is the probability that a reward has been reported at
some age (see `Learner.set_pending`). There the unit of time is yours, such as days.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from globalbandits._registry import register
from globalbandits._types import FloatArray
from globalbandits._validation import as_floats, as_integer, require
from globalbandits.environments.part import Part
from globalbandits.errors import ScenarioError

# Longer delays are not needed: the longest horizon is 2**40 rounds.
MAX_DELAY = 2**40
# A uniform number is at most 1 - 2**-53, so that a geometric delay is at most this many means.
_LARGEST_LOGARITHM = 53.0 * math.log(2.0)

LOST = -1  # the delay of a reward that is never reported


class DelayRules(NamedTuple):
    """The function of a delay, compiled into a routine of the simulator.

    Attributes:
        draw: ``draw(parameters, arm, u) -> rounds``: the quantile function of the delay; `LOST` for
            a reward that is never reported.
    """

    draw: Callable[[Any, int, float], int]


class DelayParameters(NamedTuple):
    """The numbers of a delay, one per arm."""

    size: FloatArray  # (n_arms,) the rounds, the mean or the window
    lost: FloatArray  # (n_arms,) probability that a reward is never reported


def rest(lost: float, u: float) -> float:
    """Return a number that is uniform in [0, 1) if u is uniform in [lost, 1)."""
    return (u - lost) / (1.0 - lost)


def draw_fixed(parameters: DelayParameters, arm: int, u: float) -> int:
    """Return the delay of the arm."""
    if u < parameters.lost[arm]:
        return LOST
    return int(parameters.size[arm])


def draw_geometric(parameters: DelayParameters, arm: int, u: float) -> int:
    """Return the quantile of the geometric distribution with this mean, on 0, 1, 2, ..."""
    lost = parameters.lost[arm]
    if u < lost:
        return LOST
    mean = parameters.size[arm]
    if mean <= 0.0:
        return 0
    # With success probability p = 1 / (1 + mean), log(1 - p) = -log1p(1 / mean).
    return int(math.log1p(-rest(lost, u)) / -math.log1p(1.0 / mean))


def draw_uniform(parameters: DelayParameters, arm: int, u: float) -> int:
    """Return the quantile of the uniform distribution on [0, window), in whole rounds."""
    lost = parameters.lost[arm]
    if u < lost:
        return LOST
    return int(rest(lost, u) * parameters.size[arm])


@dataclasses.dataclass(frozen=True)
class Delay(Part):
    """Base of all delays.

    A subclass has `rules`, `longest` and `reported`. Its fields are the size of the delay (one
    number, or one per arm), ``lost`` and ``deadline``.
    """

    family: ClassVar[str] = "delay"
    rules: ClassVar[DelayRules]

    def __post_init__(self) -> None:
        """Check the fields that all delays have."""
        lost = as_sizes("lost", self._field("lost"))
        rule = "lie in [0, 1)"
        require(bool(np.max(lost) < 1.0), "lost", rule, self._field("lost"), ScenarioError)
        object.__setattr__(self, "lost", lost)
        if self.last_age is not None:
            most = as_integer("deadline", self.last_age, 1, ScenarioError, maximum=MAX_DELAY)
            object.__setattr__(self, "deadline", most)

    def _field(self, name: str) -> Any:
        return getattr(self, name)

    @property
    def last_age(self) -> int | None:
        """The deadline; None if there is none."""
        deadline: int | None = self._field("deadline")
        return deadline

    @property
    def longest(self) -> int:
        """The longest delay that can be drawn, in rounds."""
        raise NotImplementedError

    def reported(self, ages: FloatArray, sizes: FloatArray) -> FloatArray:
        """Return the distribution function of the delay of rewards that are not lost."""
        raise NotImplementedError

    def parameters(self, n_arms: int) -> DelayParameters:
        """Return the numbers of each arm; raise an error if there is not one per arm."""
        columns = []
        for name in (dataclasses.fields(self)[0].name, "lost"):
            given = np.atleast_1d(np.array(self._field(name), np.float64))
            rule = f"be one number, or {n_arms} numbers, one per arm"
            enough = given.size in (1, n_arms)
            require(enough, name, rule, self._field(name), ScenarioError)
            columns.append(np.array(np.broadcast_to(given, n_arms)))
        return DelayParameters(*columns)

    def chance(self, ages: Any, arms: Any = 0) -> FloatArray:
        """Return the probability that a reward has been reported at these ages.

        It is 1 from the deadline on, when a missing reward counts as 0.

        Args:
            ages: the time since the decisions, in the unit of the delay.
            arms: the arms of the decisions, or one arm.

        >>> UniformDelay(28).chance([0, 7, 28, 40]).tolist()
        [0.0, 0.25, 1.0, 1.0]
        """
        age, arm = np.asarray(ages, np.float64), np.asarray(arms)
        names = dataclasses.fields(self)[0].name, "lost"
        n_given = max(np.size(self._field(name)) for name in names)
        numbers = self.parameters(max(n_given, int(arm.max(initial=0)) + 1))
        chances = self.reported(np.maximum(age, 0.0), numbers.size[arm])
        chances = (1.0 - numbers.lost[arm]) * np.where(age >= 0.0, chances, 0.0)
        if self.last_age is not None:
            chances = np.where(age >= self.last_age, 1.0, chances)
        return np.asarray(chances)


@register("fixed")
@dataclasses.dataclass(frozen=True)
class FixedDelay(Delay):
    """Every reward becomes known the same number of rounds after its decision.

    Args:
        rounds: the delay; one number, or one per arm.
        lost: the probability that a reward is never reported; one number, or one per arm.
        deadline: the round after its decision in which a reward of 0 becomes known. A reward that
            is not reported by then counts as 0, as in a shop where only sales are reported. None
            if every reward is reported after the delay.

    >>> FixedDelay(20, lost=0.1)
    FixedDelay(rounds=20, lost=0.1, deadline=None)
    """

    rounds: int | tuple[int, ...]
    lost: float | tuple[float, ...] = dataclasses.field(default=0.0, kw_only=True)
    deadline: int | None = dataclasses.field(default=None, kw_only=True)
    rules = DelayRules(draw_fixed)

    def __post_init__(self) -> None:
        """Check the delay."""
        super().__post_init__()
        several = isinstance(self.rounds, Sequence | np.ndarray)
        listed: Any = self.rounds if several else [self.rounds]
        rounds = tuple(
            as_integer("rounds", value, 0, ScenarioError, maximum=MAX_DELAY) for value in listed
        )
        object.__setattr__(self, "rounds", rounds if several else rounds[0])

    @property
    def longest(self) -> int:
        """The longest delay."""
        return int(np.max(self.rounds))

    def reported(self, ages: FloatArray, sizes: FloatArray) -> FloatArray:
        """Return 1 from the delay on."""
        return (ages >= sizes).astype(np.float64)


@register("geometric")
@dataclasses.dataclass(frozen=True)
class GeometricDelay(Delay):
    """Delays are geometric: in each round a reward becomes known with the same probability.

    Args:
        mean: the mean delay in rounds; one number, or one per arm.
        lost: as in `FixedDelay`.
        deadline: as in `FixedDelay`.

    >>> GeometricDelay(3).chance([0, 1, 2]).round(2).tolist()
    [0.25, 0.44, 0.58]
    """

    mean: float | tuple[float, ...]
    lost: float | tuple[float, ...] = dataclasses.field(default=0.0, kw_only=True)
    deadline: int | None = dataclasses.field(default=None, kw_only=True)
    rules = DelayRules(draw_geometric)

    def __post_init__(self) -> None:
        """Check the mean."""
        super().__post_init__()
        object.__setattr__(self, "mean", as_sizes("mean", self.mean))

    @property
    def longest(self) -> int:
        """The longest delay that a uniform number can give."""
        largest = float(np.max(self.mean))
        if largest <= 0.0:
            return 0
        return math.ceil(_LARGEST_LOGARITHM / math.log1p(1.0 / largest))

    def reported(self, ages: FloatArray, sizes: FloatArray) -> FloatArray:
        """Return the distribution function; it is linear in the exponent between whole ages."""
        with np.errstate(divide="ignore"):
            rates = np.log1p(1.0 / sizes)
        return np.asarray(-np.expm1(-(ages + 1.0) * rates))


@register("uniform")
@dataclasses.dataclass(frozen=True)
class UniformDelay(Delay):
    """Delays are uniform in a window, the law behind the weights of the TITE-CRM.

    Args:
        window: the length of the window; one number, or one per arm.
        lost: as in `FixedDelay`.
        deadline: as in `FixedDelay`.

    >>> UniformDelay(180, deadline=180).chance([45, 180]).tolist()
    [0.25, 1.0]
    """

    window: float | tuple[float, ...]
    lost: float | tuple[float, ...] = dataclasses.field(default=0.0, kw_only=True)
    deadline: int | None = dataclasses.field(default=None, kw_only=True)
    rules = DelayRules(draw_uniform)

    def __post_init__(self) -> None:
        """Check the window."""
        super().__post_init__()
        window = as_sizes("window", self.window)
        require(np.min(window) > 0.0, "window", "be above 0", self.window, ScenarioError)
        object.__setattr__(self, "window", window)

    @property
    def longest(self) -> int:
        """The largest whole number below the window."""
        return math.ceil(float(np.max(self.window))) - 1

    def reported(self, ages: FloatArray, sizes: FloatArray) -> FloatArray:
        """Return the share of the window that has passed."""
        return np.minimum(ages / sizes, 1.0)


def as_sizes(name: str, value: Any) -> float | tuple[float, ...]:
    """Check one number of at least 0, or several."""
    several = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)
    numbers = as_floats(name, value if several else [value], ScenarioError)
    require(len(numbers) > 0, name, "not be empty", value, ScenarioError)
    for number in numbers:
        rule = f"lie between 0 and {MAX_DELAY}"
        require(0.0 <= number <= MAX_DELAY, name, rule, number, ScenarioError)
    return tuple(numbers) if several else numbers[0]
