"""Information-directed sampling (Russo and Van Roy 2014) with one parameter."""

import dataclasses
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_integer
from globalbandits.errors import PolicyError
from globalbandits.model.tables import Tables
from globalbandits.policies import grid
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.grid import absorb, average, build, check_likelihood, estimate

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

# Probabilities and regrets below this share are rounding of the posterior's sums.
_NOTHING = 1e-12


class Setup(NamedTuple):
    """The grid's setup, and the best arm of every cell."""

    tables: Tables
    thetas: FloatArray  # (n_cells,) middles of the cells
    constants: FloatArray  # (n_arms, n_cells) of the log-likelihood
    slopes: FloatArray  # (n_arms, n_cells)
    means: FloatArray  # (n_cells, n_arms) what is observed
    worths: FloatArray  # (n_cells, n_arms) what a decision is worth
    logarithmic: bool  # whether s(x) is log(1 - x), else x
    best: IntArray  # (n_cells,) the best arm in the middle of the cell


class State(NamedTuple):
    """The posterior on the grid, and the mixture of two arms it asks for."""

    counts: IntArray  # (n_arms,) N_k
    sums: FloatArray  # (n_arms,) sum of rewards
    statistics: FloatArray  # (n_arms,) sum of s(x)
    total: IntArray  # (1,) number of observations
    window: IntArray  # (2,) first and last cell kept current
    logs: FloatArray  # (n_cells,) log-likelihood, current in the window
    weights: FloatArray  # (n_cells,) posterior, not normalised, current in the window
    mass: FloatArray  # (1,) sum of the weights
    values: FloatArray  # (n_arms,) posterior means of the arms' worths
    active: IntArray  # (n_arms,) the arms that are best in some cell of the window
    shares: FloatArray  # (n_arms,) weight of those cells, zero again after the work is done
    parts: FloatArray  # (n_arms, n_arms) sum of weight * mean of arm k where arm a is best
    expected: FloatArray  # (n_arms,) sum of weight * mean over all cells
    regrets: FloatArray  # (n_arms,) expected regret of playing the arm
    gains: FloatArray  # (n_arms,) variance of the arm's mean explained by which arm is best
    pair: IntArray  # (2,) the two arms of the mixture
    chance: FloatArray  # (1,) probability of the first


def init(setup: Setup) -> State:
    """No observation yet: all cells weigh the same."""
    n = setup.tables.n_arms
    state = State(
        *grid.init(setup),
        active=np.zeros(n, np.int64),
        shares=np.zeros(n),
        parts=np.zeros((n, n)),
        expected=np.zeros(n),
        regrets=np.zeros(n),
        gains=np.zeros(n),
        pair=np.zeros(2, np.int64),
        chance=np.ones(1),
    )
    plan(setup, state)
    return state


def select(setup: Setup, state: State, rng: np.random.Generator) -> int:
    """One of the two arms of the mixture."""
    if state.chance[0] >= 1.0 or rng.random() < state.chance[0]:
        return int(state.pair[0])
    return int(state.pair[1])


def update(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Count one reward."""
    absorb(setup, state, arm, reward, 1)
    plan(setup, state)


def forget(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Take one observation back."""
    absorb(setup, state, arm, reward, -1)
    plan(setup, state)


def refresh(setup: Setup, state: State) -> None:
    """Rebuild what follows from counts, sums and statistics."""
    grid.refresh(setup, state)
    plan(setup, state)


def plan(setup: Setup, state: State) -> None:
    """Regrets and gains under the posterior, and the best mixture."""
    average(setup, state)
    inform(setup, state)
    mix(state)


def inform(setup: Setup, state: State) -> None:
    """Expected regret of each arm, and how much its mean varies with which arm is best."""
    n = setup.tables.n_arms
    n_active = 0
    top = 0.0
    for arm in range(n):
        state.expected[arm] = 0.0
    for cell in range(state.window[0], state.window[1] + 1):
        best, weight = setup.best[cell], state.weights[cell]
        if state.shares[best] == 0.0:
            state.active[n_active] = best
            n_active += 1
            for arm in range(n):
                state.parts[best, arm] = 0.0
        state.shares[best] += weight
        top += weight * setup.worths[cell, best]
        for arm in range(n):
            state.parts[best, arm] += weight * setup.means[cell, arm]
            state.expected[arm] += weight * setup.means[cell, arm]
    for arm in range(n):
        regret = top / state.mass[0] - state.values[arm]
        state.regrets[arm] = regret if regret > _NOTHING else 0.0
        state.gains[arm] = 0.0
    for place in range(n_active):
        best = state.active[place]
        share = state.shares[best]
        for arm in range(n):
            surprise = state.parts[best, arm] / share - state.expected[arm] / state.mass[0]
            state.gains[arm] += share / state.mass[0] * surprise * surprise
        state.shares[best] = 0.0


def mix(state: State) -> None:
    """The mixture of two arms that minimises (expected regret)**2 / expected gain.

    For a mixture with regret D and gain V, ``D**2 / V`` is the maximum over c of ``2 c D - c**2
    V``, so the smallest ratio is the maximum over c of the lowest of the arms' parabolas ``2 c
    D_k - c**2 V_k``. Starting from c = 0 with the arm of least regret, the lowest parabola is
    followed to the right until it has its maximum (one arm) or is crossed by one that falls
    (two arms): O(K) for each parabola on the way.
    """
    n = state.regrets.shape[0]
    arm = 0
    for other in range(1, n):
        less = state.regrets[other] < state.regrets[arm]
        equal = state.regrets[other] == state.regrets[arm]
        if less or (equal and state.gains[other] > state.gains[arm]):
            arm = other
    state.pair[0] = arm
    state.pair[1] = arm
    state.chance[0] = 1.0
    while True:
        regret, gain = state.regrets[arm], state.gains[arm]
        after, crossing = -1, math.inf
        for other in range(n):
            if state.gains[other] > gain:
                at = 2.0 * (state.regrets[other] - regret) / (state.gains[other] - gain)
                steeper = after >= 0 and at == crossing and state.gains[other] > state.gains[after]
                if at < crossing or steeper:
                    after, crossing = other, at
        state.pair[0] = arm
        if after < 0 or regret <= crossing * gain:
            return
        surplus = crossing * state.gains[after] - state.regrets[after]
        if surplus >= 0.0:
            deficit = regret - crossing * gain
            state.pair[1] = after
            state.chance[0] = surplus / (surplus + deficit)
            return
        arm = after


@register("ids")
@dataclasses.dataclass(frozen=True, kw_only=True)
class IDS(Policy):
    """Play the mixture of two arms with the least squared regret per information gained.

    Under the posterior on a grid (see `grid`), arm k has the expected regret ``D_k = E[largest
    worth] - E[worth of k]`` and the gain ``V_k = Var(E[mean of k | which arm is best])``; the
    mixture minimises ``D**2 / V`` of its averages (Russo and Van Roy 2014, section 5.2: the
    variance-based ratio, which bounds the one with mutual information from above and needs no
    distribution of rewards beyond the posterior). Some best mixture has at most two arms
    (their Proposition 6). Arms without regret are played at once.

    Args:
        likelihood: ``"beta"`` for rewards that are Beta(1, (1 - m) / m) with mean m, the noise
            of the paper; ``"bernoulli"`` for rewards 0 and 1, and as a quasi-likelihood for any
            others in [0, 1].
        cells: number of cells of the grid; at least 2.

    >>> IDS(cells=500).label
    'IDS(cells=500)'
    """

    likelihood: str = "beta"
    cells: int = 2000

    rules = Rules(init, select, update, estimate, forget, ("counts", "sums", "statistics"), refresh)

    def __post_init__(self) -> None:
        """Check the likelihood and the number of cells."""
        check_likelihood(self.likelihood)
        object.__setattr__(self, "cells", as_integer("cells", self.cells, 2, PolicyError))

    def setup(self, model: "RewardModel") -> Setup:
        """The grid's setup, and the best arm of every cell."""
        base = build(model, self.likelihood, self.cells)
        return Setup(*base, best=np.argmax(base.worths, axis=1).astype(np.int64))

    def reason(self, setup: Setup, state: State) -> str:
        """The mixture."""
        one, other = state.pair
        if state.chance[0] >= 1.0:
            return f"arm {one} has the least squared regret per information gained"
        return (
            f"arm {one} with probability {state.chance[0]:.3g}, else arm {other}: "
            "the least squared regret per information gained"
        )
