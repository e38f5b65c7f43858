"""Elastic: the model's curves are believed as far as the rewards agree with them."""

import dataclasses
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_float, as_positive, require
from globalbandits.errors import PolicyError
from globalbandits.model.tables import Tables
from globalbandits.policies import base
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.choice import choose_largest
from globalbandits.policies.elastic_fit import UNIFORM, Prior, as_weights, build_prior, fit
from globalbandits.policies.elastic_index import renew_index
from globalbandits.policies.gittins import (
    as_form,
    learn_noise,
    record,
    renew_variance,
    schedule,
)

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

PIVOT = 1e4  # from this horizon on the guard looks no further ahead than the rest of the policy

POOLING = ("moments", "scales")


class Setup(NamedTuple):
    """The model, the same on a grid, and the policy's constants."""

    tables: Tables
    prior: Prior
    guard: float
    growth: float
    patience: float
    form: int
    by_scale: bool


class State(NamedTuple):
    """Statistics per arm, the last fit, and an index per arm."""

    counts: IntArray  # (n_arms,) N_k
    sums: FloatArray  # (n_arms,) sum of rewards
    squares: FloatArray  # (n_arms,) sum of squared rewards
    total: IntArray  # (1,) number of observations
    refit: IntArray  # (1,) the total at which the next fit is due
    horizons: FloatArray  # (2,) rounds the indices and the guard look ahead, as of the last fit
    means: FloatArray  # (n_arms,) posterior mean of each arm
    expected_variances: FloatArray  # (n_arms,) of a reward, by all arms
    variances: FloatArray  # (n_arms,) v_k
    scale_weights: FloatArray  # (n_scales,)
    model_means: FloatArray  # (n_arms, n_scales) of mu_k(theta)
    model_variances: FloatArray  # (n_arms, n_scales)
    theta: FloatArray  # (1,) posterior mean of the parameter
    indices: FloatArray  # (n_arms,)


def init(setup: Setup) -> State:
    """No observation yet: what the prior says."""
    n, n_scales = setup.tables.n_arms, setup.prior.scales.shape[0]
    state = State(
        counts=np.zeros(n, np.int64),
        sums=np.zeros(n),
        squares=np.zeros(n),
        total=np.zeros(1, np.int64),
        refit=np.zeros(1, np.int64),
        horizons=np.zeros(2),
        means=np.full(n, 0.5),
        expected_variances=np.zeros(n),
        variances=np.zeros(n),
        scale_weights=np.zeros(n_scales),
        model_means=np.zeros((n, n_scales)),
        model_variances=np.zeros((n, n_scales)),
        theta=np.zeros(1),
        indices=np.zeros(n),
    )
    refresh(setup, state)
    return state


def select(setup: base.Setup, state: base.State, rng: np.random.Generator) -> int:
    """The largest index, ties at random."""
    return choose_largest(state.indices, rng)


def update(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Count one reward; renew the played arm's index, or all of them when a fit is due."""
    record(state, arm, reward, 1)
    first, stop = arm, arm + 1
    if state.total[0] >= state.refit[0]:
        first, stop = 0, state.counts.shape[0]
        refit(setup, state)
    else:
        renew_variance(state, arm)
    for each in range(first, stop):
        renew_index(setup, state, each)


def forget(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Take one observation back."""
    record(state, arm, reward, -1)
    refresh(setup, state)


def refresh(setup: Setup, state: State) -> None:
    """Rebuild everything from counts, sums and squares."""
    refit(setup, state)
    for arm in range(state.counts.shape[0]):
        renew_index(setup, state, arm)


def refit(setup: Setup, state: State) -> None:
    """Fit noise, parameter and scale to counts, sums and squares."""
    schedule(state)
    learn_noise(state)
    n_scales = setup.prior.scales.shape[0]
    windows = np.empty((n_scales, 4), np.int64)
    fit(setup.prior, state, windows, np.empty((n_scales, setup.prior.n_fine)))
    horizon = setup.patience * (state.total[0] + 1)
    state.horizons[0] = horizon
    state.horizons[1] = max(horizon, PIVOT * math.pow(horizon / PIVOT, setup.growth))


def estimate(setup: base.Setup, state: base.State) -> float:
    """The posterior mean of the parameter; nan before any reward."""
    if state.total[0] == 0:
        return math.nan
    return float(state.theta[0])


@register("elastic")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Elastic(Policy):
    """Believe the curves as far as the rewards agree with them, and explore for what is left.

    The mean of arm k is ``mu_k(theta) + b_k`` with errors ``b_k`` of an unknown common size;
    the posterior of parameter and size gives every arm a mean m and a variance c, and the
    largest Gittins index ``m + sqrt(c) * psi(h * c / v)`` is played, h being a multiple of the
    rounds so far. Beside it every arm has the index it would deserve if its curve alone were
    badly wrong, which has the probability `guard` at first; the larger of the two counts. No
    arm needs a first pull, and no horizon has to be known. See docs/elastic.md for what was
    measured, and `variant` for the three settings it started from.

    Args:
        guard: the prior probability that an arm's curve is badly wrong, in [0, 1); 0 for none.
        growth: how the guard's horizon grows up to h = 10**4, in (0, 1]: as
            ``10**4 * (h / 10**4)**growth``. Below 1 it looks further ahead early, so that a
            wrong arm is found sooner; from 10**4 on it is h.
        prior: nine weights of the errors' sizes 0, .0025, .005, .01, ..., .32 (standard
            deviations on the unit reward scale), such as history suggests; None puts half of
            the weight on 0.
        patience: h as a multiple of t; positive.
        psi: "log" or "brezzi-lai", see `globalbandits.policies.gittins.psi`.
        pooling: "scales" averages the indices over the errors' sizes, "moments" takes one
            index from the averaged moments.

    >>> Elastic().label, Elastic(guard=0.003).label
    ('Elastic', 'Elastic(guard=0.003)')
    """

    guard: float = 0.01
    growth: float = 0.5
    prior: tuple[float, ...] | None = None
    patience: float = 1.0
    psi: str = "log"
    pooling: str = "scales"

    rules = Rules(init, select, update, estimate, forget, ("counts", "sums", "squares"), refresh)

    def __post_init__(self) -> None:
        """Check every parameter."""
        guard = as_float("guard", self.guard, PolicyError)
        require(0.0 <= guard < 1.0, "guard", "lie in [0, 1)", self.guard, PolicyError)
        growth = as_float("growth", self.growth, PolicyError)
        require(0.0 < growth <= 1.0, "growth", "lie in (0, 1]", self.growth, PolicyError)
        require(
            self.pooling in POOLING, "pooling", "be moments or scales", self.pooling, PolicyError
        )
        as_form(self.psi)
        checked = {
            "guard": guard,
            "growth": growth,
            "patience": as_positive("patience", self.patience, PolicyError),
            "prior": None if self.prior is None else as_weights(self.prior),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @classmethod
    def variant(cls, name: str) -> "Elastic":
        """One of the three settings that the policy was first described with.

        ==  =============  =====  ========  ==========  =======
        U   uniform prior  none   h = 3t    brezzi-lai  moments
        A   half on 0      0.003  h = 3t    brezzi-lai  moments
        B   half on 0      0.01   h = t     log         scales
        ==  =============  =====  ========  ==========  =======

        >>> Elastic.variant("B")
        Elastic(guard=0.01, growth=1.0, prior=None, patience=1.0, psi='log', pooling='scales')
        """
        require(name in _VARIANTS, "variant", "be U, A or B", name, PolicyError)
        return cls(growth=1.0, **_VARIANTS[name])

    def setup(self, model: "RewardModel") -> Setup:
        """The model on a grid, and the constants."""
        return Setup(
            tables=model.tables,
            prior=build_prior(model.tables, self.prior),
            guard=self.guard,
            growth=self.growth,
            patience=self.patience,
            form=as_form(self.psi),
            by_scale=self.pooling == "scales",
        )

    def reason(self, setup: Setup, state: State) -> str:
        """The index and how far the curves are believed."""
        scale = float(state.scale_weights @ setup.prior.scales)
        return (
            f"largest index: {float(np.max(state.indices)):.6g} on the unit reward scale, "
            f"the curves being off by {scale:.2g} (posterior mean of the standard deviation)"
        )

    def details(self, setup: Setup, state: State) -> dict[str, Any]:
        """Posterior weights of the errors' sizes, and every arm's posterior mean and index."""
        return {
            "scale_weights": dict(
                zip(setup.prior.scales.tolist(), state.scale_weights.tolist(), strict=True)
            ),
            "means": state.means.tolist(),
            "indices": state.indices.tolist(),
        }


_VARIANTS: dict[str, dict[str, Any]] = {
    "U": {
        "guard": 0.0,
        "prior": UNIFORM,
        "patience": 3.0,
        "psi": "brezzi-lai",
        "pooling": "moments",
    },
    "A": {"guard": 0.003, "patience": 3.0, "psi": "brezzi-lai", "pooling": "moments"},
    "B": {"guard": 0.01, "patience": 1.0, "psi": "log", "pooling": "scales"},
}
