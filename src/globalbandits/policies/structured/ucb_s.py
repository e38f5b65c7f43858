"""UCB-S (Lattimore and Munos 2014): optimism over all parameters the rewards allow."""

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from globalbandits._validation import as_positive
from globalbandits.errors import PolicyError
from globalbandits.model.tables import choose_in_cell, evaluate, find_cell
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.parts.choice import choose_largest
from globalbandits.policies.parts.confidence import (
    Setup,
    State,
    build,
    estimate,
    explain,
    init,
    is_empty,
    rebuild,
    update,
)
from globalbandits.policies.parts.inverting import require_inverses
from globalbandits.policies.parts.valuing import worth_within
from globalbandits.statistics import Statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """The best arm at the end of the set where the envelope is higher; any if it is empty.

    Means are monotone, and so are their worths if these rise with the means. Then the supremum
    of each over the set is at one of the two ends, and the largest of all suprema is the larger
    of the envelope's two values there. Other worths may be largest in between.
    """
    if is_empty(state):
        return int(rng.random() * setup.tables.n_arms)
    if setup.tables.valued and not setup.tables.affine_increasing:
        return choose_within(setup, state, rng)
    envelope = setup.tables.envelope
    chosen, largest = -1, -math.inf
    for side in range(2):
        cell = find_cell(envelope, state.interval[side])
        arm = envelope.arms[envelope.starts[cell]]
        worth = evaluate(setup.tables.worth, arm, state.interval[side])
        tied = worth == largest and cell != chosen and rng.random() < 0.5
        if worth > largest or tied:
            chosen, largest = cell, worth
    return choose_in_cell(envelope, chosen, rng)


def choose_within(setup: Setup, state: State, rng: np.random.Generator) -> int:
    """The arm that is worth most somewhere in the set, by the means it has there."""
    tables = setup.tables
    worths = np.empty(tables.n_arms)
    for arm in range(tables.n_arms):
        one = evaluate(tables.mean, arm, state.interval[0])
        other = evaluate(tables.mean, arm, state.interval[1])
        worths[arm] = worth_within(tables, arm, min(one, other), max(one, other))
    return choose_largest(worths, rng)


@register("ucb_s")
@dataclasses.dataclass(frozen=True, kw_only=True)
class UCBS(Policy):
    """Play the arm that could be best by most: ``argmax_k sup over Theta_t of mu_k``.

    The confidence set is ``Theta_t = {theta: |mu_k(theta) - mean_k| <= sqrt(alpha * variance *
    log(t) / N_k) for all k}`` (Lattimore and Munos 2014, Algorithm 1, where the variance is a
    sub-Gaussian constant; that their proofs need alpha > 2 is from memory). When it is empty,
    any arm is played. Arms are not played once first: one without rewards does not narrow the set.
    Value: any. mu_k is then what arm k is worth, which need not be largest at an end of the set.

    Args:
        alpha: how wide the set is; positive.
        variance: variance of a reward on the unit scale; 1/4 covers every reward in [0, 1].

    >>> UCBS(alpha=4).label
    'UCBS(alpha=4.0)'
    """

    alpha: float = 3.0
    variance: float = 0.25

    rules = Rules(init, select, update, estimate, rebuild)

    def __post_init__(self) -> None:
        """Check the two factors."""
        for name in ("alpha", "variance"):
            object.__setattr__(self, name, as_positive(name, getattr(self, name), PolicyError))

    def setup(self, model: "RewardModel") -> Setup:
        """The model's tables and the radius."""
        require_inverses(model.tables, "UCBS")
        return build(model.tables, self.alpha * self.variance, self.variance)

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """The confidence set and the largest index."""
        if is_empty(state):
            return f"any arm: {explain(state)}"
        return f"largest possible worth with {explain(state)}"
