"""Drifts: movements of the parameter from one time step to the next.

A drift is a function ``move(track, time, theta, u) -> theta`` in the subset of Python that Numba
compiles. It returns the parameter at ``time`` from the previous one and a uniform number of the
drift's own stream. Times are 2, 3, ...; at time 1 the parameter is the environment's theta.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from globalbandits._registry import register
from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_floats, as_fraction, as_integer, as_list, require
from globalbandits.environments.part import Part, as_duration, as_size
from globalbandits.errors import ScenarioError

BOUNDARIES = ("reflect", "clip")


class DriftRules(NamedTuple):
    """The function of a drift. The simulator compiles it."""

    move: Callable[[Any, int, float, float], float]


@dataclasses.dataclass(frozen=True)
class Drift(Part):
    """Base of all drifts. A subclass has `rules`, and a `track` with the numbers they need."""

    family: ClassVar[str] = "drift"
    rules: ClassVar[DriftRules]

    def track(self, domain: tuple[float, float], theta: float) -> Any:
        """Return a NamedTuple of numbers and arrays for `move`; raise if the path is invalid."""
        raise NotImplementedError

    @property
    def last_time(self) -> float:
        """The last time step for which the path is defined."""
        return math.inf


def keep_inside(theta: float, low: float, high: float, reflect: bool) -> float:
    """Reflect a point outside of the domain at its ends, or clip it to the nearer one.

    Infinity is always clipped; nan stays nan.
    """
    if low <= theta <= high:
        return theta
    offset, length, period = theta - low, high - low, 2.0 * (high - low)
    if reflect and math.isfinite(offset) and math.isfinite(period):
        offset = offset % period
        theta = low + (offset if offset <= length else period - offset)
    if theta < low:
        return low
    if theta > high:
        return high
    return theta


def check_boundary(boundary: str) -> None:
    """Raise unless the boundary is "reflect" or "clip"."""
    known = isinstance(boundary, str) and boundary in BOUNDARIES
    require(known, "boundary", "be 'reflect' or 'clip'", boundary, ScenarioError)


class WalkTrack(NamedTuple):
    """The numbers of `move_walk`."""

    low: float
    high: float
    step: float
    up: float
    reflect: bool


def move_walk(track: WalkTrack, time: int, theta: float, u: float) -> float:
    """Take one step up or down."""
    step = track.step if u < track.up else -track.step
    return keep_inside(theta + step, track.low, track.high, track.reflect)


@register("random-walk")
@dataclasses.dataclass(frozen=True, kw_only=True)
class RandomWalk(Drift):
    """Steps of ``1 / drift_time`` up with probability ``up``, down otherwise (Experiment 3).

    Args:
        drift_time: tau, the number of steps in which the parameter can move by 1; at least 1e-100.
        up: probability of a step up, strictly between 0 and 1.
        boundary: "reflect" or "clip" a step over an end of the domain.

    >>> RandomWalk(drift_time=1000, up=0.6)
    RandomWalk(drift_time=1000.0, up=0.6, boundary='reflect')
    """

    drift_time: float
    up: float = 0.5
    boundary: str = "reflect"

    rules = DriftRules(move_walk)

    def __post_init__(self) -> None:
        """Check the parameters."""
        object.__setattr__(self, "drift_time", as_duration("drift_time", self.drift_time))
        object.__setattr__(self, "up", as_fraction("up", self.up, ScenarioError))
        check_boundary(self.boundary)

    def track(self, domain: tuple[float, float], theta: float) -> WalkTrack:
        """Return the domain and the step."""
        return WalkTrack(*domain, 1.0 / self.drift_time, self.up, self.boundary == "reflect")


class LineTrack(NamedTuple):
    """The numbers of `move_line`."""

    low: float
    high: float
    start: float
    rate: float
    reflect: bool


def move_line(track: LineTrack, time: int, theta: float, u: float) -> float:
    """Return the line at this time, from its start so that rounding errors do not accumulate."""
    return keep_inside(track.start + track.rate * (time - 1), track.low, track.high, track.reflect)


@register("linear")
@dataclasses.dataclass(frozen=True, kw_only=True)
class LinearDrift(Drift):
    """The parameter moves by ``rate`` per step, reflected or clipped at the ends.

    >>> drift = LinearDrift(rate=0.1)
    >>> round(drift.rules.move(drift.track((0.0, 1.0), 0.75), 5, 0.95, 0.0), 6)  # 0.75 + 4 * 0.1
    0.85
    """

    rate: float
    boundary: str = "reflect"

    rules = DriftRules(move_line)

    def __post_init__(self) -> None:
        """Check the parameters."""
        object.__setattr__(self, "rate", as_size("rate", self.rate))
        check_boundary(self.boundary)

    def track(self, domain: tuple[float, float], theta: float) -> LineTrack:
        """Return the domain and the line."""
        return LineTrack(*domain, theta, self.rate, self.boundary == "reflect")


class WaveTrack(NamedTuple):
    """The numbers of `move_wave`."""

    low: float
    high: float
    start: float
    amplitude: float
    frequency: float
    reflect: bool


def move_wave(track: WaveTrack, time: int, theta: float, u: float) -> float:
    """Return the wave at this time."""
    height = track.amplitude * math.sin(track.frequency * (time - 1))
    return keep_inside(track.start + height, track.low, track.high, track.reflect)


@register("sinusoidal")
@dataclasses.dataclass(frozen=True, kw_only=True)
class SinusoidalDrift(Drift):
    """The parameter oscillates around its first value.

    ``theta_t = theta + amplitude * sin(2 pi (t - 1) / period)``

    >>> drift = SinusoidalDrift(amplitude=0.2, period=100)
    >>> round(drift.rules.move(drift.track((0.0, 1.0), 0.5), 26, 0.0, 0.0), 6)
    0.7
    """

    amplitude: float
    period: float
    boundary: str = "reflect"

    rules = DriftRules(move_wave)

    def __post_init__(self) -> None:
        """Check the parameters."""
        object.__setattr__(self, "amplitude", as_size("amplitude", self.amplitude))
        object.__setattr__(self, "period", as_duration("period", self.period))
        check_boundary(self.boundary)

    def track(self, domain: tuple[float, float], theta: float) -> WaveTrack:
        """Return the domain and the wave."""
        frequency = 2.0 * math.pi / self.period
        return WaveTrack(*domain, theta, self.amplitude, frequency, self.boundary == "reflect")


class StepTrack(NamedTuple):
    """The values of `move_steps` and `move_path`, and the times of jumps."""

    times: IntArray
    values: FloatArray


def move_steps(track: StepTrack, time: int, theta: float, u: float) -> float:
    """Return the value of a jump at this time, or the previous parameter."""
    position = np.searchsorted(track.times, time)
    if position < track.times.shape[0] and track.times[position] == time:
        return float(track.values[position])
    return theta


@register("jumps")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Jumps(Drift):
    """The parameter jumps to given values at given times and stays there.

    Args:
        times: increasing time steps, from 2 on.
        values: the parameter from each of these times on.

    >>> Jumps(times=[100, 200], values=[0.2, 0.9])
    Jumps(times=(100, 200), values=(0.2, 0.9))
    """

    times: tuple[int, ...]
    values: tuple[float, ...]

    rules = DriftRules(move_steps)

    def __post_init__(self) -> None:
        """Check that times increase and each has a value."""
        given = as_list("times", self.times, "be a list of time steps", ScenarioError)
        times = tuple(as_integer("times", time, 2, ScenarioError) for time in given)
        values = as_floats("values", self.values, ScenarioError)
        rising = all(a < b for a, b in itertools.pairwise(times))
        require(rising, "times", "increase", times, ScenarioError)
        same = len(times) == len(values)
        require(same, "values", f"be {len(times)}, one a time", values, ScenarioError)
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", values)

    def track(self, domain: tuple[float, float], theta: float) -> StepTrack:
        """Return the jumps; raise if a value is outside the domain."""
        check_inside("values", self.values, domain)
        return StepTrack(np.array(self.times, np.int64), np.array(self.values, np.float64))


def move_path(track: StepTrack, time: int, theta: float, u: float) -> float:
    """Return the value of this time; after the last time, the last value."""
    return float(track.values[min(time, track.values.shape[0]) - 1])


@register("path")
@dataclasses.dataclass(frozen=True, kw_only=True)
class GivenPath(Drift):
    """The parameter of every time step is given; the first value must be the environment's theta.

    >>> GivenPath(values=[0.5, 0.4, 0.4]).last_time
    3
    """

    values: tuple[float, ...]

    rules = DriftRules(move_path)

    def __post_init__(self) -> None:
        """Check that there are values."""
        values = as_floats("values", self.values, ScenarioError)
        require(len(values) > 0, "values", "be at least one", values, ScenarioError)
        object.__setattr__(self, "values", values)

    @property
    def last_time(self) -> float:
        """The number of values."""
        return len(self.values)

    def track(self, domain: tuple[float, float], theta: float) -> StepTrack:
        """Return the values; raise if one is outside the domain, or the first is not theta."""
        check_inside("values", self.values, domain)
        rule = f"start with the environment's theta {theta!r}"
        require(self.values[0] == theta, "values", rule, self.values[0], ScenarioError)
        return StepTrack(np.zeros(0, np.int64), np.array(self.values, np.float64))


def check_inside(name: str, values: tuple[float, ...], domain: tuple[float, float]) -> None:
    """Raise if a value is outside the domain."""
    low, high = domain
    for value in values:
        inside = low <= value <= high
        require(inside, name, f"lie in the domain [{low:g}, {high:g}]", value, ScenarioError)
