"""The rules of `Elastic` where the parameter may move: three posteriors, one of which decides.

They are fitted to the same rewards, but two of them forget: a reward counts (1 - 1/W)**age for a
window W. Before each reward every one of them predicts it, and keeps a score ::

    score <- (1 - 1/1000) * score - (reward - prediction)**2 / (2 v) - penalty / 1000

v being the variance of the arm's rewards, the penalty 9 nats for those that forget. The largest
score decides: forgetting must have paid before it is done.
"""

from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.policies.parts.choice import choose_largest
from globalbandits.policies.parts.curve_errors import estimate_theta
from globalbandits.policies.parts.elasticity import (
    GROWTH,
    Posterior,
    Setup,
    fit_anew,
    no_posterior,
    renew_if_old,
)
from globalbandits.policies.parts.refitting import next_fit
from globalbandits.policies.parts.sandwich import largest_of
from globalbandits.statistics import Statistics, count

WINDOWS = (0.0, 1000.0, 200.0)  # rounds; 0: never forgets
MEMORY = 1000.0  # rounds that a score looks back
PENALTY = 9.0  # nats
STEP = 1.05  # of the rounds, or of the window's length, from one fit to the next
FORGOTTEN = 1e-6  # rewards: less counts as none


class View(NamedTuple):
    """Rewards with their weights by age, and the posterior they lead to."""

    seen: Statistics  # counts are sums of weights, no whole numbers
    posterior: Posterior


class State(NamedTuple):
    """Three views, and how well they have predicted."""

    still: View
    slow: View
    fast: View
    scores: FloatArray  # (3,)
    deciding: IntArray  # (1,) which of them decides


def no_weights(n_arms: int) -> Statistics:
    """Nothing observed yet; counts may become fractions."""
    counts: Any = np.zeros(n_arms)
    total: Any = np.zeros(1)
    return Statistics(counts, np.zeros(n_arms), np.zeros(n_arms), total)


def init(setup: Setup) -> State:
    """No reward yet: all three are what the prior says."""
    views = []
    n = setup.tables.n_arms
    for _ in WINDOWS:
        view = View(no_weights(n), no_posterior(setup, no_weights(n), no_weights(n)))
        fit_anew(setup, view.seen, view.posterior, 0.0)
        view.posterior.due[0] = 1.0
        views.append(view)
    still, slow, fast = views
    return State(still, slow, fast, np.zeros(len(WINDOWS)), np.zeros(1, np.int64))


def deciding(state: State) -> Posterior:
    """The posterior that decides; plain Python."""
    views: tuple[View, ...] = (state.still, state.slow, state.fast)
    return views[int(state.deciding[0])].posterior


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """The largest index of the posterior that decides, ties at random."""
    if state.deciding[0] == 0:
        return choose_largest(state.still.posterior.indices, rng)
    if state.deciding[0] == 1:
        return choose_largest(state.slow.posterior.indices, rng)
    return choose_largest(state.fast.posterior.indices, rng)


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """All three are scored, then learn; the best one decides from now on."""
    precision = 0.5 / state.still.posterior.noise.variances[arm]
    rounds = float(stats.total[0])
    scores = state.scores
    for i in range(scores.shape[0]):
        scores[i] *= 1.0 - 1.0 / MEMORY
        if WINDOWS[i] > 0.0:
            scores[i] -= PENALTY / MEMORY
    scores[0] -= learn(setup, state.still, arm, reward, rounds, WINDOWS[0]) * precision
    scores[1] -= learn(setup, state.slow, arm, reward, rounds, WINDOWS[1]) * precision
    scores[2] -= learn(setup, state.fast, arm, reward, rounds, WINDOWS[2]) * precision
    state.deciding[0] = largest_of(scores)


def learn(setup: Setup, view: View, arm: int, reward: float, rounds: float, window: float) -> float:
    """One view takes in a reward; returns the square of what it was off by."""
    seen, posterior = view.seen, view.posterior
    error = reward - float(posterior.means[arm])
    longest = rounds
    if window > 0.0:
        fade(seen, 1.0 - 1.0 / window)
        longest = min(rounds, window)
    count(seen, arm, reward)
    if rounds >= posterior.due[0]:
        fit_anew(setup, seen, posterior, rounds)
        if window > 0.0:
            posterior.due[0] = rounds + max(1.0, next_fit(int(longest), STEP) - longest)
        else:
            posterior.due[0] = next_fit(int(rounds), GROWTH)
    else:
        renew_if_old(setup, seen, posterior, arm)
    return error * error


def fade(seen: Statistics, keep: float) -> None:
    """All rewards count a little less, and none at last."""
    total = 0.0
    for arm in range(seen.counts.shape[0]):
        seen.counts[arm] *= keep
        seen.sums[arm] *= keep
        seen.squares[arm] *= keep
        if seen.counts[arm] < FORGOTTEN:
            seen.counts[arm] = 0.0
            seen.sums[arm] = 0.0
            seen.squares[arm] = 0.0
        total += seen.counts[arm]
    seen.total[0] = total


def estimate(setup: Setup, stats: Statistics, state: State) -> float:
    """The posterior mean of the parameter, of the one that decides; nan before any reward."""
    if state.deciding[0] == 0:
        return estimate_theta(stats, state.still.posterior.fit)
    if state.deciding[0] == 1:
        return estimate_theta(stats, state.slow.posterior.fit)
    return estimate_theta(stats, state.fast.posterior.fit)


def resume(setup: Setup, stats: Statistics, state: State) -> bool:
    """Whether the rewards of the three can be those of a learner with these statistics."""
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
        if total > 0 and not total < view.posterior.due[0] <= GROWTH * total + 2.0:
            return False
    return True


def _can_be(seen: Statistics, slack: float) -> bool:
    """Whether weighted rewards in [0, 1] can have these sums."""
    inside = (seen.sums >= -slack) & (seen.sums <= seen.counts + slack)
    spread = (seen.squares >= -slack) & (seen.squares <= seen.sums + slack)
    same = abs(float(seen.counts.sum() - seen.total[0])) <= slack
    return same and bool(np.all(inside & spread & (seen.counts >= 0.0)))
