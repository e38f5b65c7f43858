"""`Population`: a distribution of theta over runs.

The mean regret over runs is then the Bayes risk of a policy under this distribution.
"""

import dataclasses
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import as_float, as_floats, as_interval, as_list, require
from globalbandits.errors import ScenarioError

PROBE_QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0 - 2.0**-53)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Population:
    """The distribution of theta over runs; without arguments uniform over the domain.

    Args:
        interval: uniform over this interval.
        samples: one of these values, all with the same probability.
        weights: probabilities of the samples, up to a factor.
        shifts: one row per sample, the bias of every arm in runs with this sample, in the units of
            the rewards.
        quantile: the quantile function of a distribution, for numbers in [0, 1).

    >>> people = Population(samples=[0.2, 0.4], weights=[3, 1])
    >>> people.theta_at(0.7, (0.0, 1.0)), people.theta_at(0.8, (0.0, 1.0))
    (0.2, 0.4)
    """

    interval: tuple[float, float] | None = None
    samples: Sequence[float] | None = None
    weights: Sequence[float] | None = None
    shifts: Sequence[Sequence[float]] | None = None
    quantile: Callable[[float], float] | None = None

    def __post_init__(self) -> None:
        """Check the parameters that do not depend on the model."""
        given = [
            name for name in ("interval", "samples", "quantile") if getattr(self, name) is not None
        ]
        rule = "be given by one of interval, samples and quantile"
        require(len(given) <= 1, "population", rule, given, ScenarioError)
        if self.interval is not None:
            self._set("interval", as_interval("interval", self.interval, ScenarioError))
        if self.samples is not None:
            self._set("samples", as_floats("samples", self.samples, ScenarioError))
            require(len(self.samples) > 0, "samples", "be at least one", (), ScenarioError)
        if self.quantile is not None:
            rule = "be a function of a number in [0, 1)"
            require(callable(self.quantile), "quantile", rule, self.quantile, ScenarioError)
        for name in ("weights", "shifts"):
            if getattr(self, name) is not None:
                self._check_rows(name)

    def _check_rows(self, name: str) -> None:
        """Check that there is one weight, or one row of shifts, per sample."""
        value = getattr(self, name)
        require(self.samples is not None, name, "come with samples", value, ScenarioError)
        assert self.samples is not None
        if name == "weights":
            rows: tuple[Any, ...] = as_floats(name, value, ScenarioError)
            good = min(rows, default=0.0) >= 0.0 and 0.0 < sum(rows) < np.inf
            require(good, name, "be 0 or more, and not all 0", value, ScenarioError)
        else:
            listed = as_list(name, value, "be rows of numbers", ScenarioError)
            rows = tuple(as_floats(name, row, ScenarioError) for row in listed)
        rule = f"be {len(self.samples)}, one per sample"
        require(len(rows) == len(self.samples), name, rule, len(rows), ScenarioError)
        self._set(name, rows)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def check(self, domain: tuple[float, float], n_arms: int) -> None:
        """Raise if a theta is outside the domain, or a row of shifts has the wrong length."""
        low, high = domain
        rule = f"lie in the domain [{low:g}, {high:g}]"
        if self.interval is not None:
            inside = low <= self.interval[0] and self.interval[1] <= high
            require(inside, "interval", rule, self.interval, ScenarioError)
        for theta in self.samples or ():
            require(low <= theta <= high, "samples", rule, theta, ScenarioError)
        if self.quantile is not None:
            for u in PROBE_QUANTILES:
                self.theta_at(u, domain)
        for row in self.shifts or ():
            require(len(row) == n_arms, "shifts", f"have {n_arms} arms", row, ScenarioError)

    @cached_property
    def _cumulative(self) -> FloatArray:
        """The cumulative probabilities of the samples."""
        assert self.samples is not None
        weights = np.ones(len(self.samples)) if self.weights is None else np.array(self.weights)
        return np.asarray(np.cumsum(weights) / weights.sum())

    def member_at(self, u: float) -> int:
        """Return the index of the sample for a uniform number in [0, 1)."""
        member = int(np.searchsorted(self._cumulative, u, side="right"))
        return min(member, int(np.searchsorted(self._cumulative, self._cumulative[-1])))

    def theta_at(self, u: float, domain: tuple[float, float]) -> float:
        """Return the theta for a uniform number in [0, 1)."""
        if self.samples is not None:
            return float(self.samples[self.member_at(u)])
        if self.quantile is None:
            low, high = domain if self.interval is None else self.interval
            return min(low + (high - low) * u, high)
        theta = as_float("quantile", self.quantile(u), ScenarioError)
        low, high = domain
        rule = f"give thetas in the domain [{low:g}, {high:g}]"
        require(low <= theta <= high, "quantile", rule, theta, ScenarioError)
        return theta

    def shifts_at(self, u: float, n_arms: int) -> FloatArray:
        """Return the shifts of the sample that `theta_at` returns: shape (n_arms,)."""
        if self.shifts is None:
            return np.zeros(n_arms)
        return np.array(self.shifts[self.member_at(u)])

    def to_dict(self) -> dict[str, Any]:
        """Return a description as plain values, which differs between populations."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if self.quantile is not None:
            values["quantile"] = [float(self.quantile(u)) for u in PROBE_QUANTILES]
        return {"kind": "population"} | {k: v for k, v in values.items() if v is not None}
