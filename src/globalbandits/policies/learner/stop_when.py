"""`StopWhen`: a rule that ends a trial before its last decision."""

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._validation import as_float, as_fraction, as_integer, require, require_known
from globalbandits.errors import PolicyError
from globalbandits.evidence.stop_rules import (
    DECISIONS,
    ONE_CONTENDER,
    TOO_HIGH,
    Stop,
    is_too_high,
    weigh,
)
from globalbandits.policies.shared.grid import (
    as_cells,
    as_prior,
    build,
    unit_means,
)
from globalbandits.statistics import no_statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


# A rule that continues after this number of largest rewards, and no others, cannot stop a run.
_WORST_REWARDS = 36

REASONS = {TOO_HIGH: "too high", ONE_CONTENDER: "one contender", DECISIONS: "decisions"}
_CONFIDENCE_KINDS = ("posterior", "anytime")


@dataclasses.dataclass(frozen=True, kw_only=True)
class StopWhen:
    """Stop a run when an arm's mean is too high, when one arm is best, or after some decisions.

    The first two rules rely on the model and use the rewards of all arms. Safety comes first: a
    run that stops because the mean is too high recommends no arm.

    Args:
        above: stop once the mean of ``arm`` is above this limit, in units of the rewards. In a
            dose trial: the lowest dose is too toxic.
        arm: index of the watched arm.
        one_contender: stop once a single arm is known to be best.
        decisions: stop after this number of rewards.
        confidence: confidence of the first two rules.
        by: how confidence is measured. ``"posterior"``: the posterior probability is at least
            ``confidence``. ``"anytime"``: all parameters that contradict the statement are
            refuted. Under the model, the probability of ever stopping wrongly is at most
            ``1 - confidence``, even if the rule is checked after every reward.
        prior: mean and standard deviation of a normal prior of theta; uniform by default.
        prior_sd: standard deviation of a normal prior around 0, instead of ``prior``.
        prior_variance: its variance, instead of ``prior``; dfcrm's is 1.34.
        after: the first two rules apply from this number of rewards on.
        contender_rewards: the number of rewards that the single best arm must have.
        cells: number of cells of the grid of parameters.

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
    confidence: float = 0.95
    by: str = "posterior"
    prior: tuple[float, float] | None = None
    prior_sd: float | None = None
    prior_variance: float | None = None
    after: int = 1
    contender_rewards: int = 6
    cells: int = 200

    def __post_init__(self) -> None:
        """Check the parameters that do not depend on the model."""
        checked: dict[str, Any] = {
            "arm": as_integer("arm", self.arm, 0, PolicyError),
            "confidence": as_fraction("confidence", self.confidence, PolicyError),
            "by": require_known("by", self.by, _CONFIDENCE_KINDS, PolicyError),
            "prior": as_prior(self.prior, self.prior_sd, self.prior_variance),
            "prior_sd": None,
            "prior_variance": None,
            "after": as_integer("after", self.after, 0, PolicyError),
            "contender_rewards": as_integer(
                "contender_rewards", self.contender_rewards, 0, PolicyError
            ),
            "cells": as_cells(self.cells),
        }
        if self.above is not None:
            checked["above"] = as_float("above", self.above, PolicyError)
        if self.decisions is not None:
            checked["decisions"] = as_integer("decisions", self.decisions, 1, PolicyError)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        flag = isinstance(self.one_contender, bool)
        require(flag, "one_contender", "be True or False", self.one_contender, PolicyError)
        any_rule = self.above is not None or self.one_contender or self.decisions is not None
        rule = "have above, one_contender or decisions"
        require(any_rule, "StopWhen", rule, "none of them", PolicyError)

    def setup(self, model: "RewardModel") -> Stop:
        """Return the rule on a grid of the model's parameters."""
        rule = f"be at most {model.n_arms - 1}, the last arm"
        require(self.arm < model.n_arms, "arm", rule, self.arm, PolicyError)
        low, high = model.reward_range
        if self.above is not None:
            rule = f"lie in the reward range [{low:g}, {high:g}]"
            require(low <= self.above <= high, "above", rule, self.above, PolicyError)
        grid = build(model, "bernoulli", self.cells, self.prior)
        limit = np.inf if self.above is None else (self.above - low) / (high - low)
        watched = unit_means(model, grid.thetas)[self.arm]
        top = grid.log_prior.max()
        log_sum = top + np.log(np.exp(grid.log_prior - top).sum())
        stop = Stop(
            constants=grid.constants,
            slopes=grid.slopes,
            log_prior=grid.log_prior - log_sum,
            too_high=(watched > limit).astype(np.int64),
            best=grid.worths.argmax(axis=0).astype(np.int64),
            logs=np.zeros(self.cells),
            masses=np.zeros(model.n_arms),
            watches=self.above is not None,
            decides=self.one_contender,
            anytime=self.by == "anytime",
            confidence=self.confidence,
            decisions=self.decisions or 0,
            after=self.after,
            contender_rewards=self.contender_rewards,
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

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as a plain dict."""
        return dataclasses.asdict(self)
