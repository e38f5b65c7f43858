"""`StopWhen`: a rule that ends a trial before its last decision."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from globalbandits._validation import (
    as_float,
    as_fraction,
    as_integer,
    as_positive,
    require,
    require_known,
)
from globalbandits.errors import PolicyError
from globalbandits.evidence.stop_rules import (
    AT_ANY,
    AT_RECOMMENDED,
    DECISIONS,
    ONE_CONTENDER,
    PRECISE,
    TOO_HIGH,
    Stop,
    is_too_high,
    weigh,
)
from globalbandits.model import ContextModel
from globalbandits.model.vector_model import VectorModel
from globalbandits.policies.shared.grid import as_cells, as_prior, build, unit_means
from globalbandits.policies.shared.prior_points import (
    as_correlation,
    as_marginals,
    build_points,
    probability_weights,
)
from globalbandits.statistics import no_statistics

# A rule that continues after this number of largest rewards, and no others, cannot stop a run.
_WORST_REWARDS = 36

REASONS = {
    TOO_HIGH: "too high",
    ONE_CONTENDER: "one contender",
    DECISIONS: "decisions",
    AT_RECOMMENDED: "at recommended",
    AT_ANY: "at any",
    PRECISE: "precise",
}
_CONFIDENCE_KINDS = ("posterior", "anytime")


@dataclasses.dataclass(frozen=True, kw_only=True)
class StopWhen:
    """Stop a run when an arm's mean is too high, when one arm is known well, or after some rewards.

    Several rules may be given at once; the run stops when one of them applies. Safety comes first:
    a run that stops because the mean is too high recommends no arm. The rules with a confidence
    rely on the model and use the rewards of all arms. `gb.simulate` does not support
    ``at_recommended``, ``at_any`` and ``precision``; designs of `gb.trial` and a learner do.

    Args:
        above: stop once the mean of ``arm`` is above this limit, in units of the rewards. In a
            dose trial: the lowest dose is too toxic.
        arm: index of the watched arm.
        one_contender: stop once a single arm is known to be best.
        decisions: stop after this number of decisions. A policy that does not count decisions has
            as many as rewards.
        at_recommended: stop once the arm that would be played next has this number of rewards.
        at_any: stop once an arm has this number of rewards.
        precision: stop once the central posterior interval, of probability ``confidence``, of the
            mean of the arm that would be played next is at most this wide, in units of rewards.
        confidence: confidence of ``above``, ``one_contender`` and ``precision``.
        by: how confidence is measured. ``"posterior"``: the posterior probability is at least
            ``confidence``. ``"anytime"``: all parameters that contradict the statement are
            refuted. Under the model, the probability of ever stopping wrongly is at most
            ``1 - confidence``, even if the rule is checked after every reward.
        prior: mean and standard deviation of a normal prior of theta, or marginals as in
            `DoseEscalation`, which several unknown numbers need; uniform by default.
        prior_variance: variance of a normal prior around 0, instead of ``prior``; dfcrm's is 1.34.
        correlation: the correlation of two normal or lognormal numbers.
        after: the rules with a confidence apply from this number of rewards on.
        contender_rewards: the number of rewards that the single best arm must have.
        cells: number of cells of the grid of a single number.

    >>> import globalbandits as gb
    >>> learner = gb.Learner(gb.WAGP(), gb.dose.logistic([1.0, 2.0], target=0.25), seed=0)
    >>> learner.update([0, 0, 0], [1.0, 1.0, 1.0])
    >>> learner.should_stop(StopWhen(above=0.25, confidence=0.9))
    'too high'
    """

    above: float | None = None
    arm: int = 0
    one_contender: bool = False
    decisions: int | None = None
    at_recommended: int | None = None
    at_any: int | None = None
    precision: float | None = None
    confidence: float = 0.95
    by: str = "posterior"
    prior: Any = None
    prior_variance: float | None = None
    correlation: float = 0.0
    after: int = 1
    contender_rewards: int = 6
    cells: int = 200

    def __post_init__(self) -> None:
        """Check the parameters that do not depend on the model."""
        checked: dict[str, Any] = {
            "arm": as_integer("arm", self.arm, 0, PolicyError),
            "confidence": as_fraction("confidence", self.confidence, PolicyError),
            "by": require_known("by", self.by, _CONFIDENCE_KINDS, PolicyError),
            "prior": self._checked_prior(),
            "prior_variance": None,
            "after": as_integer("after", self.after, 0, PolicyError),
            "contender_rewards": as_integer(
                "contender_rewards", self.contender_rewards, 0, PolicyError
            ),
            "cells": as_cells(self.cells),
        }
        if self.above is not None:
            checked["above"] = as_float("above", self.above, PolicyError)
        for name in ("decisions", "at_recommended", "at_any"):
            if getattr(self, name) is not None:
                checked[name] = as_integer(name, getattr(self, name), 1, PolicyError)
        if self.precision is not None:
            checked["precision"] = as_positive("precision", self.precision, PolicyError)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        flag = isinstance(self.one_contender, bool)
        require(flag, "one_contender", "be True or False", self.one_contender, PolicyError)
        numbers = (self.above, self.decisions, self.at_recommended, self.at_any, self.precision)
        any_rule = self.one_contender or any(number is not None for number in numbers)
        rule = "have above, one_contender, decisions, at_recommended, at_any or precision"
        require(any_rule, "StopWhen", rule, "none of them", PolicyError)

    def _checked_prior(self) -> Any:
        """Return marginals, or mean and standard deviation of theta, or None."""
        prior: Any = self.prior
        has_kinds = isinstance(prior, Sequence) and len(prior) > 0 and is_marginal(prior[0])
        marginals = as_marginals(prior) if has_kinds else None
        object.__setattr__(self, "correlation", as_correlation(self.correlation, marginals))
        if marginals is not None:
            return marginals
        return as_prior(prior, self.prior_variance)

    def setup(self, model: Any) -> Stop:
        """Return the rule on a grid of the model's parameters.

        With contexts only ``decisions`` is allowed: the other rules are about one sequence of arms.
        """
        if isinstance(model, ContextModel):
            rule = "have decisions alone for a model with contexts"
            alone = StopWhen(decisions=self.decisions or 1)
            require(self == alone, "StopWhen", rule, self, PolicyError)
            model = model.cells
        rule = f"be at most {model.n_arms - 1}, the last arm"
        require(self.arm < model.n_arms, "arm", rule, self.arm, PolicyError)
        low, high = model.reward_range
        if self.above is not None:
            rule = f"lie in the reward range [{low:g}, {high:g}]"
            require(low <= self.above <= high, "above", rule, self.above, PolicyError)
        limit = np.inf if self.above is None else (self.above - low) / (high - low)
        prior: Any = self.prior
        has_kinds = bool(prior) and is_marginal(prior[0])
        if isinstance(model, VectorModel) or has_kinds:
            rule = "have one marginal per unknown number, as in DoseEscalation"
            require(prior is None or has_kinds, "prior", rule, prior, PolicyError)
            points = build_points(model, prior, self.correlation)
            (weights,) = probability_weights(model, points, [lambda rates: rates > limit])
            inside = np.isfinite(points.log_prior)
            means, log_prior = points.rates[inside].T, points.log_prior[inside]
            above = np.ascontiguousarray(weights[inside, self.arm])
            constants, slopes = np.log1p(-means), np.log(means) - np.log1p(-means)
            values = low + (high - low) * means
            worths = np.stack([model.worth_of(arm, row) for arm, row in enumerate(values)])
        else:
            grid = build(model, "bernoulli", self.cells, prior)
            means, log_prior = unit_means(model, grid.thetas), grid.log_prior
            constants, slopes, worths = grid.constants, grid.slopes, grid.worths
            above = (means[self.arm] > limit).astype(np.float64)
        watched = means[self.arm]
        top = log_prior.max()
        log_sum = top + np.log(np.exp(log_prior - top).sum())
        stop = Stop(
            constants=np.ascontiguousarray(constants),
            slopes=np.ascontiguousarray(slopes),
            log_prior=log_prior - log_sum,
            too_high=(watched > limit).astype(np.int64),
            above=above,
            best=worths.argmax(axis=0).astype(np.int64),
            logs=np.zeros(len(log_prior)),
            masses=np.zeros(model.n_arms),
            watches=self.above is not None,
            decides=self.one_contender,
            anytime=self.by == "anytime",
            confidence=self.confidence,
            decisions=self.decisions or 0,
            after=self.after,
            contender_rewards=self.contender_rewards,
            at_recommended=self.at_recommended or 0,
            at_any=self.at_any or 0,
            precision=(self.precision or 0.0) / (high - low),
        )
        if self.above is not None:
            self._check_fires(stop, model.n_arms, float(watched.max()))
        return stop

    def _check_fires(self, stop: Stop, n_arms: int, largest: float) -> None:
        """Raise a PolicyError if the rule would not stop the worst run."""
        stats = no_statistics(n_arms)
        stats.counts[self.arm] = stats.sums[self.arm] = stats.squares[self.arm] = _WORST_REWARDS
        stats.total[0] = _WORST_REWARDS
        rule = (
            f"be a limit that {_WORST_REWARDS} largest rewards of arm {self.arm} exceed at this "
            f"confidence (the arm's largest mean in the domain is {largest:.3g} on the unit scale; "
            "a wider domain has a larger one)"
        )
        fires = is_too_high(stop, weigh(stop, stats))
        require(fires, "above", rule, self.above, PolicyError)

    @property
    def is_compiled(self) -> bool:
        """Whether the simulator's compiled loop knows the rules."""
        return self.at_recommended is None and self.at_any is None and self.precision is None

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as a plain dict."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(given: object) -> "StopWhen":
        """Return the rule of a plain dict; the inverse of `to_dict`."""
        known = {field.name for field in dataclasses.fields(StopWhen)}
        fits = isinstance(given, Mapping) and given.keys() <= known
        require(fits, "stop", f"have keys among {', '.join(sorted(known))}", given, PolicyError)
        assert isinstance(given, Mapping)
        return StopWhen(**given)


def is_marginal(given: object) -> bool:
    """Whether a part of a prior is a marginal, such as ``("normal", 0, 1)``."""
    return isinstance(given, Sequence) and len(given) > 0 and isinstance(given[0], str)
