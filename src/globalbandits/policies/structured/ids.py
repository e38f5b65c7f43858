"""`IDS`: information-directed sampling (Russo and Van Roy 2014) with one or two parameters."""

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model import AnyModel
from globalbandits.model.tables import Tables
from globalbandits.model.vector_model import VectorModel
from globalbandits.policies.base import register
from globalbandits.policies.shared import grid, ridge_posterior
from globalbandits.policies.shared.grid import average_worths, build, unit_means, weighted_sum
from globalbandits.policies.shared.grid import estimate as estimate_parameter
from globalbandits.policies.shared.grid import rebuild as rebuild_posterior
from globalbandits.policies.shared.grid import resume as resume_posterior
from globalbandits.policies.shared.grid import update as update_posterior
from globalbandits.policies.shared.ridge_posterior import average_worths as average_over_points
from globalbandits.policies.shared.ridge_posterior import rebuild as rebuild_points
from globalbandits.policies.shared.ridge_posterior import resume as resume_points
from globalbandits.policies.shared.ridge_posterior import update as update_points
from globalbandits.policies.structured.grid_policy import GridPolicy, several_numbers, variants_of
from globalbandits.statistics import Statistics

# Points of a ridge grid with a smaller weight, relative to the largest, do not change a plan.
_MIN_POINT_WEIGHT = 1e-14
# Smaller regrets are rounding errors of the posterior's sums.
_MIN_REGRET = 1e-12


class Setup(NamedTuple):
    """The grid's setup, the means, and the runs of cells that have the same best arm."""

    tables: Tables
    grid: grid.Setup
    means: FloatArray  # (n_arms, n_cells) mean rewards
    runs: IntArray  # (n_runs + 1,) first cell of each run, and the number of cells
    best: IntArray  # (n_runs,) the best arm of the run
    winner: IntArray  # (n_runs,) its position among the arms that are best in some run
    winners: IntArray  # (n_contexts, n_cells) the best arm of each context, by its place there


class State(NamedTuple):
    """The posterior on the grid, and the mixture of two arms that follows from it."""

    posterior: grid.State
    values: FloatArray  # (n_arms,) posterior means of the arms' worths
    shares: FloatArray  # (n_winners,) weight of the cells where the arm is best
    parts: FloatArray  # (n_winners, n_arms) sum of weight * mean of arm k where the arm is best
    expected: FloatArray  # (n_arms,) posterior means of the mean rewards
    regrets: FloatArray  # (n_arms,) expected regret of playing the arm
    gains: FloatArray  # (n_arms,) variance of the arm's mean explained by which arm is best
    pair: IntArray  # (2,) the two arms of the mixture
    chance: FloatArray  # (1,) probability of the first


def init(setup: Setup) -> State:
    """No reward yet: the prior."""
    n, n_winners = setup.tables.n_arms, int(setup.winner.max()) + 1
    state = State(
        posterior=grid.init(setup.grid),
        values=np.zeros(n),
        shares=np.zeros(n_winners),
        parts=np.zeros((n_winners, n)),
        expected=np.zeros(n),
        regrets=np.zeros(n),
        gains=np.zeros(n),
        pair=np.zeros(2, np.int64),
        chance=np.ones(1),
    )
    plan(setup, state)
    return state


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Draw one of the two arms of the mixture."""
    if state.chance[0] >= 1.0 or rng.random() < state.chance[0]:
        return int(state.pair[0])
    return int(state.pair[1])


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Draw from the best mixture of two offered arms.

    Regret is against the best offered arm. The gain is about the best arm of the whole context,
    which may be offered again.
    """
    n, n_in_context = offered.shape[0], setup.tables.n_arms // setup.tables.n_contexts
    winners = setup.winners[offered[0] // n_in_context]
    weights, window, mass = state.posterior.weights, state.posterior.window, state.posterior.mass[0]
    shares, parts = np.zeros(n_in_context), np.zeros((n_in_context, n))
    top = 0.0
    for cell in range(window[0], window[1] + 1):
        winner, weight = winners[cell], weights[cell]
        shares[winner] += weight
        largest = -math.inf
        for i in range(n):
            largest = max(largest, setup.grid.worths[offered[i], cell])
            parts[winner, i] += weight * setup.means[offered[i], cell]
        top += weight * largest
    return draw_offered(state.values, offered, shares, parts, top, mass, rng)


def draw_offered(
    values: FloatArray,
    offered: IntArray,
    shares: FloatArray,
    parts: FloatArray,
    top: float,
    mass: float,
    rng: np.random.Generator,
) -> int:
    """Draw an arm of the best mixture of offered arms, from sums over the posterior.

    Args:
        values: posterior means of all arms' worths.
        offered: the arms that can be played.
        shares: weight of the points at which each arm of the context is best.
        parts: for each of these, the sum of weight * mean of every offered arm there.
        top: sum of weight * largest worth of an offered arm.
        mass: sum of the weights.
        rng: the generator.
    """
    n = offered.shape[0]
    regrets, gains = np.zeros(n), np.zeros(n)
    for i in range(n):
        expected = 0.0
        for winner in range(shares.shape[0]):
            expected += parts[winner, i] / mass
        for winner in range(shares.shape[0]):
            if shares[winner] > 0.0:
                surprise = parts[winner, i] / shares[winner] - expected
                gains[i] += shares[winner] / mass * surprise * surprise
        regret = top / mass - values[offered[i]]
        regrets[i] = regret if regret > _MIN_REGRET else 0.0
    pair, chance = np.zeros(2, np.int64), np.ones(1)
    mix(regrets, gains, pair, chance)
    if chance[0] >= 1.0 or rng.random() < chance[0]:
        return int(offered[pair[0]])
    return int(offered[pair[1]])


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Update the posterior with one reward, and plan."""
    update_posterior(setup.grid, stats, state.posterior, arm, reward)
    plan(setup, state)


def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
    """Compute posterior and plan from counts and sums."""
    rebuild_posterior(setup.grid, stats, state.posterior)
    plan(setup, state)


def resume(setup: Setup, stats: Statistics, state: State) -> bool:
    """Complete a saved posterior, and plan; False if the statistics exclude it."""
    fits = resume_posterior(setup.grid, stats, state.posterior)
    if fits:
        plan(setup, state)
    return fits


def estimate(setup: Setup, stats: Statistics, state: State) -> float:
    """The posterior mean of the parameter; nan before any reward."""
    return estimate_parameter(setup.grid, stats, state.posterior)


def plan(setup: Setup, state: State) -> None:
    """Compute regrets and gains under the posterior, and the best mixture."""
    average_worths(setup.grid, state.posterior, state.values)
    inform(setup, state)
    mix(state.regrets, state.gains, state.pair, state.chance)


def inform(setup: Setup, state: State) -> None:
    """Compute each arm's expected regret, and the variance of its mean over the best arms."""
    n, n_winners = setup.tables.n_arms, state.shares.shape[0]
    weights, window, mass = state.posterior.weights, state.posterior.window, state.posterior.mass[0]
    for winner in range(n_winners):
        state.shares[winner] = 0.0
    for arm in range(n):
        state.expected[arm] = 0.0
        state.gains[arm] = 0.0
    top = 0.0
    for run in range(setup.best.shape[0]):
        first = max(window[0], setup.runs[run])
        last = min(window[1], setup.runs[run + 1] - 1)
        if first > last:
            continue
        winner = setup.winner[run]
        # An arm may be best in several runs. Its sums start with the first of them.
        if state.shares[winner] == 0.0:
            for arm in range(n):
                state.parts[winner, arm] = 0.0
        for cell in range(first, last + 1):
            state.shares[winner] += weights[cell]
        top += weighted_sum(weights, setup.grid.worths, setup.best[run], first, last)
        for arm in range(n):
            part = weighted_sum(weights, setup.means, arm, first, last)
            state.parts[winner, arm] += part
            state.expected[arm] += part / mass
    set_regrets_and_gains(state, top, mass)


def set_regrets_and_gains(state: Any, top: float, mass: float) -> None:
    """Compute regrets and gains from the sums over the posterior, which has this mass."""
    n = state.values.shape[0]
    for winner in range(state.shares.shape[0]):
        share = state.shares[winner]
        if share > 0.0:
            for arm in range(n):
                surprise = state.parts[winner, arm] / share - state.expected[arm]
                state.gains[arm] += share / mass * surprise * surprise
    for arm in range(n):
        regret = top / mass - state.values[arm]
        state.regrets[arm] = regret if regret > _MIN_REGRET else 0.0


def mix(regrets: FloatArray, gains: FloatArray, pair: IntArray, chance: FloatArray) -> None:
    """Compute the mixture of two arms that minimises (expected regret)**2 / expected gain.

    For a mixture with regret D and gain V, ``D**2 / V`` is the maximum over c of ``2 c D - c**2
    V``. So the smallest ratio is the maximum over c of the lowest of the arms' parabolas ``2 c
    D_k - c**2 V_k``. The search starts at c = 0 with the arm of least regret. It follows the
    lowest parabola to the right until this has its maximum (one arm) or is crossed by a falling
    one (two arms). Each parabola on the way takes O(K) steps.
    """
    n = regrets.shape[0]
    arm = 0
    for other in range(1, n):
        less = regrets[other] < regrets[arm]
        equal = regrets[other] == regrets[arm]
        if less or (equal and gains[other] > gains[arm]):
            arm = other
    pair[0] = arm
    pair[1] = arm
    chance[0] = 1.0
    while True:
        regret, gain = regrets[arm], gains[arm]
        after, crossing = -1, math.inf
        for other in range(n):
            if gains[other] > gain:
                at = 2.0 * (regrets[other] - regret) / (gains[other] - gain)
                steeper = after >= 0 and at == crossing and gains[other] > gains[after]
                if at < crossing or steeper:
                    after, crossing = other, at
        pair[0] = arm
        if after < 0 or regret <= crossing * gain:
            return
        surplus = crossing * gains[after] - regrets[after]
        if surplus >= 0.0:
            deficit = regret - crossing * gain
            pair[1] = after
            chance[0] = surplus / (surplus + deficit)
            return
        arm = after


# The same with several unknown numbers.


class SeveralState(NamedTuple):
    """The posterior of several numbers, and the mixture of two arms that follows from it.

    The fields after the posterior are those of `State`. Every arm may be best.
    """

    fitted: Statistics
    due: FloatArray  # (1,)
    posterior: ridge_posterior.Posterior
    values: FloatArray
    shares: FloatArray
    parts: FloatArray
    expected: FloatArray
    regrets: FloatArray
    gains: FloatArray
    pair: IntArray
    chance: FloatArray


def init_several(setup: ridge_posterior.Setup) -> SeveralState:
    """No reward yet: the prior."""
    n = setup.tables.n_arms
    state = SeveralState(
        *ridge_posterior.init(setup),
        values=np.zeros(n),
        shares=np.zeros(n),
        parts=np.zeros((n, n)),
        expected=np.zeros(n),
        regrets=np.zeros(n),
        gains=np.zeros(n),
        pair=np.zeros(2, np.int64),
        chance=np.ones(1),
    )
    plan_several(state)
    return state


def update_several(
    setup: ridge_posterior.Setup, stats: Statistics, state: Any, arm: int, reward: float
) -> None:
    """Update the posterior with one reward, and plan."""
    update_points(setup, stats, state, arm, reward)
    plan_several(state)


def rebuild_several(setup: ridge_posterior.Setup, stats: Statistics, state: Any) -> None:
    """Compute posterior and plan from counts and sums."""
    rebuild_points(setup, stats, state)
    plan_several(state)


def resume_several(setup: ridge_posterior.Setup, stats: Statistics, state: Any) -> bool:
    """Complete a saved posterior, and plan; False if the statistics exclude it."""
    fits = resume_points(setup, stats, state)
    if fits:
        plan_several(state)
    return fits


def select_several_among(
    setup: ridge_posterior.Setup,
    stats: Statistics,
    state: Any,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Draw from the best mixture of two offered arms, as `select_among` does."""
    posterior, n = state.posterior, offered.shape[0]
    n_in_context = setup.tables.n_arms // setup.tables.n_contexts
    first = offered[0] // n_in_context * n_in_context
    shares, parts = np.zeros(n_in_context), np.zeros((n_in_context, n))
    top = 0.0
    for point in range(posterior.grid.n_points[0]):
        weight, worths = posterior.weights[point], posterior.worths[point]
        if weight < _MIN_POINT_WEIGHT:
            continue
        winner = 0
        for arm in range(1, n_in_context):
            if worths[first + arm] > worths[first + winner]:
                winner = arm
        shares[winner] += weight
        largest = -math.inf
        for i in range(n):
            largest = max(largest, worths[offered[i]])
            parts[winner, i] += weight * posterior.grid.means[point, offered[i]]
        top += weight * largest
    return draw_offered(state.values, offered, shares, parts, top, posterior.mass[0], rng)


def plan_several(state: Any) -> None:
    """Compute regrets and gains under the posterior, and the best mixture."""
    posterior = state.posterior
    weights, mass, means = posterior.weights, posterior.mass[0], posterior.grid.means
    n = state.values.shape[0]
    average_over_points(posterior, state.values)
    for winner in range(n):
        state.shares[winner] = 0.0
        state.expected[winner] = 0.0
        state.gains[winner] = 0.0
        for arm in range(n):
            state.parts[winner, arm] = 0.0
    top = 0.0
    for point in range(posterior.grid.n_points[0]):
        if weights[point] < _MIN_POINT_WEIGHT:
            continue
        best, row = posterior.best[point], means[point]
        n_pieces = best.shape[0]
        top += weights[point] * posterior.worths[point, posterior.tops[point]]
        piece = 0
        while piece < n_pieces:
            winner, share = best[piece], 1
            while piece + share < n_pieces and best[piece + share] == winner:
                share += 1
            piece += share
            weight = weights[point] * share / n_pieces
            state.shares[winner] += weight
            part = state.parts[winner]
            for arm in range(n):
                part[arm] += weight * row[arm]
    for winner in range(n):
        if state.shares[winner] > 0.0:
            for arm in range(n):
                state.expected[arm] += state.parts[winner, arm] / mass
    set_regrets_and_gains(state, top, mass)
    mix(state.regrets, state.gains, state.pair, state.chance)


@register("ids")
@dataclasses.dataclass(frozen=True, kw_only=True)
class IDS(GridPolicy):
    """Play the mixture of two arms with the least squared regret per information gained.

    Under the posterior on a grid (see `shared.grid`; with two unknown numbers
    `shared.ridge_grid`), arm k has the expected regret ``D_k =
    E[largest worth] - E[worth of k]`` and the gain ``V_k = Var(E[mean of k | which arm is
    best])``. The mixture minimises ``D**2 / V`` of its averages. This is the variance-based ratio
    of Russo and Van Roy (2014). It is an upper bound of the ratio with mutual information, and
    needs no distribution of rewards beyond the posterior. Some optimal mixture has at most two
    arms. An arm without expected regret is played at once.

    Value: any. Regret is in units of worth; the gain uses the mean of the observed rewards.

    Args:
        likelihood: ``"bernoulli"`` is exact for Bernoulli rewards and a quasi-likelihood for
            others in [0, 1]; the estimate converges to theta for every noise. ``"beta"`` is for
            rewards that are Beta(1, (1 - m) / m) with mean m, the noise of the paper. It is
            slightly sharper there and inconsistent under other noises, and a learner can neither
            forget nor be merged.
        cells: number of cells of the grid, from 2 to 1,000,000.
        prior: mean and standard deviation of a normal prior of theta, truncated to the domain;
            one such pair per number if there are several; uniform by default.
        prior_variance: variance of a normal prior around 0, instead of ``prior``; dfcrm's is 1.34.

    >>> IDS(cells=500).label
    'IDS(cells=500)'
    """

    variants = variants_of(
        init, select, update, estimate, rebuild, resume, select_among, lambda setup: setup.grid
    )
    several = several_numbers(
        init_several, select, update_several, rebuild_several, resume_several, select_several_among
    )

    def setup(self, model: AnyModel) -> Any:
        """Return the grid's setup, the means, and the runs of cells with the same best arm."""
        if isinstance(model, VectorModel):
            return self.setup_several(model)
        base = build(model, self.likelihood, self.cells, self.prior)
        best = np.argmax(base.worths, axis=0).astype(np.int64)
        starts = np.concatenate(([0], np.flatnonzero(np.diff(best)) + 1))
        _, winner = np.unique(best[starts], return_inverse=True)
        in_contexts = base.worths.reshape(model.tables.n_contexts, -1, self.cells)
        return Setup(
            tables=model.tables,
            grid=base,
            means=unit_means(model, base.thetas),
            runs=np.concatenate((starts, [self.cells])),
            best=best[starts],
            winner=winner.astype(np.int64),
            winners=np.argmax(in_contexts, axis=1).astype(np.int64),
        )

    def reason(self, setup: Any, stats: Statistics, state: Any) -> str:
        """Describe the mixture."""
        one, other = state.pair
        if state.chance[0] >= 1.0:
            return "the least squared regret per information gained"
        return (
            f"arm {one} with probability {state.chance[0]:.3g}, else arm {other}: "
            "the least squared regret per information gained"
        )
