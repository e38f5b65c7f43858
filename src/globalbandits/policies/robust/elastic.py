"""Elastic: the model's curves are believed as far as the rewards agree with them."""

import dataclasses
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import as_float, as_positive, require
from globalbandits.errors import PolicyError
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.parts.choice import choose_largest
from globalbandits.policies.parts.curve_errors import Fit, estimate_theta, fit_errors, no_fit
from globalbandits.policies.parts.curve_grid import (
    UNIFORM,
    Prior,
    as_weights,
    build_prior,
    guess_means,
)
from globalbandits.policies.parts.curve_index import renew_index
from globalbandits.policies.parts.gittins import as_form
from globalbandits.policies.parts.learned_noise import Noise, learn_noise, no_noise, renew_variance
from globalbandits.policies.parts.refitting import may_be_last_fit, next_fit
from globalbandits.policies.parts.valuing import unit_scale
from globalbandits.statistics import Statistics, assign, no_statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

PIVOT = 1e4  # from this horizon on exceptions are looked for no further ahead than anything else

POOLING = ("moments", "scales")


class Setup(NamedTuple):
    """The model, the same on a grid, and the policy's constants."""

    tables: Tables
    prior: Prior
    exception: float
    growth: float
    patience: float
    form: int
    by_scale: bool


class State(NamedTuple):
    """The statistics of the last fit, what follows from them, and an index per arm."""

    fitted: Statistics
    due: FloatArray  # (1,) the number of rewards at which the next fit is due
    horizons: FloatArray  # (2,) rounds the indices and the tests look ahead, as of the last fit
    noise: Noise
    fit: Fit
    means: FloatArray  # (n_arms,) posterior mean of each arm
    indices: FloatArray  # (n_arms,)


def init(setup: Setup) -> State:
    """No reward yet: what the prior says."""
    n = setup.tables.n_arms
    state = State(
        fitted=no_statistics(n),
        due=np.zeros(1),
        horizons=np.zeros(2),
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
    """Renew the played arm's index, or all of them when a fit is due."""
    if stats.total[0] >= state.due[0]:
        rebuild(setup, stats, state)
    else:
        renew_variance(stats, state.noise, arm)
        renew_index(setup, stats, state, arm)


def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
    """Fit noise, parameter and scale to the statistics, and renew every index."""
    assign(state.fitted, stats)
    refit(setup, state)
    for arm in range(stats.counts.shape[0]):
        renew_index(setup, stats, state, arm)


def refit(setup: Setup, state: State) -> None:
    """Everything but the indices, from the statistics of the last fit."""
    fitted = state.fitted
    state.due[0] = next_fit(fitted.total[0])
    guess_means(setup.prior, fitted, state.noise)
    learn_noise(fitted, state.noise)
    fit_errors(setup.prior, fitted, state.noise.variances, state.fit)
    horizon = setup.patience * (float(fitted.total[0]) + 1.0)
    state.horizons[0] = horizon
    state.horizons[1] = max(horizon, PIVOT * math.pow(horizon / PIVOT, setup.growth))


def resume(setup: Setup, stats: Statistics, state: State) -> bool:
    """The last fit again, then the indices with the rewards that have come since."""
    if not may_be_last_fit(state.fitted, stats):
        return False
    refit(setup, state)
    for arm in range(stats.counts.shape[0]):
        renew_variance(stats, state.noise, arm)
        renew_index(setup, stats, state, arm)
    return True


def estimate(setup: Setup, stats: Statistics, state: State) -> float:
    """The posterior mean of the parameter as of the last fit; nan before any reward."""
    return estimate_theta(stats, state.fit)


@register("elastic")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Elastic(Policy):
    """Believe the curves as far as the rewards agree with them, and explore for what is left.

    The mean of arm k is ``mu_k(theta) + b_k`` with errors ``b_k`` of an unknown common size;
    the posterior of parameter and size gives every arm a mean m and a variance c, and the
    largest Gittins index ``m + sqrt(c) * psi(h * c / v)`` is played, h being a multiple of the
    rounds so far. Beside it every arm has the index it would deserve if its curve alone were
    badly wrong, an exception; the larger of the two counts. No arm needs a first pull, and no
    horizon has to be known. See docs/elastic.md for what was measured, and `variant` for the
    three settings it started from.

    Args:
        exception: the prior probability that an arm's curve is badly wrong, in [0, 1); 0 for
            never.
        growth: how far ahead exceptions are looked for, in (0, 1]: up to h = 10**4 it is
            ``10**4 * (h / 10**4)**growth`` rounds. Below 1 that is further than h, so that a
            wrong arm is found sooner; from 10**4 on it is h.
        prior: nine weights of the errors' sizes 0, .0025, .005, .01, ..., .32 (standard
            deviations on the unit reward scale), such as history suggests; None puts half of
            the weight on 0.
        patience: h as a multiple of t; positive.
        psi: "log" or "brezzi-lai", see `globalbandits.policies.parts.gittins.psi`.
        pooling: "scales" averages the indices over the errors' sizes, "moments" takes one
            index from the averaged moments.

    >>> Elastic().label, Elastic(exception=0.003).label
    ('Elastic', 'Elastic(exception=0.003)')
    """

    exception: float = 0.01
    growth: float = 0.5
    prior: tuple[float, ...] | None = None
    patience: float = 1.0
    psi: str = "log"
    pooling: str = "scales"

    rules = Rules(init, select, update, estimate, rebuild, kept=("fitted",), resume=resume)

    def __post_init__(self) -> None:
        """Check every parameter."""
        exception = as_float("exception", self.exception, PolicyError)
        require(0.0 <= exception < 1.0, "exception", "lie in [0, 1)", self.exception, PolicyError)
        growth = as_float("growth", self.growth, PolicyError)
        require(0.0 < growth <= 1.0, "growth", "lie in (0, 1]", self.growth, PolicyError)
        require(
            self.pooling in POOLING, "pooling", "be moments or scales", self.pooling, PolicyError
        )
        as_form(self.psi)
        checked = {
            "exception": exception,
            "growth": growth,
            "patience": as_positive("patience", self.patience, PolicyError),
            "prior": None if self.prior is None else as_weights(self.prior),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @classmethod
    def variant(cls, name: str) -> "Elastic":
        """One of the three settings that the policy was first described with.

        ==  =============  ===================  ========  ==========  =======
        U   uniform prior  no exceptions        h = 3t    brezzi-lai  moments
        A   half on 0      exception 0.003      h = 3t    brezzi-lai  moments
        B   half on 0      exception 0.01       h = t     log         scales
        ==  =============  ===================  ========  ==========  =======

        >>> Elastic.variant("B")
        Elastic(exception=0.01, growth=1.0, prior=None, patience=1.0, psi='log', pooling='scales')
        """
        require(name in _VARIANTS, "variant", "be U, A or B", name, PolicyError)
        return cls(growth=1.0, **_VARIANTS[name])

    def setup(self, model: "RewardModel") -> Setup:
        """The model on a grid, and the constants."""
        return Setup(
            tables=model.tables,
            prior=build_prior(model.tables, self.prior),
            exception=self.exception,
            growth=self.growth,
            patience=self.patience,
            form=as_form(self.psi),
            by_scale=self.pooling == "scales",
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
            "indices": state.indices.tolist(),
        }


_VARIANTS: dict[str, dict[str, Any]] = {
    "U": {
        "exception": 0.0,
        "prior": UNIFORM,
        "patience": 3.0,
        "psi": "brezzi-lai",
        "pooling": "moments",
    },
    "A": {"exception": 0.003, "patience": 3.0, "psi": "brezzi-lai", "pooling": "moments"},
    "B": {"exception": 0.01, "patience": 1.0, "psi": "log", "pooling": "scales"},
}
