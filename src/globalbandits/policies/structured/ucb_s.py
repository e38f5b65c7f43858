"""`UCBS` (Lattimore and Munos 2014): optimism over a confidence set of the parameter."""

import dataclasses
import math
from typing import Any

import numpy as np

from globalbandits._types import IntArray
from globalbandits.model.tables import choose_in_cell, evaluate, find_cell
from globalbandits.policies.base import Rules, register
from globalbandits.policies.shared.worth import (
    choose_any,
    choose_largest,
    choose_offered,
    worth_within,
)
from globalbandits.policies.structured import several_confidence
from globalbandits.policies.structured.confidence import (
    ConfidenceSetPolicy,
    Setup,
    State,
    estimate,
    init,
    is_empty,
    rebuild,
    update,
)
from globalbandits.policies.structured.several_confidence import root_of, several_numbers
from globalbandits.statistics import Statistics


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Return the best arm at the end of a part where the envelope is highest.

    For an empty set return a random arm. Within a part means are monotone, and so are their
    worths if these rise with the means. Then the supremum of each worth over the part is at one of
    its two ends, and the largest supremum is the larger of the envelope's values at the ends.
    Other worths may be largest in between; `choose_within` handles them.
    """
    if is_empty(state):
        return int(rng.random() * setup.tables.n_arms)
    if setup.tables.valued and not setup.tables.affine_increasing:
        return choose_within(setup, state, rng)
    envelope = setup.tables.envelope
    chosen, largest = -1, -math.inf
    n_tied = 1.0
    for side in range(state.parts.shape[0]):
        first = side - side % 2
        if state.parts[first] > state.parts[first + 1]:
            continue
        cell = find_cell(envelope, state.parts[side])
        arm = envelope.arms[envelope.starts[cell]]
        worth = evaluate(setup.tables.worth, arm, state.parts[side])
        if worth > largest:
            chosen, largest, n_tied = cell, worth, 1.0
        elif worth == largest and cell != chosen:
            n_tied += 1.0
            if rng.random() < 1.0 / n_tied:
                chosen = cell
    return choose_in_cell(envelope, chosen, rng)


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the offered arm that is worth most somewhere in the set; any if it is empty."""
    if is_empty(state):
        return choose_any(offered, rng)
    worths = np.empty(offered.shape[0])
    for i in range(offered.shape[0]):
        worths[i] = largest_worth(setup, state, offered[i])
    return int(offered[choose_largest(worths, rng)])


def choose_within(setup: Setup, state: State, rng: np.random.Generator) -> int:
    """Return the arm that is worth most somewhere in the set, by its means in the set."""
    worths = np.empty(setup.tables.n_arms)
    for arm in range(setup.tables.n_arms):
        worths[arm] = largest_worth(setup, state, arm)
    return choose_largest(worths, rng)


def largest_worth(setup: Setup, state: State, arm: int) -> float:
    """Return the most an arm is worth in the set. Its mean is monotone in every part."""
    tables = setup.tables
    largest = -math.inf
    for part in range(0, state.parts.shape[0], 2):
        if state.parts[part] <= state.parts[part + 1]:
            one = evaluate(tables.mean, arm, state.parts[part])
            other = evaluate(tables.mean, arm, state.parts[part + 1])
            worth = worth_within(tables, arm, min(one, other), max(one, other))
            largest = max(largest, worth)
    return largest


# The same with several unknown numbers.


def score_several(setup: Any, stats: Statistics, state: several_confidence.State) -> None:
    """Set each arm's index to the most that it is worth near a plausible point.

    It is at most what the arm's own radius allows.
    """
    posterior, indices = state.posterior, state.indices
    for arm in range(indices.shape[0]):
        indices[arm] = -math.inf
    for point in range(posterior.grid.n_points[0]):
        if posterior.weights[point] > 0.0:
            highs = state.highs[point]
            for arm in range(indices.shape[0]):
                indices[arm] = max(indices[arm], highs[arm])
    root = root_of(setup, stats)
    for arm in range(indices.shape[0]):
        if stats.counts[arm] > 0:
            mean, width = state.allowed.means[arm], root * state.allowed.widths[arm]
            own = worth_within(setup.tables, arm, mean - width, mean + width)
            indices[arm] = min(indices[arm], own)


def select_several(
    setup: Any, stats: Statistics, state: several_confidence.State, rng: np.random.Generator
) -> int:
    """Return the arm that is worth most near some plausible point; any if there is none."""
    return choose_largest(state.indices, rng)


def select_several_among(
    setup: Any,
    stats: Statistics,
    state: several_confidence.State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the offered arm that is worth most near some plausible point; any if there is none."""
    return choose_offered(state.indices, offered, rng)


@register("ucb_s")
@dataclasses.dataclass(frozen=True, kw_only=True)
class UCBS(ConfidenceSetPolicy):
    """Play the arm with the largest possible mean: ``argmax_k sup over Theta_t of mu_k``.

    The confidence set is ``Theta_t = {theta: |mu_k(theta) - mean_k| <= sqrt(alpha * variance *
    log(t) / N_k) for all k}`` (Lattimore and Munos 2014, Algorithm 1, where the variance is a
    sub-Gaussian constant). If it is empty, a random arm is played. Arms need no initial play: an
    arm without rewards does not narrow the set. With ``variance="learned"`` the radius is that of
    `UCBC` with alpha / 2.
    With two unknown numbers the suprema are over points that follow the set.
    Value: any. mu_k is then the worth of arm k, which need not be largest at an end of the set.

    Args:
        alpha: positive; larger values widen the set. The theory requires more than 2 (not compared
            with the paper's text).
        variance: variance of a reward on the unit scale; 1/4 covers every reward in [0, 1].
            "learned" estimates each arm's variance, at first from all arms' rewards.

    >>> UCBS(alpha=4).label
    'UCBS(alpha=4.0)'
    """

    alpha: float = 3.0
    variance: float | str = 0.25

    rules = Rules(init, select, update, estimate, rebuild, select_among=select_among)
    several = several_numbers(score_several, select_several, select_several_among)
    log_factor = 1.0

    def reason(self, setup: Any, stats: Statistics, state: Any) -> str:
        """Give the confidence set."""
        region = self.explain_set(setup, state)
        return (
            f"any arm: {region}" if "empty" in region else f"largest possible worth with {region}"
        )
