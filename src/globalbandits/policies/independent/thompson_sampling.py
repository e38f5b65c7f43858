"""`ThompsonSampling` with a posterior per arm: Beta, or Student's with learned variance."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model import RewardModel
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, State, register, stateless
from globalbandits.policies.shared.index import (
    NOT_PLAYED,
    first_unplayed,
    first_unplayed_offered,
    no_estimate,
)
from globalbandits.policies.shared.noise_variance import (
    COIN,
    LEARNED,
    as_coin_or_learned,
    draw_student,
    learn_variances,
)
from globalbandits.policies.shared.worth import worth_of
from globalbandits.statistics import Statistics


class Setup(NamedTuple):
    """The model's tables, and whether the variance is learned."""

    tables: Tables
    learned: bool


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Return the arm with the largest draw from its posterior."""
    if setup.learned and stats.counts.min() == 0:
        return first_unplayed(stats)
    variances = learn_variances(stats) if setup.learned else stats.sums
    best = 0
    largest = -math.inf
    for arm in range(setup.tables.n_arms):
        value = draw_worth(setup, stats, variances, arm, rng)
        if value > largest:
            best = arm
            largest = value
    return best


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the offered arm with the largest draw from its posterior."""
    if setup.learned:
        arm = first_unplayed_offered(stats, offered)
        if arm >= 0:
            return arm
    variances = learn_variances(stats) if setup.learned else stats.sums
    best = int(offered[0])
    largest = -math.inf
    for i in range(offered.shape[0]):
        arm = int(offered[i])
        value = draw_worth(setup, stats, variances, arm, rng)
        if value > largest:
            best = arm
            largest = value
    return best


def draw_worth(
    setup: Setup, stats: Statistics, variances: FloatArray, arm: int, rng: np.random.Generator
) -> float:
    """Draw the worth of an arm from its posterior. Variances are read only if they are learned."""
    if setup.learned:
        mean = draw_student(stats, variances[arm], arm, rng)
    else:
        mean = draw_beta(stats, arm, rng)
    return worth_of(setup.tables, arm, mean)


def draw_beta(stats: Statistics, arm: int, rng: np.random.Generator) -> float:
    """Draw a mean from the Beta posterior of an arm."""
    # Rounding may take the sum outside [0, N_k]. A nan is replaced by 0.
    successes = 0.0
    if stats.sums[arm] > 0.0:
        successes = min(stats.sums[arm], float(stats.counts[arm]))
    return float(rng.beta(1.0 + successes, 1.0 + (stats.counts[arm] - successes)))


@register("thompson_sampling")
@dataclasses.dataclass(frozen=True, kw_only=True)
class ThompsonSampling(Policy):
    """Play each arm with the probability that it is best; the model's curves are not used.

    Each round draws a mean per arm from ``Beta(1 + sum of rewards, 1 + N_k - sum of rewards)`` and
    plays the arm with the largest draw. For Bernoulli rewards this is Thompson's rule with a
    uniform prior (Thompson 1933, Agrawal and Goyal 2012). For other rewards in [0, 1] Agrawal and
    Goyal replace a reward x by a Bernoulli draw with mean x. Here x itself is added, so that
    updates draw no random number and can be replayed, merged and undone. The posterior is as wide
    as for Bernoulli rewards; rewards with less variance can be learned faster.

    With ``variance="learned"`` every arm is played once. Then the draw is ``mean_k + sqrt(v_k /
    N_k) * t`` with t from Student's distribution with ``4 + N_k`` degrees of freedom. This is the
    posterior of a Normal arm with a flat prior of its mean. The prior of its variance is estimated
    from all arms and has the weight of five rewards. Honda and Takemura (2014) show that the rule
    can fail without such a prior.

    Value: any. The draws are ranked by worth.

    Args:
        variance: "coin" for the Beta posterior, "learned" for Student's.

    >>> ThompsonSampling(variance="learned").label
    "ThompsonSampling(variance='learned')"
    """

    variance: str = COIN

    rules = stateless(select, no_estimate, select_among)

    def __post_init__(self) -> None:
        """Check the variance."""
        object.__setattr__(self, "variance", as_coin_or_learned(self.variance))

    def setup(self, model: RewardModel) -> Setup:
        """Return the model's tables."""
        return Setup(model.tables, self.variance == LEARNED)

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Name the posterior of the draws."""
        if not setup.learned:
            return "largest of one draw per arm from its Beta posterior"
        if int(np.min(stats.counts)) == 0:
            return NOT_PLAYED
        return "largest of one draw per arm from its Student posterior"
