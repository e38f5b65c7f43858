"""Drifts with given values: jumps, and whole paths."""

import dataclasses
import itertools
from typing import NamedTuple

import numpy as np

from globalbandits._registry import register
from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_floats, as_integer, as_list, require
from globalbandits.environments.drift import Drift, DriftRules
from globalbandits.errors import ScenarioError


class StepTrack(NamedTuple):
    """What `move_steps` and `move_path` read: values, and the time from which each holds."""

    times: IntArray
    values: FloatArray


def move_steps(track: StepTrack, time: int, theta: float, u: float) -> float:
    """The value of the last jump up to this time, or the parameter as it was."""
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
        """Check that times rise and each has a value."""
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
        """The jumps; raises if a value is outside the domain."""
        check_inside("values", self.values, domain)
        return StepTrack(np.array(self.times, np.int64), np.array(self.values, np.float64))


def move_path(track: StepTrack, time: int, theta: float, u: float) -> float:
    """The value of this time; after the last time, the last value."""
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
        """The values; raises if one is outside the domain, or the first is not theta."""
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
