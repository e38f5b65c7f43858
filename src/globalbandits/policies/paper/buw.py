"""BUW, the Best of UCB and WAGP (Algorithm 2 of the paper)."""

import dataclasses
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_positive
from globalbandits.errors import PolicyError
from globalbandits.model.tables import (
    Tables,
    choose_in_cell,
    find_cell,
    suboptimality_distance,
)
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.choice import choose_upper_bound
from globalbandits.policies.ucb1 import bonus, first_unplayed, renew
from globalbandits.policies.wagp import change as change_estimate
from globalbandits.policies.wagp import estimate
from globalbandits.policies.wagp import recount as recount_estimate

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


class Setup(NamedTuple):
    """The model's tables and the two constants of the confidence radius."""

    tables: Tables
    coefficient: float  # scale * D1bar * K
    exponent: float  # g1bar / 2


class State(NamedTuple):
    """What WAGP and UCB1 keep, side by side."""

    counts: IntArray  # (n_arms,) N_k
    sums: FloatArray  # (n_arms,) sum of rewards
    thetas: FloatArray  # (n_arms,) theta-hat_k, meaningful where N_k > 0
    total: IntArray  # (1,) number of observations
    weighted: FloatArray  # (1,) sum_k N_k theta-hat_k
    segments: IntArray  # (n_arms,) as in WAGP
    means: FloatArray  # (n_arms,) X-hat_k, 0 where N_k = 0
    widths: FloatArray  # (n_arms,) 1 / sqrt(N_k), 0 where N_k = 0
    played: IntArray  # (1,) number of arms with N_k > 0


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
        means=np.zeros(n),
        widths=np.zeros(n),
        played=np.zeros(1, np.int64),
    )


def select(setup: Setup, state: State, rng: np.random.Generator) -> int:
    """Every arm once, then UCB1 until the parameter is known well enough, then WAGP."""
    if state.played[0] < setup.tables.n_arms:
        return first_unplayed(state.counts)
    if is_waiting(setup, state):
        return choose_upper_bound(state.means, state.widths, bonus(state), rng)
    envelope = setup.tables.envelope
    return choose_in_cell(envelope, find_cell(envelope, estimate(setup, state)), rng)


def is_waiting(setup: Setup, state: State) -> bool:
    """Whether t < C2(max(0, Delta-tilde_{t-1})), so that UCB1 decides.

    C2(Delta) is the larger root of tau = A log tau with A = (coefficient / Delta)**(1 /
    exponent), rounded up. The smaller root is at most e, so for an integer t >= 3 the test is
    the same as t < A log t, which is the same as Delta < radius(t): no root is computed, and
    Delta <= 0 needs no case of its own. (t < 3 happens with one arm only, where it is all one.)
    """
    t = state.total[0] + 1
    distance = suboptimality_distance(setup.tables, estimate(setup, state))
    return bool(distance - radius(setup, t - 1) < radius(setup, t))


def radius(setup: Setup, time: int) -> float:
    """Confidence radius of the estimate: coefficient * (log t / t)**exponent."""
    return setup.coefficient * math.pow(math.log(time) / time, setup.exponent)


def update(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Count one reward."""
    change_estimate(setup, state, arm, reward, 1)
    renew(state, arm)


def forget(setup: Setup, state: State, arm: int, reward: float) -> None:
    """Take one observation back."""
    change_estimate(setup, state, arm, -reward, -1)
    renew(state, arm)


def refresh(setup: Setup, state: State) -> None:
    """Rebuild what follows from counts and sums."""
    recount_estimate(setup, state)
    for arm in range(setup.tables.n_arms):
        renew(state, arm)


def waiting_time(setup: Setup, distance: float) -> float:
    """C2(Delta) = ceil(A glog A), in its Lambert-W form; infinite for Delta <= 0."""
    from globalbandits.theory import linear_beats_log

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

    With the paper's constants (``scale=1``) the wait is long: on its pricing example the
    policy is UCB1 for all of the first 10,000 rounds. A smaller scale switches sooner, and
    leaves the proof of the regret bound.

    Args:
        scale: multiplies ``D1bar * K`` in the radius and in C2; positive.

    >>> BUW(scale=0.1)
    BUW(scale=0.1)
    """

    scale: float = 1.0

    rules = Rules(init, select, update, estimate, forget, ("counts", "sums"), refresh)

    def __post_init__(self) -> None:
        """Check the scale."""
        object.__setattr__(self, "scale", as_positive("scale", self.scale, PolicyError))

    def setup(self, model: "RewardModel") -> Setup:
        """The model's tables, and the constants of its means on the unit reward scale."""
        holder = model.unit_holder
        return Setup(
            tables=model.tables,
            coefficient=float(self.scale * holder.inverse_constant * model.n_arms),
            exponent=float(holder.inverse_exponent) / 2.0,
        )

    def reason(self, setup: Setup, state: State) -> str:
        """The phase, and what ends it."""
        detail = self.details(setup, state)
        if detail["phase"] == "first plays":
            return "not played yet: every arm once, the lowest first"
        if detail["phase"] == "WAGP":
            return (
                f"WAGP phase: the best arm at the estimate {estimate(setup, state):.6g}; "
                f"UCB1's time ended at C2 = {detail['waiting_time']:.6g}"
            )
        if detail["safe_distance"] <= 0.0:
            wait = "C2 is infinite while the confidence radius exceeds the distance to an edge"
        else:
            wait = f"WAGP takes over at C2 = {detail['waiting_time']:.6g} if the estimate stays"
        return f"UCB1 phase: largest upper confidence bound; {wait}"

    def details(self, setup: Setup, state: State) -> dict[str, Any]:
        """Phase, time t, Delta-hat, its safe version Delta-tilde, and C2."""
        if state.played[0] < setup.tables.n_arms:
            return {"phase": "first plays"}
        n = int(state.total[0])
        distance = float(suboptimality_distance(setup.tables, estimate(setup, state)))
        safe = distance - radius(setup, n)
        return {
            "phase": "UCB1" if is_waiting(setup, state) else "WAGP",
            "time": n + 1,
            "distance": distance,
            "safe_distance": safe,
            "waiting_time": waiting_time(setup, safe),
        }
