"""Elastic: the model's curves are believed as far as the rewards agree with them."""

import dataclasses
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import as_float, as_integer, require
from globalbandits.errors import PolicyError
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.parts.choice import choose_largest
from globalbandits.policies.parts.curve_errors import Fit, estimate_theta, fit_errors, no_fit
from globalbandits.policies.parts.curve_grid import (
    MOST_ON_ZERO,
    MOST_PARTS,
    N_SCALES,
    Prior,
    as_numbers,
    as_weights,
    build_prior,
    guess_means,
)
from globalbandits.policies.parts.curve_index import renew_index
from globalbandits.policies.parts.learned_noise import (
    APART,
    Noise,
    Pooling,
    learn_noise,
    no_noise,
    renew_variance,
)
from globalbandits.policies.parts.refitting import (
    is_old,
    may_be_renewals,
    next_fit,
    note_renewal,
)
from globalbandits.policies.parts.valuing import unit_scale
from globalbandits.statistics import Statistics, assign, no_statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

GROWTH = 1.07  # of the number of rewards, from one fit to the next

# Without a horizon tests look ahead PIVOT * (t / PIVOT)**AHEAD rounds, further than t at first,
# so that a wrong arm is found sooner, and t rounds from t = PIVOT on.
PIVOT, AHEAD = 1e4, 0.75


class Setup(NamedTuple):
    """The model, the same on a grid, and the policy's constants."""

    tables: Tables
    prior: Prior
    pooling: Pooling
    exception: float  # prior probability of an arm
    caution: float  # of an arm
    horizon: float  # 0 if it is not known
    proved: bool


class State(NamedTuple):
    """The statistics of the last fit and of the last indices, and what follows from them."""

    fitted: Statistics
    renewed: Statistics  # each arm's rewards when its index was computed
    due: FloatArray  # (1,) the number of rewards at which the next fit is due
    horizons: FloatArray  # (3,) rounds the indices and the tests look ahead, and rounds so far
    noise: Noise
    fit: Fit
    means: FloatArray  # (n_arms,) posterior mean of each arm
    indices: FloatArray  # (n_arms,)


def init(setup: Setup) -> State:
    """No reward yet: what the prior says."""
    n = setup.tables.n_arms
    state = State(
        fitted=no_statistics(n),
        renewed=no_statistics(n),
        due=np.zeros(1),
        horizons=np.zeros(3),
        noise=no_noise(n),
        fit=no_fit(setup.prior),
        means=np.zeros(n),
        indices=np.zeros(n),
    )
    rebuild(setup, no_statistics(n), state)
    return state


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """The largest index, ties at random."""
    return choose_largest(state.indices, rng)


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Renew all indices when a fit is due, and the played arm's when it has grown old."""
    if stats.total[0] >= state.due[0]:
        rebuild(setup, stats, state)
    elif is_old(state.renewed.counts[arm], stats.counts[arm]):
        note_renewal(state.renewed, stats, arm)
        renew_variance(state.renewed, state.noise, setup.pooling, arm)
        renew_index(setup, state.renewed, state, arm)


def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
    """Fit noise, parameter and scale to the statistics, and renew every index."""
    assign(state.fitted, stats)
    assign(state.renewed, stats)
    refit(setup, state)
    for arm in range(stats.counts.shape[0]):
        renew_index(setup, stats, state, arm)


def refit(setup: Setup, state: State) -> None:
    """Everything but the indices, from the statistics of the last fit."""
    fitted = state.fitted
    total = float(fitted.total[0])
    state.due[0] = next_fit(fitted.total[0], GROWTH)
    guess_means(setup.prior, fitted, state.noise)
    learn_noise(fitted, state.noise, setup.pooling)
    fit_errors(setup.prior, setup.exception, fitted, state.noise.variances, state.fit)
    state.horizons[0] = total + 1.0
    state.horizons[2] = total + 1.0
    state.horizons[1] = max(total + 1.0, PIVOT * math.pow((total + 1.0) / PIVOT, AHEAD))
    if setup.horizon > 0.0:
        left = max(1.0, setup.horizon - total)
        state.horizons[0] = min(total + 1.0, left)
        state.horizons[1] = left


def resume(setup: Setup, stats: Statistics, state: State) -> bool:
    """The last fit again, then the indices as they were last computed."""
    renewed = state.renewed
    if not may_be_renewals(state.fitted, renewed, stats, GROWTH):
        return False
    refit(setup, state)
    for arm in range(stats.counts.shape[0]):
        renew_variance(renewed, state.noise, setup.pooling, arm)
        renew_index(setup, renewed, state, arm)
    return True


def estimate(setup: Setup, stats: Statistics, state: State) -> float:
    """The posterior mean of the parameter as of the last fit; nan before any reward."""
    return estimate_theta(stats, state.fit)


@register("elastic")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Elastic(Policy):
    """Believe the curves as far as the rewards agree with them, and explore for what is left.

    The mean of arm k is ``mu_k(theta) + b_k`` with errors ``b_k`` of an unknown common size;
    at most one arm is an exception, whose curve is badly wrong. The posterior of parameter and
    size gives every arm a mean m and a variance c, and the largest Gittins index
    ``m + sqrt(c) * psi(h * c / v)`` is played, h being the number of rounds so far. Beside it
    every arm has the index it would deserve as the exception; the larger of the two counts.
    Last, an arm's own rewards set a floor and a ceiling to its index. No arm needs a first
    pull. See docs/elastic.md for what was measured.

    Value: exact for rising lines. For any other one an approximation: the index is the most that
    a mean no farther from the posterior's than the bonus can be worth. On six problems with a
    target, regret was that of policies on a grid of the parameter (docs/policies.md).

    Args:
        horizon: the number of rounds there will be, if that is known. Exploring then ends in
            time; None for an open end.
        exception: the prior probability that some arm's curve is badly wrong, in [0, 1),
            shared by all arms; 0 for never.
        caution: how much is paid so that a good arm is not given up, at least 0: the chance,
            shared by all arms, that a curve is a little off, which sets the floor. Larger
            values mean fewer runs that stay with the wrong arm. That has a price which no
            policy can avoid: where the curves are right, a factor e more costs about 9
            rewards (12 prices, 10**4 rounds). 0 for users who trust their curves.
        prior: nine weights of the errors' sizes 0, .0025, .005, .01, ..., .32 (standard
            deviations on the unit reward scale), such as history suggests; None puts four
            fifths of the weight on 0.
        theta_prior: weights of up to 20 equal parts of the parameter's domain, from left to
            right, such as the number of earlier cases in each; straight lines lead from
            one part's middle to the next. None for equal ones.
        arm_errors: how large each arm's error is expected to be beside the others', at least
            0; an error's standard deviation is that many times the common size. None for 1.
        proved: add a floor and a ceiling that hold for any rewards in [0, 1], from an arm's own
            rewards alone, and play every arm once by round 10**4. Then regret is sub-linear
            whatever the means are; docs/elastic.md has the proof and what it costs.

    >>> Elastic().label, Elastic(horizon=1000).label
    ('Elastic', 'Elastic(horizon=1000)')
    """

    horizon: int | None = None
    exception: float = 0.12
    caution: float = 0.36
    prior: tuple[float, ...] | None = None
    theta_prior: tuple[float, ...] | None = None
    arm_errors: tuple[float, ...] | None = None
    proved: bool = False

    rules = Rules(
        init, select, update, estimate, rebuild, kept=("fitted", "renewed"), resume=resume
    )

    def __post_init__(self) -> None:
        """Check every parameter."""
        exception = as_float("exception", self.exception, PolicyError)
        require(0.0 <= exception < 1.0, "exception", "lie in [0, 1)", self.exception, PolicyError)
        caution = as_float("caution", self.caution, PolicyError)
        require(caution >= 0.0, "caution", "be at least 0", self.caution, PolicyError)
        is_flag = isinstance(self.proved, bool)
        require(is_flag, "proved", "be True or False", self.proved, PolicyError)
        checked: dict[str, Any] = {"exception": exception, "caution": caution}
        if self.horizon is not None:
            checked["horizon"] = as_integer("horizon", self.horizon, 1, PolicyError)
        if self.prior is not None:
            checked["prior"] = as_weights("prior", self.prior, N_SCALES, N_SCALES)
        if self.theta_prior is not None:
            checked["theta_prior"] = as_weights("theta_prior", self.theta_prior, 1, MOST_PARTS)
        if self.arm_errors is not None:
            errors = as_numbers("arm_errors", self.arm_errors, "one number per arm")
            right = min(errors, default=0.0) >= 0.0
            require(right, "arm_errors", "be at least 0", self.arm_errors, PolicyError)
            checked["arm_errors"] = errors
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def setup(self, model: "RewardModel") -> Setup:
        """The model on a grid, and the constants."""
        right = self.arm_errors is None or len(self.arm_errors) == model.n_arms
        rule = f"have one entry for each of the {model.n_arms} arms"
        require(right, "arm_errors", rule, self.arm_errors, PolicyError)
        prior = build_prior(
            model, self.prior or MOST_ON_ZERO, self.theta_prior or (1.0,), self.arm_errors
        )
        return Setup(
            tables=model.tables,
            prior=prior,
            pooling=APART,
            exception=self.exception / model.n_arms,
            caution=self.caution / model.n_arms,
            horizon=float(self.horizon or 0),
            proved=self.proved,
        )

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """The index and how far the curves are believed."""
        scale = float(state.fit.scale_weights @ setup.prior.scales)
        return (
            f"largest index: {float(np.max(state.indices)):.6g} on {unit_scale(setup.tables)}, "
            f"the curves being off by {scale:.2g} (posterior mean of the standard deviation)"
        )

    def details(self, setup: Setup, stats: Statistics, state: State) -> dict[str, Any]:
        """Posterior weights of the errors' sizes, and every arm's posterior mean and index."""
        return {
            "scale_weights": dict(
                zip(setup.prior.scales.tolist(), state.fit.scale_weights.tolist(), strict=True)
            ),
            "means": state.means.tolist(),
            "indices": [x if math.isfinite(x) else None for x in state.indices.tolist()],
        }
