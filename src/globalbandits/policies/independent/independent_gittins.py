"""Independent Gittins: the index of a Normal arm with learned variance, without any model."""

import dataclasses
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_positive
from globalbandits.errors import PolicyError
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.elastic import select
from globalbandits.policies.gittins import (
    as_form,
    learn_noise,
    psi,
    record,
    renew_variance,
    schedule,
)
from globalbandits.policies.indices import estimate

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

MIDDLE = 0.5  # of the rewards' range: what an arm is worth before its first reward


class Setup(NamedTuple):
    """The model's tables (for the number of arms), and the policy's constants."""

    tables: Tables
    variance: float
    patience: float
    form: int


class State(NamedTuple):
    """Statistics and an index per arm."""

    counts: IntArray  # (n_arms,) N_k
    sums: FloatArray  # (n_arms,) sum of rewards
    squares: FloatArray  # (n_arms,) sum of squared rewards
    total: IntArray  # (1,) number of observations
    refit: IntArray  # (1,) the total at which all indices are renewed
    horizon: FloatArray  # (1,) rounds the indices look ahead
    means: FloatArray  # (n_arms,) posterior mean of each arm
    expected_variances: FloatArray  # (n_arms,) of a reward, by all arms
    variances: FloatArray  # (n_arms,) v_k
    indices: FloatArray  # (n_arms,)


def init(setup: Setup) -> State:
    """No observation yet: every arm has the prior's index."""
    n = setup.tables.n_arms
    state = State(
        counts=np.zeros(n, np.int64),
        sums=np.zeros(n),
        squares=np.zeros(n),
        total=np.zeros(1, np.int64),
        refit=np.zeros(1, np.int64),
        horizon=np.zeros(1),
        means=np.full(n, MIDDLE),
        expected_variances=np.zeros(n),
        variances=np.zeros(n),
        indices=np.zeros(n),
    )
    refresh(setup, state)
    return state


def update(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Count one reward; renew the played arm's index, or all of them when it is time."""
    record(state, arm, reward, 1)
    if state.total[0] >= state.refit[0]:
        refresh(setup, state)
    else:
        renew_variance(state, arm)
        renew_index(setup, state, arm)


def forget(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Take one observation back."""
    record(state, arm, reward, -1)
    refresh(setup, state)


def refresh(setup: Setup, state: State) -> None:
    """Learn how noisy rewards are from counts, sums and squares, and renew every index."""
    schedule(state)
    learn_noise(state)
    state.horizon[0] = setup.patience * (state.total[0] + 1)
    for arm in range(state.counts.shape[0]):
        renew_index(setup, state, arm)


def renew_index(setup: Setup, state: State, arm: int) -> None:
    """Posterior mean and index of one arm."""
    variance = state.variances[arm]
    trust = 0.0
    rest = setup.variance
    if state.counts[arm] > 0:
        noise = variance / state.counts[arm]
        trust = setup.variance / (setup.variance + noise)
        rest = trust * noise
        trust /= state.counts[arm]
    mean = MIDDLE + trust * (state.sums[arm] - MIDDLE * state.counts[arm])
    state.means[arm] = mean
    bonus = psi(state.horizon[0] * rest / variance, setup.form)
    state.indices[arm] = mean + math.sqrt(rest) * bonus


@register("independent_gittins")
@dataclasses.dataclass(frozen=True, kw_only=True)
class IndependentGittins(Policy):
    """Play the largest Gittins index of arms that know nothing of each other.

    Means are Normal(1/2, `variance`) a priori; the variance v of rewards is learned, from all
    arms first and from the arm itself later. With posterior mean m and variance c the index
    is ``m + sqrt(c) * psi(h * c / v)``, h being `patience` times the rounds so far. It is the
    control for `Elastic`: the same index without the curves.

    Args:
        variance: prior variance of an arm's mean, on the unit reward scale; positive.
        patience: h as a multiple of the rounds; positive.
        psi: "brezzi-lai" or "log", see `globalbandits.policies.gittins.psi`.

    >>> IndependentGittins().to_dict()
    {'policy': 'independent_gittins', 'variance': 0.0625, 'patience': 3.0, 'psi': 'brezzi-lai'}
    """

    variance: float = 0.0625
    patience: float = 3.0
    psi: str = "brezzi-lai"

    rules = Rules(init, select, update, estimate, forget, ("counts", "sums", "squares"), refresh)

    def __post_init__(self) -> None:
        """Check every parameter."""
        as_form(self.psi)
        for name in ("variance", "patience"):
            object.__setattr__(self, name, as_positive(name, getattr(self, name), PolicyError))

    def setup(self, model: "RewardModel") -> Setup:
        """The model's tables and the constants."""
        return Setup(model.tables, self.variance, self.patience, as_form(self.psi))

    def reason(self, setup: Setup, state: State) -> str:
        """The largest index."""
        return f"largest index: {float(np.max(state.indices)):.6g} on the unit reward scale"
