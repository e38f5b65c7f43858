"""Elastic straight from its description: the whole grid, every formula in full, no memory.

Plain NumPy. Nothing is cached but the last fit, which the description itself keeps until the
next one; nothing is shared with the package but the nine scales and the numbers of the
description.
"""

import math

import numpy as np

SCALES = np.array([0, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32])
UNIFORM = np.ones(9) / 9
HALF_ON_ZERO = np.array([0.5] + [0.0625] * 8)
SLAB = 0.0625


def psi_brezzi_lai(x):
    if x <= 0.2:
        return math.sqrt(x / 2)
    if x <= 1:
        return 0.49 - 0.11 * x**-0.5
    if x <= 5:
        return 0.63 - 0.26 * x**-0.5
    if x <= 15:
        return 0.77 - 0.58 * x**-0.5
    return (2 * math.log(x) - math.log(math.log(x)) - math.log(16 * math.pi)) ** 0.5


def psi_log(x):
    return math.sqrt(math.log(1 + x**2 / 2))


class Elastic:
    """One learner; ``curves`` is (2000, n_arms), the means at the middles of 2,000 cells."""

    def __init__(self, curves, *, prior, exception, growth, patience, psi, by_scale):
        self.curves, self.prior, self.exception, self.growth = curves, prior, exception, growth
        self.patience, self.psi, self.by_scale = patience, psi, by_scale
        self.rewards = [[] for _ in range(curves.shape[1])]
        self.next_fit = 0
        self.fit()

    def update(self, arm, reward):
        self.rewards[arm].append(reward)
        t = sum(len(x) for x in self.rewards)
        if t >= self.next_fit:
            self.fit()
        else:
            self.v[arm] = self.variance(arm)
            self.index[arm] = self.score(arm)

    def fit(self):
        t = sum(len(x) for x in self.rewards)
        self.next_fit = t + 1 if t < 20 else max(t + 1, math.ceil(1.05 * t))
        arms = range(len(self.rewards))
        # 1. how noisy rewards are, relative to Bernoulli
        a = b = 0.5
        for x in self.rewards:
            if len(x) >= 2:
                a += np.sum((x - np.mean(x)) ** 2)
                b += (len(x) - 1) * max(np.mean(x) * (1 - np.mean(x)), 0.001)
        c = min(1, a / b)
        # 2. and 3. an arm's variance
        e = self.guess()
        q = np.maximum(e * (1 - e), e.max() * (1 - e.max()))
        q[(e < 0.5) & (e.max() > 0.5)] = 0.25
        self.pv = c * np.maximum(q, 0.001)
        self.v = np.array([self.variance(k) for k in arms])
        # 4. weights of (scale, theta)
        log = np.log(self.prior)[:, None] + np.zeros(len(self.curves))
        for k in arms:
            if self.rewards[k]:
                w = (SCALES**2 + self.v[k] / len(self.rewards[k]))[:, None]
                gap = np.mean(self.rewards[k]) - self.curves[:, k]
                log = log - gap**2 / (2 * w) - np.log(w) / 2
        weight = np.exp(log - log.max())
        # 5. moments
        self.p = weight.sum(axis=1) / weight.sum()
        self.given = given = weight / weight.sum(axis=1, keepdims=True)
        self.M = (given @ self.curves).T
        self.T = np.maximum((given @ self.curves**2).T - self.M**2, 0)
        self.H = self.patience * (t + 1)
        self.test_H = max(self.H, 1e4 * (self.H / 1e4) ** self.growth)
        self.index = np.array([self.score(k) for k in arms])

    def guess(self):
        """The arms' means at a glance: coins, at every 50th cell, at most 100 of an arm."""
        few = self.curves[25::50]
        log = np.zeros(len(few))
        for k, x in enumerate(self.rewards):
            if x:
                log -= min(100, len(x)) * (np.mean(x) - few[:, k]) ** 2 / (2 * 0.25)
        weight = np.exp(log - log.max())
        first = (weight / weight.sum()) @ few
        return np.array([np.mean([first[k]] * 4 + x) for k, x in enumerate(self.rewards)])

    def variance(self, k):
        x = self.rewards[k]
        if len(x) < 2:
            return max(self.pv[k], 1e-5)
        return max((20 * self.pv[k] + np.sum((x - np.mean(x)) ** 2)) / (19 + len(x)), 1e-5)

    def score(self, k):
        n, v, s2 = len(self.rewards[k]), self.v[k], SCALES**2
        if n == 0:
            mean, var = self.M[k], s2 + self.T[k]
        else:
            kap = s2 / (s2 + v / n)
            mean = (1 - kap) * self.M[k] + kap * np.mean(self.rewards[k])
            var = kap * v / n + (1 - kap) ** 2 * self.T[k]
        m = np.sum(self.p * mean)
        if self.by_scale:
            bonus = [math.sqrt(x) * self.psi(self.H * x / v) for x in var]
            index = np.sum(self.p * (mean + bonus))
        else:
            c2 = np.sum(self.p * (mean**2 + var)) - m**2
            index = m + math.sqrt(c2) * self.psi(self.H * c2 / v)
        if self.exception > 0:
            index = max(index, self.excepted(k))
        return index

    def excepted(self, k):
        n, v, z = len(self.rewards[k]), self.v[k], SLAB
        mp = np.sum(self.p * self.M[k])
        u = np.sum(self.p * (SCALES**2 + self.T[k]))
        if n == 0:
            return mp + math.sqrt(z) * self.psi(self.exception * self.test_H * z / v)
        xbar = np.mean(self.rewards[k])
        kap = z / (z + v / n)
        cc = kap * v / n
        ms = kap * xbar + (1 - kap) * mp
        v0 = v / n + u
        v1 = v0 + z
        log = 0.5 * math.log(v0 / v1) + 0.5 * (xbar - mp) ** 2 * (1 / v0 - 1 / v1)
        bf = self.exception * math.exp(min(30, log))
        pi = bf / (1 - self.exception + bf)
        return ms + math.sqrt(cc) * self.psi(pi * self.test_H * cc / v)
