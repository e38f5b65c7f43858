"""Non-stationary WAGP: the greedy policy on overlapping windows of recent rewards.

With the half window h, the decision at time t = 1, 2, ... rests on the observations s with
``max(0, (rho - 1) * h) < s <= t - 1``, where ``rho = (t - 1) // h``. So windows overlap by
half, and from the second one on a window in use holds at least h observations.
"""

import dataclasses
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_integer, as_positive
from globalbandits.errors import PolicyError
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.wagp import change, estimate, follow, refresh, select

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

# ceil must not turn 1000**(2/3) = 100.00000000000001 into 101.
_ROUNDING = 1e-9


class Setup(NamedTuple):
    """The model's tables and the half window."""

    tables: Tables
    half_window: int  # h


class State(NamedTuple):
    """WAGP's statistics of the window in use, and the counts of the window that opens next."""

    counts: IntArray  # (n_arms,) the window in use
    sums: FloatArray  # (n_arms,)
    thetas: FloatArray  # (n_arms,) theta-hat_k, meaningful where counts > 0
    total: IntArray  # (1,) observations in the window
    weighted: FloatArray  # (1,) sum_k N_k theta-hat_k
    segments: IntArray  # (n_arms,) as in WAGP
    choice: IntArray  # (1,) as in WAGP
    bounds: FloatArray  # (2,) as in WAGP
    next_counts: IntArray  # (n_arms,) observations of the current half window only
    next_sums: FloatArray  # (n_arms,)
    observed: IntArray  # (1,) all observations so far


def init(setup: Setup) -> State:
    """No observation yet."""
    n = setup.tables.n_arms
    return State(
        counts=np.zeros(n, np.int64),
        sums=np.zeros(n),
        thetas=np.zeros(n),
        total=np.zeros(1, np.int64),
        weighted=np.zeros(1),
        segments=np.full(n, -1),
        choice=np.full(1, -1),
        bounds=np.array([math.inf, -math.inf]),
        next_counts=np.zeros(n, np.int64),
        next_sums=np.zeros(n),
        observed=np.zeros(1, np.int64),
    )


def update(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Count one reward in both windows; after every h of them the older half is dropped."""
    state.next_counts[arm] += 1
    state.next_sums[arm] += reward
    state.observed[0] += 1
    if state.observed[0] % setup.half_window == 0:
        for other in range(setup.tables.n_arms):
            state.counts[other] = state.next_counts[other]
            state.sums[other] = state.next_sums[other]
            state.next_counts[other] = 0
            state.next_sums[other] = 0.0
        refresh(setup, state)
    else:
        change(setup, state, arm, reward, 1)
        follow(setup, state)


@register("nonstationary_wagp")
@dataclasses.dataclass(frozen=True, kw_only=True)
class NonStationaryWAGP(Policy):
    """WAGP on a window of recent rewards, for a parameter that drifts.

    The window holds between h and 2h rewards (h is the half window). Give h, or the drift
    time tau, meaning that the parameter moves at most 1/tau a step: then Theorem 8's
    ``h = ceil(tau**(g2 / (g2 + 1/2)))`` is used, tau being counted in lengths of the domain.

    Observations are counted in the order in which they arrive. They cannot be forgotten or
    merged, because a window knows only how many they are.

    Args:
        half_window: h, at least 1.
        drift_time: tau, positive.

    >>> NonStationaryWAGP(drift_time=1000)
    NonStationaryWAGP(half_window=None, drift_time=1000.0)
    """

    half_window: int | None = None
    drift_time: float | None = None

    rules = Rules(init, select, update, estimate)

    def __post_init__(self) -> None:
        """Check that one of the two parameters is given."""
        if (self.half_window is None) == (self.drift_time is None):
            raise PolicyError(
                "NonStationaryWAGP must be given either half_window (rewards per half window) "
                "or drift_time (steps in which the parameter may move by 1), "
                f"got half_window={self.half_window!r} and drift_time={self.drift_time!r}"
            )
        if self.half_window is not None:
            half = as_integer("half_window", self.half_window, 1, PolicyError)
            object.__setattr__(self, "half_window", half)
        if self.drift_time is not None:
            time = as_positive("drift_time", self.drift_time, PolicyError)
            object.__setattr__(self, "drift_time", time)

    def setup(self, model: "RewardModel") -> Setup:
        """The model's tables and h."""
        return Setup(model.tables, self.window(model))

    def window(self, model: "RewardModel") -> int:
        """The half window h on a model."""
        if self.half_window is not None:
            return self.half_window
        assert self.drift_time is not None  # one of the two is given
        low, high = model.domain
        exponent = float(model.unit_holder.exponent)
        exact: float = (self.drift_time * (high - low)) ** (exponent / (exponent + 0.5))
        return max(1, math.ceil(exact * (1.0 - _ROUNDING)))

    def reason(self, setup: Setup, state: State) -> str:
        """Greedy, or random at the start."""
        if state.total[0] == 0:
            return "no reward yet: any arm, at random"
        return (
            f"greedy: the best arm at the estimate {estimate(setup, state):.6g} "
            f"of the last {state.total[0]} rewards"
        )
