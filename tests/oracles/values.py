"""Naive policies with a value: worth is computed on a fine grid of means, and by the formula.

They share no line with the package. ``value(mean, arm)`` takes arrays of means; worth is mapped to
[0, 1] by its smallest and largest number over all arms and means, as the package does.
"""

import math

import numpy as np

from tests.oracles.published_policies import Naive, NaiveIndex, NaiveStructured, kl, largest

FINE = np.linspace(0.0, 1.0, 20_001)
TIE = 1e-9  # how much of the worth of an interval's middle counts


class Worths:
    """What means are worth, on the unit scale of worth."""

    def __init__(self, value, n_arms):
        self.value = value
        self.table = np.array([value(FINE, arm) for arm in range(n_arms)])
        self.low, self.high = self.table.min(), self.table.max()
        self.table = (self.table - self.low) / (self.high - self.low)

    def of(self, arm, mean):
        mean = np.clip(mean, 0.0, 1.0)
        return (self.value(np.asarray(mean), arm) - self.low) / (self.high - self.low)

    def most(self, arm, low, high):
        """The largest worth of a mean in an interval, and a little of its middle's."""
        inside = self.table[arm][(low <= FINE) & (high >= FINE)]
        ends = self.of(arm, low), self.of(arm, high)
        return max(*ends, inside.max(initial=0.0)) + TIE * self.of(arm, 0.5 * (low + high))


def around_means(worths, radius):
    """The index of a policy whose interval is the mean, give or take ``radius(history)``."""

    def index(history):
        means, radii = history.means(), radius(history)
        ends = zip(means - radii, means + radii, strict=True)
        return [worths.most(arm, low, high) for arm, (low, high) in enumerate(ends)]

    return index


def ucb1_radius(history):
    return np.sqrt(2 * math.log(history.t - 1) / history.counts())


def moss_radius(history):
    n = history.counts()
    return np.sqrt(np.maximum(0, np.log(history.t / (history.n_arms * n))) / n)


def kl_ucb(worths):
    """Means that are not too unlikely: the ends of the interval by halving."""

    def end(mean, far, budget):
        near = mean
        for _ in range(80):
            middle = 0.5 * (near + far)
            near, far = (middle, far) if kl(mean, middle) <= budget else (near, middle)
        return near

    def index(history):
        budgets = math.log(history.t) / history.counts()
        pairs = enumerate(zip(history.means(), budgets, strict=True))
        return [worths.most(arm, end(p, 0.0, b), end(p, 1.0, b)) for arm, (p, b) in pairs]

    return index


def imed(worths):
    """How surprising it would be that an arm's mean is worth as much as the best one's."""

    def index(history):
        n, means = history.counts(), history.means()
        own = np.array([worths.of(arm, mean) for arm, mean in enumerate(means)])
        values = []
        for arm, mean in enumerate(means):
            good = FINE[worths.table[arm] >= own.max()]
            least = 0.0 if own[arm] >= own.max() else kl(mean, good).min(initial=math.inf)
            values.append(-(n[arm] * least + math.log(n[arm])))
        return values

    return index


class NaiveThompson(Naive):
    def __init__(self, problem, worths):
        super().__init__(problem)
        self.worths = worths

    def select(self, rng):
        n, s = self.counts(), self.sums()
        draws = [rng.beta(1 + s[k], 1 + n[k] - s[k]) for k in range(self.n_arms)]
        return int(np.argmax([self.worths.of(k, draw) for k, draw in enumerate(draws)]))


class NaiveUcbS(NaiveStructured):
    """The arm that is worth most at some parameter of the confidence set."""

    def __init__(self, problem, worths, factor, variance):
        super().__init__(problem, factor, variance)
        self.worths = worths

    def select(self, rng):
        interval = self.interval()
        if interval is None:
            return int(rng.random() * self.n_arms)
        ends = [sorted(f(theta) for theta in interval) for f in self.problem.functions]
        return largest([self.worths.most(arm, *pair) for arm, pair in enumerate(ends)], rng)


class NaiveWagp(Naive):
    """The arm that is worth most at the weighted average of the arms' own parameters."""

    def __init__(self, problem, worths):
        super().__init__(problem)
        self.worths = worths

    def select(self, rng):
        if not self.arms:
            return int(rng.random() * self.n_arms)
        n, means = self.counts(), self.means()
        seen = np.flatnonzero(n)
        theta = sum(n[k] * self.problem.invert(k, means[k]) for k in seen) / n.sum()
        functions = enumerate(self.problem.functions)
        return largest([self.worths.of(arm, f(theta)) for arm, f in functions], rng)


ORACLES = {
    "ucb1": lambda p, w: NaiveIndex(p, around_means(w, ucb1_radius)),
    "moss": lambda p, w: NaiveIndex(p, around_means(w, moss_radius)),
    "kl_ucb": lambda p, w: NaiveIndex(p, kl_ucb(w)),
    "imed": lambda p, w: NaiveIndex(p, imed(w)),
    "thompson_sampling": NaiveThompson,
    "ucb_s": lambda p, w: NaiveUcbS(p, w, 0.75, 0.25),
    "wagp": NaiveWagp,
}
