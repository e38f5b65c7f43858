"""The evidence, naively: one theta at a time, one reward at a time, straight from the formulas.

No histogram unless requested, no bounds, no search: infima and sets are read off dense grids.
"""

import math

import numpy as np

C = 0.95


def unit_means(model, theta):
    low, high = model.reward_range
    means = (model.means(float(theta)) - low) / (high - low)
    return [min(max(m, 1e-9), 1 - 1e-9) for m in means.tolist()]


def spread(reward, n_bins):
    """A reward as pairs (knot value, weight)."""
    j = min(int(reward * n_bins), n_bins - 1)
    w = n_bins * reward - j
    return [(j / n_bins, 1 - w), ((j + 1) / n_bins, w)]


def log_bet(stake, mean, reward, n_bins):
    """log of the pay-off of one bet, at the reward itself if n_bins is None."""
    if n_bins is None:
        return math.log(1 + stake * (reward - mean))
    return sum(w * math.log(1 + stake * (x - mean)) for x, w in spread(reward, n_bins) if w)


def log_mean_exp(values):
    top = max(values)
    return top + math.log(sum(math.exp(v - top) for v in values) / len(values))


def log_pooled(model, theta, arms, rewards, n_bins=None):
    """log H(theta)."""
    a, b = model.domain
    m = unit_means(model, theta)
    wealth = []
    for scale in range(12):
        e = 4 * (b - a) * 2.0**-scale
        for sign in (-1, 1):
            d = min(e, b - theta if sign > 0 else theta - a)
            moved = unit_means(model, min(max(theta + sign * d, a), b))
            total = 0.0
            for arm, reward in zip(arms, rewards, strict=True):
                stake = 0.0
                if d > 0:
                    stake = e * (moved[arm] - m[arm]) / (d * m[arm] * (1 - m[arm]))
                    stake = min(max(stake, -C / (1 - m[arm])), C / m[arm])
                total += log_bet(stake, m[arm], reward, n_bins)
            wealth.append(total)
    return log_mean_exp(wealth)


def log_spike_slab(model, theta, arms, rewards, n_bins=None):
    """log SS(theta)."""
    m = unit_means(model, theta)
    n_arms = len(m)
    s = []
    for arm in range(n_arms):
        mine = [r for k, r in zip(arms, rewards, strict=True) if k == arm]
        wealth = []
        for level in range(8):
            f = C * 2.0**-level
            for stake in (f / m[arm], -f / (1 - m[arm])):
                wealth.append(sum(log_bet(stake, m[arm], r, n_bins) for r in mine))
        s.append(log_mean_exp(wealth))
    products = []
    for part in (1 / n_arms, 0.5):
        products.append(sum(np.logaddexp(math.log(1 - part), math.log(part) + x) for x in s))
    return log_mean_exp(products)


def log_bernoulli(model, theta, other, successes, failures):
    """log likelihood ratio of two parameters for all-or-nothing rewards."""
    m, moved = unit_means(model, theta), unit_means(model, other)
    return sum(
        s * math.log(q / p) + f * math.log((1 - q) / (1 - p))
        for s, f, p, q in zip(successes, failures, m, moved, strict=True)
    )


def fisher_width(model, theta, arms, variances):
    """Width of the 95 % interval of an oracle that looks once, at a time fixed in advance.

    Asymptotic, with the arms' reward variances known.
    """
    low, high = model.reward_range
    step = 1e-6 * (model.domain[1] - model.domain[0])
    slopes = (model.means(theta + step) - model.means(theta - step)) / (2 * step * (high - low))
    pulls = np.bincount(arms, minlength=model.n_arms)
    return 2 * 1.959964 / math.sqrt(float((pulls * slopes**2 / variances).sum()))


def stitched_interval(model, arms, rewards, level=0.95):
    """Intersection over arms of stitched empirical-Bernstein sequences, read through inverses.

    A time-uniform bound per arm at alpha / K: the polynomial stitched bound of Howard, Ramdas,
    McAuliffe and Sekhon (2021) with eta = 2, s = 1.4 and m = 1, on the intrinsic time
    sum (x_i - mean before i)^2, for rewards in [0, 1].
    """
    zeta, s, eta = 3.105547, 1.4, 2.0
    a, b = model.domain
    alpha = (1 - level) / model.n_arms
    low, high = a, b
    for arm in range(model.n_arms):
        mine = np.array([r for k, r in zip(arms, rewards, strict=True) if k == arm])
        if mine.size == 0:
            continue
        before = np.concatenate([[0.5], np.cumsum(mine)[:-1] / np.arange(1, mine.size)])
        v = max(float(((mine - before) ** 2).sum()), 1.0)
        ell = s * math.log(math.log(eta * v)) + math.log(2 * zeta / (alpha * math.log(eta) ** s))
        k1 = (eta**0.25 + eta**-0.25) / math.sqrt(2)
        k2 = (math.sqrt(eta) + 1) / 2
        radius = (math.sqrt(k1**2 * v * ell + (k2 * ell) ** 2) + k2 * ell) / mine.size
        ends = sorted(
            float(model.invert(arm, x)) for x in (mine.mean() - radius, mine.mean() + radius)
        )
        low, high = max(low, ends[0]), min(high, ends[1])
    return low, high
