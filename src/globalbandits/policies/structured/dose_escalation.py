"""`DoseEscalation`: the dose that a Bayesian model of few patients prefers, with overdose control.

The posterior is on a fixed set of points of the unknown numbers, see `shared.prior_points`. It is
computed from counts and sums whenever a decision is due. This is exact enough for the hundreds of
rewards of a trial, with one, two or three unknown numbers and any smooth prior.

All functions of `Posterior` compute many trials at once in NumPy. So the policy is not compiled.
"""

import dataclasses
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_floats, require, require_known
from globalbandits.errors import PolicyError
from globalbandits.model import AnyModel
from globalbandits.model.tables import Tables
from globalbandits.model.vector_model import VectorModel
from globalbandits.model.vector_tables import VectorTables
from globalbandits.policies.base import (
    Policy,
    Rules,
    State,
    register,
    require_no_contexts,
    stateless,
)
from globalbandits.policies.shared.prior_points import (
    Marginal,
    Points,
    as_correlation,
    as_marginals,
    as_points_per_number,
    build_points,
    probability_weights,
)
from globalbandits.statistics import Statistics

RULES = ("plug_in", "mean", "interval")

# The central posterior probability of the intervals in `explain`.
INTERVAL_CONFIDENCE = 0.9
# Numbers in memory at once: trials times points.
_MAX_ENTRIES = 4_000_000


class Posterior(NamedTuple):
    """The model at the points, and what is averaged over them.

    Counts and sums have the shape (trial, arm). Rewards and rates are on the unit scale.
    """

    tables: Tables | VectorTables
    model: Any
    numbers: FloatArray  # (n_points, n_numbers)
    log_prior: FloatArray  # (n_points,) with the outcomes that are awaited
    rates: FloatArray  # (n_points, n_arms)
    constants: FloatArray  # (n_arms, n_points) log(1 - rate)
    slopes: FloatArray  # (n_arms, n_points) log(rate / (1 - rate))
    # Weights of probabilities, (n_points, n_arms): of a rate above the overdose limit, and of one
    # in the target interval; None if not needed.
    over: FloatArray | None
    inside: FloatArray | None
    points: Points
    # Weights of the probabilities in `explain`, computed when they are needed first.
    explained: dict[str, FloatArray]
    rule: str
    risk: float  # arms with at least this probability above the overdose limit are excluded

    def chunks(self, n_trials: int) -> Iterator[slice]:
        """Return the parts in which trials are computed, to limit the memory."""
        size = max(1, _MAX_ENTRIES // len(self.log_prior))
        for first in range(0, n_trials, size):
            yield slice(first, first + size)

    def weights(self, counts: FloatArray, sums: FloatArray, more: Any = 0.0) -> FloatArray:
        """Return the posterior probabilities of the points, (trial, n_points).

        Args:
            counts: number of rewards.
            sums: their sums.
            more: added to the log-likelihood, (trial, n_points); of pending outcomes.
        """
        logs = counts @ self.constants + sums @ self.slopes + self.log_prior + more
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def choose(self, weights: FloatArray, offered: IntArray | None = None) -> IntArray:
        """Return the best admissible arm of every trial; -1 if overdose control admits none.

        Args:
            weights: from `weights`.
            offered: the arms to choose from; all by default.
        """
        n_arms = self.rates.shape[1]
        if self.rule == "plug_in":
            wanted = self._plug_in(weights)
            # The nearest admissible arm, the lower one of two.
            value = -np.abs(np.arange(n_arms) - wanted[:, np.newaxis]).astype(np.float64)
        elif self.rule == "mean":
            value = self.worths(weights @ self.rates)
        else:
            assert self.inside is not None
            value = weights @ self.inside
        admissible = np.ones((len(weights), n_arms), np.bool_)
        if offered is not None:
            admissible[:, ~np.isin(np.arange(n_arms), offered)] = False
        if self.over is not None:
            admissible &= weights @ self.over < self.risk
        best = np.where(admissible, value, -np.inf).argmax(axis=1)
        return np.where(admissible.any(axis=1), best, -1)

    def _plug_in(self, weights: FloatArray) -> IntArray:
        """Return the best arm at the posterior mean of the single unknown number."""
        low, high = self.model.domain
        theta = np.clip(weights @ self.numbers[:, 0], low, high)
        regions = self.model.regions
        ends = np.array([region.high for region in regions[:-1]])
        arms = np.array([region.arm for region in regions])
        return np.asarray(arms[np.searchsorted(ends, theta)])

    def worths(self, rates: FloatArray) -> FloatArray:
        """Return what arms with these mean rewards are worth, (trial, arm)."""
        low, high = self.model.reward_range
        means = low + (high - low) * rates
        columns = [self.model.worth_of(arm, means[:, arm]) for arm in range(means.shape[1])]
        return np.stack(columns, axis=1)

    def tables_to_explain(self) -> dict[str, FloatArray]:
        """Return weights of probabilities by name, (n_points, n_arms): above limits, and best."""
        if not self.explained:
            low, high = self.model.reward_range
            places = np.arange(self.rates.shape[1])
            conditions: dict[str, Any] = {}
            target = getattr(self.model, "target", None)
            if target is not None:
                aim = (target - low) / (high - low)
                conditions["P(above target)"] = lambda rates: rates > aim
            conditions["P(best)"] = lambda rates: (
                self.worths(rates).argmax(axis=1)[:, np.newaxis] == places
            )
            found = probability_weights(self.model, self.points, list(conditions.values()))
            tables = dict(zip(conditions, found, strict=True))
            best = tables.pop("P(best)")
            over = {} if self.over is None else {"P(overdose)": self.over}
            name = "P(best)" if target is None else "P(MTD)"
            self.explained.update(tables | over | {name: best})
        return self.explained

    def wishes(self, counts: IntArray, sums: IntArray | FloatArray) -> IntArray:
        """Return `choose` for many trials; equal rows are computed once."""
        rows = np.concatenate([counts, sums], axis=1).astype(np.float64)
        unique, places = np.unique(rows, axis=0, return_inverse=True)
        n_arms = counts.shape[1]
        arms = np.zeros(len(unique), np.int64)
        for part in self.chunks(len(unique)):
            arms[part] = self.choose(self.weights(unique[part, :n_arms], unique[part, n_arms:]))
        return np.asarray(arms[places.reshape(-1)])


def posterior_of(setup: Posterior, stats: Statistics) -> FloatArray:
    """Return the posterior probabilities of the points after these rewards, (1, n_points)."""
    return setup.weights(stats.counts[np.newaxis].astype(np.float64), stats.sums[np.newaxis])


def select(setup: Posterior, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Return the best admissible arm; -1 if overdose control admits none."""
    return int(setup.choose(posterior_of(setup, stats))[0])


def select_among(
    setup: Posterior,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the best admissible one of the offered arms; -1 if there is none."""
    return int(setup.choose(posterior_of(setup, stats), offered)[0])


def estimate(setup: Posterior, stats: Statistics, state: State) -> float:
    """The posterior mean of a single unknown number; nan before any reward."""
    if stats.total[0] == 0 or setup.numbers.shape[1] > 1:
        return math.nan
    return float(posterior_of(setup, stats)[0] @ setup.numbers[:, 0])


def numbers(
    setup: Posterior, stats: Statistics, state: State, means: FloatArray, deviations: FloatArray
) -> None:
    """Write the posterior means and standard deviations of several unknown numbers."""
    weights = posterior_of(setup, stats)[0]
    means[:] = weights @ setup.numbers
    deviations[:] = np.sqrt(np.maximum(weights @ setup.numbers**2 - means**2, 0.0))


def pend(
    setup: Posterior, stats: Statistics, state: State, arms: IntArray, weights: FloatArray
) -> None:
    """Replace the outcomes that are awaited."""
    likelihoods = 1.0 - weights * setup.rates[:, arms]
    setup.log_prior[:] = setup.points.log_prior + np.log(likelihoods).sum(axis=1)


@register("dose_escalation")
@dataclasses.dataclass(frozen=True, kw_only=True)
class DoseEscalation(Policy):
    """Choose a dose by the posterior of a dose model, with a prior and overdose control.

    With one unknown number and ``rule="plug_in"`` this is the continual reassessment method
    (O'Quigley, Pepe and Fisher 1990). With an unknown intercept and slope and ``rule="mean"`` or
    ``"interval"`` it is the Bayesian logistic regression of Neuenschwander, Branson and Gsponer
    (2008). Put `Limited` around it for cohorts and steps; `gb.trial.crm` and `gb.trial.blrm` do.
    Meant for up to a few hundred rewards. Value: any, except that ``"interval"`` ignores it.

    Args:
        rule: ``"plug_in"``, the best arm at the posterior mean of a single unknown number;
            ``"mean"``, the arm that is worth most at its posterior mean; or ``"interval"``, the arm
            whose mean is most likely in ``interval``.
        prior: one marginal per unknown number, as a kind and its parameters: ``("normal", mean,
            sd)``; ``("lognormal", mean, sd)``, whose logarithm is normal; ``("exponential",
            mean)``; ``("log_exponential", mean)``, a number whose exponential is exponential.
            Uniform on the domain by default. The prior is truncated to the domain.
        correlation: the correlation of two normal numbers, or of the logarithms of lognormal
            ones.
        overdose: a limit and a probability. Only arms are chosen whose mean is above the limit with
            a smaller posterior probability (EWOC: Babb, Rogatko and Zacks 1998). If there is none,
            `select` raises an error: stop the trial.
        interval: the target interval of the mean, in units of the rewards.
        cells: points along each unknown number; by default 160 for one, 64 for each of two.

    >>> DoseEscalation(prior=[("normal", 0.0, 1.16)]).label
    "DoseEscalation(prior=(('normal', 0.0, 1.16),))"
    """

    rule: str = "plug_in"
    prior: tuple[Marginal, ...] | None = None
    correlation: float = 0.0
    overdose: tuple[float, float] | None = None
    interval: tuple[float, float] | None = None
    cells: int | None = None

    compiled = False
    rules = stateless(select, estimate, select_among)._replace(recommend=select, pend=pend)
    # For several unknown numbers.
    several = rules._replace(numbers=numbers)

    def __post_init__(self) -> None:
        """Check the parameters that do not depend on the model."""
        prior = as_marginals(self.prior)
        checked: dict[str, Any] = {
            "rule": require_known("rule", self.rule, RULES, PolicyError),
            "prior": prior,
            "correlation": as_correlation(self.correlation, prior),
            "cells": as_points_per_number(self.cells),
        }
        if self.overdose is not None:
            pair = as_floats("overdose", self.overdose, PolicyError)
            rule = "be a limit and a probability strictly between 0 and 1"
            good = len(pair) == 2 and 0.0 < pair[1] < 1.0
            require(good, "overdose", rule, self.overdose, PolicyError)
            checked["overdose"] = pair
        rule = "be given for the rule 'interval', and for no other"
        given = (self.interval is not None) == (self.rule == "interval")
        require(given, "interval", rule, self.interval, PolicyError)
        if self.interval is not None:
            ends = as_floats("interval", self.interval, PolicyError)
            good = len(ends) == 2 and ends[0] < ends[1]
            require(good, "interval", "be two increasing numbers", self.interval, PolicyError)
            checked["interval"] = ends
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def ignores_value(self) -> bool:  # type: ignore[override]
        """True if the rule is an interval of means, or if overdose control excludes arms."""
        return self.rule == "interval" or self.overdose is not None

    def rules_of(self, setup: Posterior) -> Rules:
        """The rules for one unknown number, or for several."""
        return self.rules if setup.numbers.shape[1] == 1 else self.several

    def setup(self, model: AnyModel) -> Posterior:
        """The model's rates at the points."""
        require_no_contexts(model, "DoseEscalation")
        several = isinstance(model, VectorModel)
        rule = "be 'mean' or 'interval' for several unknown numbers"
        require(not several or self.rule != "plug_in", "rule", rule, self.rule, PolicyError)
        points = build_points(model, self.prior, self.correlation, self.cells)
        low, high = model.reward_range

        def unit(value: float) -> float:
            return (value - low) / (high - low)

        conditions: dict[str, Any] = {}
        if self.overdose is not None:
            limit = unit(self.overdose[0])
            rule = f"have a limit in the reward range [{low:g}, {high:g}]"
            require(0.0 <= limit <= 1.0, "overdose", rule, self.overdose, PolicyError)
            conditions["over"] = lambda rates: rates > limit
        if self.interval is not None:
            first, last = map(unit, self.interval)
            conditions["inside"] = lambda rates: (rates >= first) & (rates < last)
        found = probability_weights(model, points, list(conditions.values()))
        weights = dict(zip(conditions, found, strict=True))
        return Posterior(
            tables=model.tables,
            model=model,
            numbers=points.numbers,
            log_prior=points.log_prior.copy(),
            rates=points.rates,
            constants=np.ascontiguousarray(np.log1p(-points.rates).T),
            slopes=np.ascontiguousarray((np.log(points.rates) - np.log1p(-points.rates)).T),
            over=weights.get("over"),
            inside=weights.get("inside"),
            points=points,
            explained={},
            rule=self.rule,
            risk=1.0 if self.overdose is None else self.overdose[1],
        )

    def reason(self, setup: Posterior, stats: Statistics, state: State) -> str:
        """The rule, and the overdose limit."""
        if self.rule == "plug_in":
            theta = posterior_of(setup, stats)[0] @ setup.numbers[:, 0]
            text = f"best arm at the posterior mean of theta, {theta:.6g}"
        elif self.rule == "mean":
            text = "best arm at the posterior means of the arms"
        else:
            text = "arm whose mean is most likely in the interval"
        if self.overdose is None:
            return text
        return f"{text}, of those above {self.overdose[0]:g} with less than {self.overdose[1]:.0%}"

    def no_arm(self, setup: Posterior, stats: Statistics, state: State) -> str:
        """No arm is admissible."""
        assert self.overdose is not None
        limit, risk = self.overdose
        return f"every mean is above {limit:g} with a probability of at least {risk:g}; stop"

    def posterior(
        self, setup: Posterior, stats: Statistics, state: State
    ) -> dict[str, list[float]]:
        """Return columns of the posterior of every arm's mean reward, one entry per arm.

        Its mean as ``rate``, an interval of 90 %, the probabilities of a rate above the target and
        above the overdose limit, and the probability of being the best arm, the MTD of a model with
        a target.
        """
        weights = posterior_of(setup, stats)[0]
        low, high = setup.model.reward_range
        tail = 0.5 * (1.0 - INTERVAL_CONFIDENCE)
        units = {
            "rate": weights @ setup.rates,
            "low": np.array([quantile(column, weights, tail) for column in setup.rates.T]),
            "high": np.array([quantile(column, weights, 1.0 - tail) for column in setup.rates.T]),
        }
        found = {name: (low + (high - low) * values).tolist() for name, values in units.items()}
        for name, table in setup.tables_to_explain().items():
            found[name] = np.clip(weights @ table, 0.0, 1.0).tolist()
        return found


def quantile(values: FloatArray, weights: FloatArray, share: float) -> float:
    """Return a weighted quantile, interpolated between the middles of the weights.

    >>> quantile(np.array([0.1, 0.3, 0.5]), np.array([0.25, 0.5, 0.25]), 0.5)
    0.3
    """
    order = np.argsort(values)
    sums = np.cumsum(weights[order]) - 0.5 * weights[order]
    return float(np.interp(share, sums, values[order]))
