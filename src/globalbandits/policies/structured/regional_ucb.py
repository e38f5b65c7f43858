"""`RegionalUCB` (UCB-g, Wang, Zhou and Shen 2018): UCB over groups of arms, greedy in a group."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_positive, require
from globalbandits.errors import PolicyError
from globalbandits.model import RewardModel
from globalbandits.model.regional import RegionalModel
from globalbandits.model.tables import Tables, evaluate, find_cell_among
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.shared.weighted_mean import (
    Estimates,
    mean_of_grains,
    no_group_estimates,
    require_inverses,
    update_group_estimate,
)
from globalbandits.policies.shared.worth import choose_largest
from globalbandits.statistics import Statistics


class Setup(NamedTuple):
    """Curves of all arms, the groups' envelopes one after the other, and the bonuses."""

    tables: Tables  # of all arms together; domain and envelope are those of the first group
    first: IntArray  # (n_groups + 1,) first arm of each group, and the number of arms
    group_of: IntArray  # (n_arms,)
    lows: FloatArray  # (n_groups,) the groups' domains
    highs: FloatArray  # (n_groups,)
    first_point: IntArray  # (n_groups + 1,) start of each group's breakpoints in `points`
    points: FloatArray  # breakpoints of all groups' envelopes
    first_cell: IntArray  # (n_groups + 1,) first cell of each group
    starts: IntArray  # (n_cells + 1,) start of each cell's arms in `best`
    best: IntArray  # best arms of all cells
    factors: FloatArray  # (n_groups,) D2 * (D1bar * (alpha * K_m)**(g1bar / 2))**g2
    exponents: FloatArray  # (n_groups,) g1bar * g2 / 2


class State(NamedTuple):
    """WAGP's estimates, group by group, and the groups' indices."""

    own: Estimates  # with a sum for each group
    plays: IntArray  # (n_groups,) N_m
    cells: IntArray  # (n_groups,) cell of the group's estimate
    tops: FloatArray  # (n_groups,) worth of the best arm there
    indices: FloatArray  # (n_groups,) of the next round


def init(setup: Setup) -> State:
    """No reward yet: all indices are infinite."""
    n_groups = len(setup.lows)
    return State(
        own=no_group_estimates(setup.tables.n_arms, n_groups),
        plays=np.zeros(n_groups, np.int64),
        cells=np.zeros(n_groups, np.int64),
        tops=np.zeros(n_groups),
        indices=np.full(n_groups, math.inf),
    )


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Return a random arm of a group without plays, or the best arm of the best group."""
    group = choose_largest(state.indices, rng)
    if state.plays[group] == 0:
        size = setup.first[group + 1] - setup.first[group]
        return int(setup.first[group] + int(rng.random() * size))
    start = setup.starts[state.cells[group]]
    n_best = setup.starts[state.cells[group] + 1] - start
    if n_best > 1:
        start += int(rng.random() * n_best)
    return int(setup.best[start])


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the best offered arm of the best group that has an offered arm."""
    n_groups = setup.lows.shape[0]
    indices = np.full(n_groups, -math.inf)
    for i in range(offered.shape[0]):
        group = setup.group_of[offered[i]]
        indices[group] = state.indices[group]
    group = choose_largest(indices, rng)
    worths = np.full(offered.shape[0], -math.inf)
    theta = group_estimate(setup, state, group) if state.plays[group] > 0 else 0.0
    for i in range(offered.shape[0]):
        if setup.group_of[offered[i]] == group:
            worths[i] = 0.0
            if state.plays[group] > 0:
                worths[i] = evaluate(setup.tables.worth, offered[i], theta)
    return int(offered[choose_largest(worths, rng)])


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Update the estimate of the arm's group, and all indices, which change with time."""
    group = setup.group_of[arm]
    state.plays[group] += 1
    weigh_arm(setup, stats, state, arm)
    locate(setup, state, group)
    score(setup, stats, state)


def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
    """Compute all estimates and indices from counts and sums."""
    state.own.weighted[:] = 0
    state.own.parts[:] = 0
    state.own.segments[:] = -1
    state.plays[:] = 0
    for arm in range(setup.tables.n_arms):
        state.plays[setup.group_of[arm]] += stats.counts[arm]
        weigh_arm(setup, stats, state, arm)
    for group in range(setup.lows.shape[0]):
        locate(setup, state, group)
    score(setup, stats, state)


def weigh_arm(setup: Setup, stats: Statistics, state: State, arm: int) -> None:
    """Update one arm's estimate and its group's sum from the arm's counts and sums."""
    group = setup.group_of[arm]
    low, high = setup.lows[group], setup.highs[group]
    update_group_estimate(setup.tables, low, high, stats, state.own, arm, group)


def group_estimate(setup: Setup, state: State, group: int) -> float:
    """Return WAGP's weighted estimate from the rewards of one group. It must have some."""
    upper, lower = state.own.weighted[group, 0], state.own.weighted[group, 1]
    return mean_of_grains(setup.lows[group], setup.highs[group], upper, lower, state.plays[group])


def locate(setup: Setup, state: State, group: int) -> None:
    """Find the cell of the group's envelope at its estimate, and the best worth there."""
    state.cells[group] = 0
    state.tops[group] = 0.0
    if state.plays[group] > 0:
        theta = group_estimate(setup, state, group)
        first, last = setup.first_point[group], setup.first_point[group + 1] - 1
        cell = setup.first_cell[group] + find_cell_among(setup.points, first, last, theta)
        state.cells[group] = cell
        state.tops[group] = evaluate(setup.tables.worth, setup.best[setup.starts[cell]], theta)


def score(setup: Setup, stats: Statistics, state: State) -> None:
    """Compute the indices of the next round; infinite for a group without plays."""
    log_t = math.log(stats.total[0] + 1)
    for group in range(setup.lows.shape[0]):
        if state.plays[group] == 0:
            state.indices[group] = math.inf
        else:
            spread = log_t / state.plays[group]
            # The exponent is 0.5 for means whose slopes are neither 0 nor infinite.
            if setup.exponents[group] == 0.5:
                spread = math.sqrt(spread)
            else:
                spread = math.pow(spread, setup.exponents[group])
            state.indices[group] = state.tops[group] + setup.factors[group] * spread


def estimate(setup: Setup, stats: Statistics, state: State) -> float:
    """Return the estimate if there is one group; nan for several, and before any reward."""
    if stats.total[0] == 0 or setup.lows.shape[0] > 1:
        return math.nan
    return group_estimate(setup, state, 0)


def value_slopes(joint: RegionalModel) -> FloatArray:
    """Return each group's largest change of worth per unit of the mean; 1 without a value."""
    # A single group is always chosen, so its bonus does not matter.
    if not joint.valued or joint.n_groups == 1:
        return np.ones(joint.n_groups)
    slopes = np.array([group.worth_lipschitz for group in joint.groups])
    rule = "have a value with finite slopes for RegionalUCB"
    require(bool(np.isfinite(slopes).all()), "model", rule, slopes.tolist(), PolicyError)
    (low, high), (least, most) = joint.reward_range, joint.worth_range
    return slopes * ((high - low) / ((most - least) or 1.0))


@register("regional_ucb")
@dataclasses.dataclass(frozen=True, kw_only=True)
class RegionalUCB(Policy):
    """UCB over groups of arms and WAGP inside a group, if each group has its own parameter.

    The index of group m with K_m arms and N_m plays is ``max_k mu_k(theta_m) + D2 * (D1bar *
    (alpha * K_m * log(t) / N_m)**(g1bar / 2))**g2``. Here theta_m is WAGP's estimate from the
    group's rewards, and D1bar, g1bar, D2, g2 are the constants of its means
    (`RewardModel.holder`). In the group with the largest index, the arm that is best at theta_m is
    played (UCB-g, Wang, Zhou and Shen 2018; the bonus was not compared with the paper's text). One
    group is `WAGP`. One arm per group with mean theta and alpha = 2 is UCB1, with log(t) instead
    of log(t - 1).

    Runs on a `RegionalModel`, and on a `RewardModel` as one group. Value: any with finite slopes;
    the bonus is multiplied by the steepest one of the group.

    Args:
        alpha: positive; larger values widen the bonus.

    >>> RegionalUCB(alpha=2).label
    'RegionalUCB(alpha=2.0)'
    """

    alpha: float = 1.0

    rules = Rules(init, select, update, estimate, rebuild, select_among=select_among)

    def __post_init__(self) -> None:
        """Check alpha."""
        object.__setattr__(self, "alpha", as_positive("alpha", self.alpha, PolicyError))

    def setup(self, model: RewardModel | RegionalModel) -> Setup:
        """Return the curves and envelopes of all groups, and the constants of their bonuses."""
        joint = model if isinstance(model, RegionalModel) else RegionalModel((model,))
        groups = joint.groups
        for group in groups:
            require_inverses(group.tables, "RegionalUCB")
        envelopes = [group.tables.envelope for group in groups]
        sizes = np.array([group.n_arms for group in groups])
        first = np.concatenate(([0], np.cumsum(sizes)))
        holders = [group.unit_holder for group in groups]
        inner = np.array([holder.inverse_exponent / 2.0 for holder in holders])
        outer = np.array([holder.exponent for holder in holders])
        widths = np.array([holder.inverse_constant for holder in holders])
        steepness = np.array([holder.constant for holder in holders]) * value_slopes(joint)
        starts = [np.diff(envelope.starts) for envelope in envelopes]
        best = [env.arms + before for env, before in zip(envelopes, first[:-1], strict=True)]
        return Setup(
            tables=joint.joint_tables,
            first=first,
            group_of=joint.group_of,
            lows=np.array([group.domain[0] for group in groups]),
            highs=np.array([group.domain[1] for group in groups]),
            first_point=np.cumsum([0] + [len(env.breakpoints) for env in envelopes]),
            points=np.concatenate([env.breakpoints for env in envelopes]),
            first_cell=np.cumsum([0] + [len(part) for part in starts]),
            starts=np.concatenate(([0], np.cumsum(np.concatenate(starts)))),
            best=np.concatenate(best),
            factors=steepness * (widths * (self.alpha * sizes) ** inner) ** outer,
            exponents=inner * outer,
        )

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Give the group and its estimate."""
        group = int(np.argmax(state.indices))
        if state.plays[group] == 0:
            return "a group without plays: any of its arms, at random"
        return (
            f"group {group} has the largest index {state.indices[group]:.6g}; greedy in it at the "
            f"estimate {group_estimate(setup, state, group):.6g}"
        )
