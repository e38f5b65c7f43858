"""Where which arms are best, and by how much: what a model says about decisions."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from globalbandits._types import FloatArray
from globalbandits._validation import as_float, require
from globalbandits.errors import ModelError
from globalbandits.model.envelope import suboptimal_sides
from globalbandits.model.intervals import as_thetas
from globalbandits.model.worth import Worth

_EDGE = 1e-12  # of the domain's length: closer to an edge than this is on it


class Region(NamedTuple):
    """An interval of the parameter on which the same arms are best.

    ``arm`` is the first of ``arms``; there are several only where arms coincide.
    """

    arm: int
    low: float
    high: float
    arms: tuple[int, ...]


class Decisions:
    """The part of a reward model that compares what arms are worth."""

    _arms: tuple[Any, ...]
    _domain: tuple[float, float]
    _worth: Worth
    _breakpoints: FloatArray
    _best: list[tuple[int, ...]]

    def _watch(self) -> None:
        """Refuse functions that have changed since they were analysed."""
        raise NotImplementedError

    @property
    def arms(self) -> tuple[Any, ...]:
        """The arms' user-facing values."""
        return self._arms

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return len(self._arms)

    @property
    def domain(self) -> tuple[float, float]:
        """The interval theta lies in."""
        return self._domain

    def worth(self, theta: ArrayLike) -> FloatArray:
        """What a decision for every arm is worth at theta: shape (..., n_arms)."""
        self._watch()
        thetas = as_thetas(theta, self._domain)
        return self._worth(np.arange(self.n_arms), thetas[..., np.newaxis])

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """Where which arms are best, left to right, covering the domain."""
        edges = self._breakpoints.tolist()
        return tuple(
            Region(arms[0], low, high, arms)
            for arms, low, high in zip(self._best, edges[:-1], edges[1:], strict=True)
        )

    @cached_property
    def dominated(self) -> tuple[int, ...]:
        """Indices of arms that are best nowhere."""
        somewhere = {arm for arms in self._best for arm in arms}
        return tuple(arm for arm in range(self.n_arms) if arm not in somewhere)

    def best_arms(self, theta: float) -> tuple[int, ...]:
        """Indices of the arms that are best at theta, ties included."""
        theta = self._as_theta(theta)
        first, last = self._intervals_at(theta)
        arms = {arm for index in range(first, last + 1) for arm in self._best[index]}
        worth, rounding = self._worth.with_rounding(np.arange(self.n_arms), np.array(theta))
        close = worth >= worth.max() - rounding[worth.argmax()]
        return tuple(sorted(arms | set(np.flatnonzero(close).tolist())))

    def gaps(self, theta: ArrayLike) -> FloatArray:
        """How much less each arm is worth than the best one: shape (..., n_arms)."""
        worth = self.worth(theta)
        return np.asarray(worth.max(axis=-1, keepdims=True) - worth)

    def suboptimality_gap(self, theta: float) -> float:
        """delta_min: the smallest gap of an arm that is not best; infinite if all are best."""
        gaps = self.gaps(self._as_theta(theta))
        others = np.delete(gaps, self.best_arms(theta))
        return float(others.min()) if others.size else float("inf")

    def suboptimality_distance(self, theta: float) -> float:
        """Delta_min of Definition 3: how far theta is from where its best arms stop being best.

        The domain's length if the arms that are best at theta together cover the domain: at
        every parameter one of them is best.
        """
        theta = self._as_theta(theta)
        first, last = self._intervals_at(theta)
        low, high = suboptimal_sides(
            self._breakpoints, self._best, self.best_arms(theta), first, last
        )
        distance = min(theta - low, high - theta)
        if np.isinf(distance):
            return self._domain[1] - self._domain[0]
        return max(distance, 0.0)

    def _intervals_at(self, theta: float) -> tuple[int, int]:
        """First and last interval of the envelope that theta belongs to: two on an edge."""
        slack = _EDGE * (self._domain[1] - self._domain[0])
        inner = self._breakpoints[1:-1]
        first = int(np.searchsorted(inner, theta - slack, side="left"))
        last = int(np.searchsorted(inner, theta + slack, side="right"))
        return first, last

    def _as_theta(self, theta: object) -> float:
        number = as_float("theta", theta, ModelError)
        low, high = self._domain
        require(low <= number <= high, "theta", f"lie in [{low:g}, {high:g}]", theta, ModelError)
        return number
