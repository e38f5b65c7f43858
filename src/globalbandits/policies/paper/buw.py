"""BUW, the Best of UCB and WAGP (Algorithm 2 of the paper)."""

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import IntArray
from globalbandits._validation import as_positive
from globalbandits.errors import PolicyError
from globalbandits.model import RewardModel
from globalbandits.model.tables import Tables, choose_in_cell, find_cell, suboptimality_distance
from globalbandits.policies.base import Policy, Rules, register, require_one_number
from globalbandits.policies.shared.index import (
    NOT_PLAYED,
    Widths,
    first_unplayed,
    first_unplayed_offered,
    init_widths,
    rebuild_widths,
    ucb1_bonus,
    update_arm,
)
from globalbandits.policies.shared.weighted_mean import (
    Estimates,
    no_estimates,
    rebuild_estimates,
    require_inverses,
    update_estimate,
    weighted_mean,
)
from globalbandits.policies.shared.worth import (
    choose_best_offered,
    choose_bound_offered,
    choose_by_worth,
)
from globalbandits.statistics import Statistics
from globalbandits.theory import linear_beats_log


class Setup(NamedTuple):
    """The model's tables and the two constants of the confidence radius."""

    tables: Tables
    coefficient: float  # scale * D1bar * K
    exponent: float  # g1bar / 2


class State(NamedTuple):
    """The states of WAGP and of UCB1."""

    own: Estimates  # WAGP's
    bounds: Widths  # UCB1's


def init(setup: Setup) -> State:
    """No reward yet."""
    return State(no_estimates(setup.tables.n_arms), init_widths(setup))


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Every arm once, then UCB1 until the parameter is known well enough, then WAGP."""
    bounds = state.bounds
    if bounds.played[0] < setup.tables.n_arms:
        return first_unplayed(stats)
    theta = estimate(setup, stats, state)
    if is_waiting(setup, stats, theta):
        bonus = ucb1_bonus(stats)
        return choose_by_worth(setup.tables, bounds.means, 0.0, bounds.widths, bonus, rng)
    envelope = setup.tables.envelope
    return choose_in_cell(envelope, find_cell(envelope, theta), rng)


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """`select` among the offered arms: each once, then by UCB1, then by WAGP."""
    arm = first_unplayed_offered(stats, offered)
    if arm >= 0:
        return arm
    theta = estimate(setup, stats, state)
    if is_waiting(setup, stats, theta):
        means, widths, bonus = state.bounds.means, state.bounds.widths, ucb1_bonus(stats)
        return choose_bound_offered(setup.tables, means, 0.0, widths, bonus, offered, rng)
    return choose_best_offered(setup.tables, theta, offered, rng)


def is_waiting(setup: Setup, stats: Statistics, theta: float) -> bool:
    """Whether t < C2(max(0, Delta-tilde_{t-1})) at the estimate theta, so that UCB1 decides.

    C2(Delta) is the larger root of tau = A log tau with A = (coefficient / Delta)**(1 /
    exponent), rounded up. The smaller root is at most e, so for an integer t >= 3 the test is
    the same as t < A log t, which is the same as Delta < radius(t): no root is computed, and
    Delta <= 0 needs no case of its own. (t < 3 happens only with one arm, where there is no
    choice to make.)
    """
    t = stats.total[0] + 1
    distance = suboptimality_distance(setup.tables, theta)
    return bool(distance - radius(setup, t - 1) < radius(setup, t))


def radius(setup: Setup, time: int) -> float:
    """Confidence radius of the estimate: coefficient * (log t / t)**exponent."""
    return setup.coefficient * math.pow(math.log(time) / time, setup.exponent)


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Only the played arm's estimate, mean and width change."""
    update_estimate(setup.tables, stats, state.own, arm)
    update_arm(stats, state.bounds, arm)


def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
    """Estimates, means and widths of all arms."""
    rebuild_estimates(setup.tables, stats, state.own)
    rebuild_widths(setup, stats, state.bounds)


def estimate(setup: Setup, stats: Statistics, state: State) -> float:
    """WAGP's weighted estimate; nan before any reward."""
    return weighted_mean(setup.tables, stats, state.own)


def waiting_time(setup: Setup, distance: float) -> float:
    """C2(Delta) = ceil(A glog A), in its Lambert-W form; infinite for Delta <= 0."""
    if distance <= 0.0:
        return math.inf
    with np.errstate(over="ignore"):
        factor = np.float64(setup.coefficient / distance) ** (1.0 / setup.exponent)
    return float(linear_beats_log(factor))


@register("buw")
@dataclasses.dataclass(frozen=True, kw_only=True)
class BUW(Policy):
    """Follow UCB1 until the estimate is surely on the right side of every edge, then WAGP.

    UCB1 decides while ``t < C2(Delta-tilde)``, where ``Delta-tilde = Delta_min(theta-hat) -
    scale * D1bar * K * (log t / t)**(g1bar / 2)`` underestimates the suboptimality distance.

    With the paper's constants (``scale=1``) UCB1 decides for long: on the paper's pricing example
    for all of the first 10,000 rounds. A smaller scale switches sooner; the proof of the regret
    bound does not cover it.

    Value: any. Edges and distances are those of worth, and UCB1 ranks arms by worth.

    Args:
        scale: multiplies ``D1bar * K`` in the radius and in C2; positive.

    >>> BUW(scale=0.1)
    BUW(scale=0.1)
    """

    scale: float = 1.0

    rules = Rules(init, select, update, estimate, rebuild, select_among=select_among)

    def __post_init__(self) -> None:
        """Check the scale."""
        object.__setattr__(self, "scale", as_positive("scale", self.scale, PolicyError))

    def setup(self, model: RewardModel) -> Setup:
        """The model's tables, and the constants of its means on the unit reward scale."""
        require_one_number(model, "BUW")
        require_inverses(model.tables, "BUW")
        holder = model.unit_holder
        return Setup(
            tables=model.tables,
            coefficient=float(self.scale * holder.inverse_constant * model.n_arms),
            exponent=float(holder.inverse_exponent) / 2.0,
        )

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """The phase, and what ends it."""
        detail = self.details(setup, stats, state)
        if detail["phase"] == "first plays":
            return NOT_PLAYED
        if detail["phase"] == "WAGP":
            return (
                f"WAGP phase: the best arm at the estimate {estimate(setup, stats, state):.6g}; "
                f"UCB1's time ended at C2 = {detail['waiting_time']:.6g}"
            )
        if detail["safe_distance"] <= 0.0:
            wait = "C2 is infinite while the confidence radius exceeds the distance to an edge"
        else:
            wait = f"WAGP takes over at C2 = {detail['waiting_time']:.6g} if the estimate stays"
        return f"UCB1 phase: largest upper confidence bound; {wait}"

    def details(self, setup: Setup, stats: Statistics, state: State) -> dict[str, Any]:
        """Phase, time t, Delta-hat, its safe version Delta-tilde, and C2."""
        if state.bounds.played[0] < setup.tables.n_arms:
            return {"phase": "first plays"}
        n = int(stats.total[0])
        theta = estimate(setup, stats, state)
        distance = float(suboptimality_distance(setup.tables, theta))
        safe = distance - radius(setup, n)
        return {
            "phase": "UCB1" if is_waiting(setup, stats, theta) else "WAGP",
            "time": n + 1,
            "distance": distance,
            "safe_distance": safe,
            "waiting_time": waiting_time(setup, safe),
        }
