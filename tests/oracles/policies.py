"""The paper's policies, naively: straight from the pseudocode, everything recomputed each step.

No table, no envelope, no incremental update: inverses are found by bracketing on the mean
function itself, the best arm is the argmax over all arms, least squares is solved anew. Means
are plain functions of a number. Ties are broken as in the package: among the tied arms in
order of index, one draw ``int(rng.random() * n)``, none without a tie.
"""

import itertools
import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import lambertw


def nearest_parameter(mean, value, domain):
    """argmin over theta of |mean(theta) - value| for a monotone mean."""
    low, high = domain
    gap_low, gap_high = mean(low) - value, mean(high) - value
    if gap_low * gap_high >= 0.0:
        return low if abs(gap_low) <= abs(gap_high) else high
    return brentq(lambda theta: mean(theta) - value, low, high, xtol=1e-15, rtol=1e-15)


def argmax_random(values, rng):
    top = max(values)
    tied = [k for k, value in enumerate(values) if value == top]
    return tied[int(rng.random() * len(tied))] if len(tied) > 1 else tied[0]


def weighted_estimate(means, domain, observations):
    """Lines 10 to 15 of Algorithm 1, from a list of (arm, reward)."""
    counts, sums = [0] * len(means), [0.0] * len(means)
    for arm, reward in observations:
        counts[arm] += 1
        sums[arm] += reward
    return estimate_from(means, domain, counts, sums)


def estimate_from(means, domain, counts, sums):
    total = sum(counts)
    theta = 0.0
    for mean, n, s in zip(means, counts, sums, strict=True):
        if n > 0:
            theta += n / total * nearest_parameter(mean, s / n, domain)
    return theta


class Oracle:
    """Counts and sums per arm, which is all that most policies are a function of."""

    def __init__(self, means, domain):
        self.means = means
        self.domain = domain
        self.counts = [0] * len(means)
        self.sums = [0.0] * len(means)

    def update(self, arm, reward):
        self.counts[arm] += 1
        self.sums[arm] += reward

    @property
    def n(self):
        return sum(self.counts)

    def estimate(self):
        return estimate_from(self.means, self.domain, self.counts, self.sums)

    def greedy(self, theta, rng):
        return argmax_random([mean(theta) for mean in self.means], rng)

    def ucb1(self, rng):
        bonus = 2.0 * math.log(self.n)
        pairs = zip(self.counts, self.sums, strict=True)
        return argmax_random([s / n + math.sqrt(bonus / n) for n, s in pairs], rng)


class WAGP(Oracle):
    def select(self, rng):
        if self.n == 0:
            return int(rng.random() * len(self.means))
        return self.greedy(self.estimate(), rng)


class UCB1(Oracle):
    def select(self, rng):
        if 0 in self.counts:
            return self.counts.index(0)
        return self.ucb1(rng)


class BUW(Oracle):
    """Algorithm 2, with C2 by Lambert's W and the radius printed in the algorithm."""

    def __init__(self, means, domain, inverse_constant, inverse_exponent):
        super().__init__(means, domain)
        self.coefficient = inverse_constant * len(means)
        self.exponent = inverse_exponent
        self.edges = envelope_edges(means, domain)
        self.phases = []

    def select(self, rng):
        if 0 in self.counts:
            return self.counts.index(0)
        t = self.n + 1
        theta = self.estimate()
        radius = self.coefficient * (math.log(t - 1) / (t - 1)) ** (self.exponent / 2.0)
        safe = max(0.0, suboptimality_distance(self.edges, self.domain, theta) - radius)
        waits = t < self.waiting_time(safe)
        self.phases.append("UCB1" if waits else "WAGP")
        return self.ucb1(rng) if waits else self.greedy(theta, rng)

    def waiting_time(self, distance):
        if distance == 0.0:
            return math.inf
        return waiting_time((self.coefficient / distance) ** (2.0 / self.exponent))


def waiting_time(factor):
    """Largest root of tau = A log tau, rounded up: ceil(A glog A), glog x = -W_{-1}(-1/x)."""
    if factor < math.e:
        return 1
    return math.ceil(factor * -lambertw(-1.0 / factor, -1).real)


def envelope_edges(means, domain, n_points=1001):
    """Parameters at which the best arm changes: crossings of all pairs that lie on top."""
    grid = np.linspace(*domain, n_points).tolist()
    edges = set()
    for i, first in enumerate(means):
        for second in means[:i]:
            for low, high in itertools.pairwise(grid):
                gaps = first(low) - second(low), first(high) - second(high)
                if gaps[0] * gaps[1] < 0.0 or gaps[1] == 0.0 < abs(gaps[0]):
                    at = brentq(lambda x, f=first, g=second: f(x) - g(x), low, high, xtol=1e-15)
                    if first(at) >= max(mean(at) for mean in means) - 1e-12:
                        edges.add(at)
    return sorted(edges)


def suboptimality_distance(edges, domain, theta):
    """Definition 3 for one best arm: how far to the nearest edge of its region."""
    if not edges:
        return domain[1] - domain[0]
    return min(abs(theta - edge) for edge in edges)


class NonStationaryWAGP:
    """The schedule as it is written: rho = (t - 1) // h, observations after (rho - 1) h."""

    def __init__(self, means, domain, half_window):
        self.means = means
        self.domain = domain
        self.half_window = half_window
        self.history = []

    def update(self, arm, reward):
        self.history.append((arm, reward))

    def window(self):
        """Observations s with max(0, (rho - 1) h) < s <= t - 1; they are numbered from 1."""
        t = len(self.history) + 1
        rho = (t - 1) // self.half_window
        return self.history[max(0, (rho - 1) * self.half_window) :]

    def estimate(self):
        return weighted_estimate(self.means, self.domain, self.window())

    def select(self, rng):
        if not self.history:
            return int(rng.random() * len(self.means))
        theta = self.estimate()
        return argmax_random([mean(theta) for mean in self.means], rng)


class UncertaintyEllipsoid:
    """Ordinary least squares by its normal equations, on the features as they are given."""

    def __init__(self, features, design, scale=1.0):
        self.features = np.asarray(features, dtype=float)
        self.design = list(design)
        n, r = self.features.shape
        start = self.features[self.design]
        smallest = np.linalg.eigvalsh(start.T @ start)[0]
        ubar2 = (self.features**2).sum(axis=1).max()
        kappa = 2.0 * math.sqrt(1.0 + math.log(1.0 + 36.0 * ubar2 / smallest))
        self.alpha = scale * 4.0 * 0.5 * kappa**2
        self.counts, self.sums = np.zeros(n), np.zeros(n)
        self.r = r

    def update(self, arm, reward):
        self.counts[arm] += 1
        self.sums[arm] += reward

    def select(self, rng):
        for arm in self.design:
            if self.counts[arm] == 0:
                return arm
        return argmax_random(self.indices().tolist(), rng)

    def indices(self):
        u, log_t = self.features, math.log(self.counts.sum())
        inverse = np.linalg.inv((u.T * self.counts) @ u)
        z = inverse @ (u.T @ self.sums)
        bonus = self.alpha * math.sqrt(log_t) * math.sqrt(min(self.r * log_t, len(u)))
        return u @ z + bonus * np.sqrt(np.einsum("ki,ij,kj->k", u, inverse, u))
