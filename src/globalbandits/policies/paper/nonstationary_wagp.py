"""Non-stationary WAGP: the greedy policy on overlapping windows of recent rewards.

With the half window h, the decision at time t = 1, 2, ... uses the rewards s with
``max(0, (rho - 1) * h) < s <= t - 1``, where ``rho = (t - 1) // h``. Windows overlap by half, and
from the second one on a window in use holds at least h rewards.
"""

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import IntArray
from globalbandits._validation import as_integer, as_positive
from globalbandits.errors import PolicyError
from globalbandits.model import RewardModel
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules, register, require_one_number
from globalbandits.policies.paper.wagp import State as Inner
from globalbandits.policies.paper.wagp import estimate as estimate_inner
from globalbandits.policies.paper.wagp import init as init_inner
from globalbandits.policies.paper.wagp import rebuild as rebuild_inner
from globalbandits.policies.paper.wagp import select as select_inner
from globalbandits.policies.paper.wagp import select_among as select_among_inner
from globalbandits.policies.paper.wagp import update as update_inner
from globalbandits.policies.shared.weighted_mean import require_inverses
from globalbandits.statistics import Statistics, are_part, assign, clear, count, no_statistics

# Rounding must not turn the half window 1000**(2/3) = 100.00000000000001 into 101.
_ROUNDING = 1e-9


class Setup(NamedTuple):
    """The model's tables and the half window."""

    tables: Tables
    half_window: int  # h


class State(NamedTuple):
    """The window in use, WAGP's state for it, and the window that follows it."""

    window: Statistics  # the window in use
    next: Statistics  # the current half window only
    inner: Inner


def init(setup: Setup) -> State:
    """No reward yet."""
    n = setup.tables.n_arms
    return State(no_statistics(n), no_statistics(n), init_inner(setup))


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """WAGP's choice from the window in use."""
    return select_inner(setup, state.window, state.inner, rng)


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """WAGP's choice among the offered arms, from the window in use."""
    return select_among_inner(setup, state.window, state.inner, offered, rng)


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Count one reward in both windows; after every h rewards drop the older half."""
    count(state.next, arm, reward)
    if state.next.total[0] == setup.half_window:
        assign(state.window, state.next)
        clear(state.next)
        rebuild_inner(setup, state.window, state.inner)
    else:
        count(state.window, arm, reward)
        update_inner(setup, state.window, state.inner, arm, reward)


def estimate(setup: Setup, stats: Statistics, state: State) -> float:
    """WAGP's estimate from the window in use."""
    return estimate_inner(setup, state.window, state.inner)


def resume(setup: Setup, stats: Statistics, state: State) -> bool:
    """Whether both windows have the right number of rewards, all of them observed ones."""
    n, h = int(stats.total[0]), setup.half_window
    n_dropped = max(0, (n // h - 1) * h)
    if int(state.next.total[0]) != n % h or int(state.window.total[0]) != n - n_dropped:
        return False
    if not are_part(state.next, state.window) or not are_part(state.window, stats):
        return False
    rebuild_inner(setup, state.window, state.inner)
    return True


@register("nonstationary_wagp")
@dataclasses.dataclass(frozen=True, kw_only=True)
class NonStationaryWAGP(Policy):
    """WAGP on a window of recent rewards, for a parameter that drifts.

    The window holds between h and 2h rewards, where h is the half window. Give h, or the drift
    time tau: the parameter moves by at most 1/tau per step. Then h is that of Theorem 8,
    ``h = ceil(tau**(g2 / (g2 + 1/2)))``, with the domain scaled to length 1.

    A learner can neither forget nor be merged: the order of rewards decides which of them are in
    the window. Value: any, as for `WAGP`.

    Args:
        half_window: h, at least 1.
        drift_time: tau, positive.

    >>> NonStationaryWAGP(drift_time=1000)
    NonStationaryWAGP(half_window=None, drift_time=1000.0)
    """

    half_window: int | None = None
    drift_time: float | None = None

    rules = Rules(init, select, update, estimate, resume=resume, select_among=select_among)

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

    def setup(self, model: RewardModel) -> Setup:
        """The model's tables and h."""
        require_one_number(model, "NonStationaryWAGP")
        require_inverses(model.tables, "NonStationaryWAGP")
        return Setup(model.tables, self.window(model))

    def window(self, model: RewardModel) -> int:
        """The half window h on a model."""
        if self.half_window is not None:
            return self.half_window
        assert self.drift_time is not None  # one of the two is given
        low, high = model.domain
        exponent = float(model.unit_holder.exponent)
        exact: float = (self.drift_time * (high - low)) ** (exponent / (exponent + 0.5))
        return max(1, math.ceil(exact * (1.0 - _ROUNDING)))

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Greedy, or random at the start."""
        if state.window.total[0] == 0:
            return "no reward yet: any arm, at random"
        return (
            f"greedy: the best arm at the estimate {estimate(setup, stats, state):.6g} "
            f"of the last {state.window.total[0]} rewards"
        )

    def observed(self, stats: Statistics, state: State) -> Statistics:
        """The rewards of the window in use."""
        return state.window
