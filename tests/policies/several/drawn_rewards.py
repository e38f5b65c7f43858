"""Statistics of rewards that are 0 or 1, for a model at a given parameter."""

import math

import numpy as np

from globalbandits.statistics import no_statistics


def draw_statistics(model, theta, n_rewards, rng, *, best_only):
    """Rewards of a policy that plays the best arm and a few of the others, or all arms alike."""
    counts = np.full(model.n_arms, max(1, n_rewards // model.n_arms))
    if best_only:
        counts[:] = round(2 * math.log(n_rewards))
        counts[model.best_arms(theta)[0]] = n_rewards
    stats = no_statistics(model.n_arms)
    stats.counts[:] = counts
    stats.sums[:] = rng.binomial(counts, model.means(theta))
    stats.squares[:] = stats.sums
    stats.total[0] = counts.sum()
    return stats
