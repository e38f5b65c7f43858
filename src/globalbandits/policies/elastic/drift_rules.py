"""The rules of `Elastic` for a parameter that may move: three posteriors, one of which decides.

All are fitted to the same rewards, but two of them forget: a reward has weight (1 - 1/W)**age for
a window W. Each posterior predicts every reward and keeps a score ::

    score <- (1 - 1/1000) * score - (reward - prediction)**2 / (2 v) - penalty / 1000

where v is the variance of the arm's rewards and the penalty is 9 nats for those that forget. The
posterior with the largest score decides. One that forgets decides only after better predictions.
"""

from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.policies.elastic.curve_posterior import estimate_theta
from globalbandits.policies.elastic.stationary_rules import (
    FIT_GROWTH,
    Posterior,
    Setup,
    fit_all,
    no_posterior,
    update_index_if_old,
)
from globalbandits.policies.shared.gittins import largest_of
from globalbandits.policies.shared.refits import next_fit
from globalbandits.policies.shared.worth import choose_largest, choose_offered
from globalbandits.statistics import Statistics, count, no_weighted_statistics

WINDOW_ROUNDS = (0.0, 1000.0, 200.0)  # W of each posterior; 0 never forgets
SCORE_ROUNDS = 1000.0  # window of a score
PENALTY_NATS = 9.0
# From one fit to the next, the number of rounds grows by this factor; in later rounds it grows by
# (factor - 1) times the window.
WINDOW_FIT_GROWTH = 1.05
# A smaller weighted count is set to 0.
MIN_COUNT = 1e-6


class View(NamedTuple):
    """Rewards weighted by age, and their posterior."""

    seen: Statistics  # counts are sums of weights, not whole numbers
    posterior: Posterior


class State(NamedTuple):
    """Three views, and the scores of their predictions."""

    still: View
    slow: View
    fast: View
    scores: FloatArray  # (3,)
    deciding: IntArray  # (1,) position of the view that decides


def init(setup: Setup) -> State:
    """No reward yet: three views of the prior."""
    views = []
    n = setup.tables.n_arms
    for _ in WINDOW_ROUNDS:
        view = View(
            no_weighted_statistics(n),
            no_posterior(setup, no_weighted_statistics(n), no_weighted_statistics(n)),
        )
        fit_all(setup, view.seen, view.posterior, 0.0)
        view.posterior.due[0] = 1.0
        views.append(view)
    still, slow, fast = views
    return State(still, slow, fast, np.zeros(len(WINDOW_ROUNDS)), np.zeros(1, np.int64))


def deciding(state: State) -> Posterior:
    """Return the posterior that decides. Not compiled."""
    views: tuple[View, ...] = (state.still, state.slow, state.fast)
    return views[int(state.deciding[0])].posterior


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Return the arm with the largest index in the view that decides, ties at random."""
    if state.deciding[0] == 0:
        return choose_largest(state.still.posterior.indices, rng)
    if state.deciding[0] == 1:
        return choose_largest(state.slow.posterior.indices, rng)
    return choose_largest(state.fast.posterior.indices, rng)


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the offered arm with the largest index in the view that decides, ties at random."""
    if state.deciding[0] == 0:
        return choose_offered(state.still.posterior.indices, offered, rng)
    if state.deciding[0] == 1:
        return choose_offered(state.slow.posterior.indices, offered, rng)
    return choose_offered(state.fast.posterior.indices, offered, rng)


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Score all three views, update them, and let the best one decide."""
    precision = 0.5 / state.still.posterior.noise.variances[arm]
    rounds = float(stats.total[0])
    scores = state.scores
    for i in range(scores.shape[0]):
        scores[i] *= 1.0 - 1.0 / SCORE_ROUNDS
        if WINDOW_ROUNDS[i] > 0.0:
            scores[i] -= PENALTY_NATS / SCORE_ROUNDS
    scores[0] -= learn_reward(setup, state.still, arm, reward, rounds, WINDOW_ROUNDS[0]) * precision
    scores[1] -= learn_reward(setup, state.slow, arm, reward, rounds, WINDOW_ROUNDS[1]) * precision
    scores[2] -= learn_reward(setup, state.fast, arm, reward, rounds, WINDOW_ROUNDS[2]) * precision
    state.deciding[0] = largest_of(scores)


def learn_reward(
    setup: Setup, view: View, arm: int, reward: float, rounds: float, window: float
) -> float:
    """Add a reward to one view, and return the squared error of its prediction."""
    seen, posterior = view.seen, view.posterior
    error = reward - float(posterior.means[arm])
    longest = rounds
    if window > 0.0:
        discount(seen, 1.0 - 1.0 / window)
        longest = min(rounds, window)
    count(seen, arm, reward)
    if rounds >= posterior.due[0]:
        fit_all(setup, seen, posterior, rounds)
        if window > 0.0:
            posterior.due[0] = rounds + max(
                1.0, next_fit(int(longest), WINDOW_FIT_GROWTH) - longest
            )
        else:
            posterior.due[0] = next_fit(int(rounds), FIT_GROWTH)
    else:
        update_index_if_old(setup, seen, posterior, arm)
    return error * error


def discount(seen: Statistics, keep: float) -> None:
    """Multiply the weights of all rewards by ``keep``."""
    total = 0.0
    for arm in range(seen.counts.shape[0]):
        seen.counts[arm] *= keep
        seen.sums[arm] *= keep
        seen.squares[arm] *= keep
        if seen.counts[arm] < MIN_COUNT:
            seen.counts[arm] = 0.0
            seen.sums[arm] = 0.0
            seen.squares[arm] = 0.0
        total += seen.counts[arm]
    seen.total[0] = total


def estimate(setup: Setup, stats: Statistics, state: State) -> float:
    """Return the posterior mean of the parameter in the view that decides; nan before rewards."""
    if state.deciding[0] == 0:
        return estimate_theta(stats, state.still.posterior.fit)
    if state.deciding[0] == 1:
        return estimate_theta(stats, state.slow.posterior.fit)
    return estimate_theta(stats, state.fast.posterior.fit)


def resume(setup: Setup, stats: Statistics, state: State) -> bool:
    """Whether a learner with these statistics can have these three views."""
    total = int(stats.total[0])
    slack = 1e-6 * (1.0 + total)
    if int(state.deciding[0]) != largest_of(state.scores) or not np.all(state.scores <= 0.0):
        return False
    still = state.still.seen
    for mine, theirs in zip(still, stats, strict=True):
        if not np.all(np.abs(mine - theirs) <= slack):
            return False
    for view in (state.still, state.slow, state.fast):
        for part in (view.seen, view.posterior.fitted, view.posterior.renewed):
            if not _can_be(part, slack):
                return False
        if np.any(view.seen.counts > stats.counts + slack) or not np.all(
            np.isfinite(view.posterior.indices) & np.isfinite(view.posterior.means)
        ):
            return False
        if total > 0 and not total < view.posterior.due[0] <= FIT_GROWTH * total + 2.0:
            return False
    return True


def _can_be(seen: Statistics, slack: float) -> bool:
    """Whether weighted rewards in [0, 1] can have these sums."""
    inside = (seen.sums >= -slack) & (seen.sums <= seen.counts + slack)
    spread = (seen.squares >= -slack) & (seen.squares <= seen.sums + slack)
    same = abs(float(seen.counts.sum() - seen.total[0])) <= slack
    return same and bool(np.all(inside & spread & (seen.counts >= 0.0)))
