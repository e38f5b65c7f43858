"""Naive versions of the field's policies: every round from the whole history, by the formula.

They share no line with the package. A problem is a list of mean functions on a domain, with
rewards in [0, 1]; ties are broken by the package's convention, one draw only when there is one.
"""

import math

import numpy as np
from scipy import optimize, special, stats


class Problem:
    """Mean functions theta -> mean, one per arm, strictly monotone on [low, high]."""

    def __init__(self, functions, low=0.0, high=1.0):
        self.functions, self.low, self.high = list(functions), low, high
        self.n_arms = len(self.functions)

    def means(self, theta):
        return np.stack([np.broadcast_to(f(theta), np.shape(theta)) for f in self.functions], -1)

    def invert(self, arm, value):
        """argmin over theta of |mu_arm(theta) - value|, by root finding."""
        f = self.functions[arm]
        ends = sorted([self.low, self.high], key=f)
        if value <= f(ends[0]):
            return ends[0]
        if value >= f(ends[1]):
            return ends[1]
        return optimize.brentq(lambda x: f(x) - value, self.low, self.high, xtol=1e-14)

    def regions(self):
        """(arm, low, high) from a scan, edges refined by root finding."""
        grid = np.linspace(self.low, self.high, 20_001)
        best = self.means(grid).argmax(axis=1)
        cuts = np.flatnonzero(np.diff(best))
        edges = [
            optimize.brentq(
                lambda x, a=best[i], b=best[i + 1]: self.functions[a](x) - self.functions[b](x),
                grid[i],
                grid[i + 1],
                xtol=1e-15,
            )
            for i in cuts
        ]
        arms = [best[0], *best[cuts + 1]]
        return list(zip(arms, [self.low, *edges], [*edges, self.high], strict=True))


def pick(candidates, rng):
    """One of the candidates; a random number is drawn only if there are several."""
    if len(candidates) == 1:
        return int(candidates[0])
    return int(candidates[int(rng.random() * len(candidates))])


def largest(values, rng):
    values = np.asarray(values)
    return pick(np.flatnonzero(values == values.max()), rng)


class Naive:
    """Keeps the history; statistics are computed from it on request."""

    def __init__(self, problem):
        self.problem, self.n_arms = problem, problem.n_arms
        self.arms, self.rewards = [], []

    def update(self, arm, reward):
        self.arms.append(arm)
        self.rewards.append(reward)

    @property
    def t(self):
        """The current round."""
        return len(self.arms) + 1

    def counts(self):
        return np.bincount(self.arms, minlength=self.n_arms)

    def sums(self):
        return np.bincount(self.arms, weights=self.rewards, minlength=self.n_arms)

    def means(self):
        counts = self.counts()
        return np.divide(self.sums(), counts, out=np.zeros(self.n_arms), where=counts > 0)


class NaiveIndex(Naive):
    """Every arm once, the lowest first; then the largest index."""

    def __init__(self, problem, index):
        super().__init__(problem)
        self.index = index

    def select(self, rng):
        counts = self.counts()
        if counts.min() == 0:
            return int(counts.argmin())
        return largest(self.index(self), rng)


def ucb_tuned(history):
    n, log_t = history.counts(), math.log(history.t)
    squares = np.bincount(history.arms, weights=np.square(history.rewards))
    variance = squares / n - history.means() ** 2 + np.sqrt(2 * log_t / n)
    return history.means() + np.sqrt(log_t / n * np.minimum(0.25, variance))


def moss(history):
    n = history.counts()
    excess = np.maximum(0, np.log(history.t / (history.n_arms * n)))
    return history.means() + np.sqrt(excess / n)


def kl(p, q):
    return special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q)


def imed(history):
    n, means = history.counts(), history.means()
    return -(n * kl(means, means.max()) + np.log(n))


def learned_variances(history):
    """Own rewards, and five that vary by the share of m (1 - m) all arms show."""
    own = [np.array(history.rewards)[np.array(history.arms) == k] for k in range(history.n_arms)]
    guesses = [(4 * 0.5 + x.sum()) / (4 + len(x)) for x in own]
    seen = possible = 0.5
    for x in own:
        if len(x) >= 2:
            weight = min(1.0, 20.0 / (len(x) - 1))
            seen += weight * ((x - x.mean()) ** 2).sum()
            possible += weight * (len(x) - 1) * max(x.mean() * (1 - x.mean()), 0.001)
    share, variances = min(1.0, seen / possible), []
    for x, guess in zip(own, guesses, strict=True):
        between = np.clip(0.5, guess, max(guesses))  # the mean between that varies most
        variance = share * max(between * (1 - between), 0.001)
        if len(x) >= 2:
            variance = (5 * variance + ((x - x.mean()) ** 2).sum()) / (4 + len(x))
        variances.append(max(variance, 1e-5))
    return np.array(variances)


def learned_imed(history):
    n, means, v = history.counts(), history.means(), learned_variances(history)
    return -((n + 4) / 2 * np.log1p(n * (means.max() - means) ** 2 / v / (n + 4)) + np.log(n))


def student(mean, variance, n, rng):
    """One draw, the package's way: a Beta and a sign."""
    b = rng.beta(0.5, 0.5 * (n + 4))
    t = math.sqrt((n + 4) * b / (1 - b))
    return mean + math.sqrt(variance / n) * (-t if rng.random() < 0.5 else t)


class NaiveStudent(Naive):
    """Thompson sampling with learned variances."""

    def select(self, rng):
        n, means = self.counts(), self.means()
        if n.min() == 0:
            return int(n.argmin())
        v = learned_variances(self)
        return int(np.argmax([student(means[k], v[k], n[k], rng) for k in range(self.n_arms)]))


def kl_ucb(c=0.0):
    """The upper bound q as -log(1 - q), since early bounds differ from 1 by less than an ulp."""

    def index(history):
        log_t = math.log(history.t)
        budget = log_t + c * math.log(max(1.0, log_t))
        values = []
        for p, n in zip(history.means(), history.counts(), strict=True):

            def excess(y, p=p, n=n):
                cross = -special.xlogy(p, -math.expm1(-y)) + (1 - p) * y
                return n * (cross - special.entr(p) - special.entr(1 - p)) - budget

            y = -math.log1p(-p)
            values.append(optimize.brentq(excess, y, y + 50 + 50 / (1 - p), xtol=1e-15))
        return np.array(values)

    return index


class NaiveThompson(Naive):
    def select(self, rng):
        n, s = self.counts(), self.sums()
        return int(np.argmax([rng.beta(1 + s[k], 1 + n[k] - s[k]) for k in range(self.n_arms)]))


class NaiveWindow(Naive):
    """SW-UCB on the last rewards."""

    def __init__(self, problem, window, xi=0.6):
        super().__init__(problem)
        self.window, self.xi = window, xi

    def select(self, rng):
        arms, rewards = self.arms[-self.window :], self.rewards[-self.window :]
        n = np.bincount(arms, minlength=self.n_arms)
        if n.min() == 0:
            return int(n.argmin())
        means = np.bincount(arms, weights=rewards) / n
        return largest(means + np.sqrt(self.xi * math.log(min(self.t, self.window)) / n), rng)


class NaiveDiscount(Naive):
    """D-UCB with every weight computed afresh."""

    def __init__(self, problem, discount, xi=0.6):
        super().__init__(problem)
        self.discount, self.xi = discount, xi

    def select(self, rng):
        if self.counts().min() == 0:
            return int(self.counts().argmin())
        age = np.arange(len(self.arms))[::-1]
        weights = self.discount**age
        n = np.bincount(self.arms, weights=weights)
        means = np.bincount(self.arms, weights=weights * np.array(self.rewards)) / n
        return largest(means + 2 * np.sqrt(self.xi * math.log(weights.sum()) / n), rng)


class NaiveStructured(Naive):
    """The confidence set of UCB-S, UCB-C and TS-C as an interval, by root finding.

    Without a variance it is learned; ``factor`` then is that of the variance and log t.
    """

    def __init__(self, problem, factor, variance):
        super().__init__(problem)
        self.factor, self.variance = factor, variance
        self.regions = problem.regions()

    def radii(self):
        n = np.maximum(self.counts(), 1)
        if self.variance is not None:
            return np.sqrt(self.factor * math.log(self.t) / n)
        growth = self.t ** (self.factor / (n + 4.0)) - 1
        return np.sqrt((n + 4) * learned_variances(self) / n * growth)

    def interval(self):
        low, high = self.problem.low, self.problem.high
        radii = self.radii()
        for k, (n, mean) in enumerate(zip(self.counts(), self.means(), strict=True)):
            if n == 0:
                continue
            radius = radii[k]
            ends = [self.problem.functions[k](x) for x in (self.problem.low, self.problem.high)]
            if mean + radius < min(ends) or mean - radius > max(ends):
                return None
            pair = [self.problem.invert(k, mean - radius), self.problem.invert(k, mean + radius)]
            low, high = max(low, min(pair)), min(high, max(pair))
        return (low, high) if low <= high else None

    def competitive(self):
        interval = self.interval()
        if interval is None:
            return np.ones(self.n_arms, bool)
        low, high = interval
        best = [arm for arm, left, right in self.regions if left <= high and right >= low]
        return np.isin(np.arange(self.n_arms), best)


class NaiveUcbS(NaiveStructured):
    def select(self, rng):
        interval = self.interval()
        if interval is None:
            return int(rng.random() * self.n_arms)
        thetas = np.linspace(*interval, 101)
        return largest(self.problem.means(thetas).max(axis=0), rng)


class NaiveUcbC(NaiveStructured):
    def select(self, rng):
        n = self.counts()
        index = np.where(n > 0, self.means() + self.radii(), np.inf)
        return largest(np.where(self.competitive(), index, -np.inf), rng)


class NaiveTsC(NaiveStructured):
    def select(self, rng):
        n, means, competing = self.counts(), self.means(), np.flatnonzero(self.competitive())
        for k in competing:
            if n[k] == 0:
                return int(k)
        if self.variance is None:
            v = learned_variances(self)
            draws = [student(means[k], v[k], n[k], rng) for k in competing]
        else:
            draws = [means[k] + math.sqrt(self.variance / n[k]) * rng.normal() for k in competing]
        return int(competing[np.argmax(draws)])


class NaiveRidge(Naive):
    """Ridge regression solved anew each round; the radius is a function of V."""

    def __init__(self, problem, features, ridge, radius):
        super().__init__(problem)
        self.features, self.ridge, self.radius = np.asarray(features), ridge, radius

    def select(self, rng):
        u, n = self.features, self.counts()
        v = self.ridge * np.eye(u.shape[1]) + (u.T * n) @ u
        z = np.linalg.solve(v, u.T @ self.sums())
        width = np.sqrt(np.sum(u * np.linalg.solve(v, u.T).T, axis=1))
        return largest(u @ z + self.radius(v) * width, rng)


class NaiveLinearGreedy(Naive):
    def select(self, rng):
        if not self.arms:
            return int(rng.random() * self.n_arms)
        grid = np.linspace(self.problem.low, self.problem.high, 257)
        slopes, intercepts = np.polyfit(grid, self.problem.means(grid), 1)
        u, eta = slopes[self.arms], intercepts[self.arms]
        z = np.sum(u * (np.array(self.rewards) - eta)) / np.sum(u * u)
        z = min(max(z, self.problem.low), self.problem.high)
        return largest(intercepts + slopes * z, rng)


class NaiveGlm(Naive):
    """Quasi-likelihood by a general optimiser; the design's arms first."""

    def __init__(self, problem, features, design, rho, ridge=1e-3):
        super().__init__(problem)
        self.features, self.design, self.rho, self.ridge = features, list(design), rho, ridge
        self.start = np.zeros(features.shape[1])

    def select(self, rng):
        n, s, m = self.counts(), self.sums(), self.features
        for arm in self.design:
            if n[arm] == 0:
                return int(arm)

        def loss(b):
            x = m @ b
            value = np.sum(n * np.logaddexp(0, x) - s * x) + 0.5 * self.ridge * b @ b
            return value, m.T @ (n * special.expit(x) - s) + self.ridge * b

        found = optimize.minimize(loss, self.start, jac=True, method="BFGS", options={"gtol": 1e-8})
        self.start = found.x
        width = np.sqrt(np.sum(m * np.linalg.solve((m.T * n) @ m, m.T).T, axis=1))
        return largest(special.expit(m @ found.x) + self.rho(self.t) * width, rng)


class NaivePosterior(Naive):
    """A posterior on the whole grid, from densities of the library."""

    def __init__(self, problem, likelihood, cells):
        super().__init__(problem)
        self.likelihood = likelihood
        width = (problem.high - problem.low) / cells
        self.thetas = problem.low + width * (np.arange(cells) + 0.5)
        self.curves = problem.means(self.thetas)
        self.logs = np.zeros(cells)

    def update(self, arm, reward):
        super().update(arm, reward)
        m = self.curves[:, arm]
        if self.likelihood == "beta":
            self.logs += stats.beta.logpdf(reward, 1, (1 - m) / m)
        else:
            self.logs += reward * np.log(m) + (1 - reward) * np.log(1 - m)

    def posterior(self):
        return special.softmax(self.logs)


class NaiveGridGreedy(NaivePosterior):
    def select(self, rng):
        return largest(self.posterior() @ self.curves, rng)


class NaiveGridThompson(NaivePosterior):
    def select(self, rng):
        cell = np.searchsorted(np.cumsum(self.posterior()), rng.random(), side="right")
        return int(self.curves[min(cell, len(self.thetas) - 1)].argmax())


class NaiveIds(NaivePosterior):
    """Regrets and gains by the definition; the mixture by trying all pairs."""

    def regrets(self):
        return self.posterior() @ (self.curves.max(axis=1, keepdims=True) - self.curves)

    def gains(self):
        p, best = self.posterior(), self.curves.argmax(axis=1)
        overall = p @ self.curves
        gains = np.zeros(self.n_arms)
        for arm in np.unique(best):
            share = p[best == arm].sum()
            if share > 0:
                gains += share * (p[best == arm] @ self.curves[best == arm] / share - overall) ** 2
        return gains


def best_ratio(regrets, gains, n_chances=4001):
    """The least (mixed regret)**2 / (mixed gain) over pairs of arms and chances on a grid."""
    chances = np.linspace(0, 1, n_chances)[:, None, None]
    regret = chances * regrets[:, None] + (1 - chances) * regrets[None, :]
    gain = chances * gains[:, None] + (1 - chances) * gains[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(gain > 0, regret**2 / gain, np.where(regret > 0, np.inf, 0.0))
    return float(ratio.min())


class NaiveOssb(Naive):
    """Greedy at the parameter nearest to the means, on a fine grid with a local search."""

    def select(self, rng):
        if not self.arms:
            return int(rng.random() * self.n_arms)
        return largest(self.problem.means(self.estimate()), rng)

    def estimate(self):
        n, means = self.counts(), self.means()

        def distance(theta):
            return np.sum(n * kl(means, np.clip(self.problem.means(theta), 1e-12, 1 - 1e-12)), -1)

        grid = np.linspace(self.problem.low, self.problem.high, 401)
        near = distance(grid).argmin()
        bracket = grid[max(near - 1, 0)], grid[min(near + 1, 400)]
        return optimize.minimize_scalar(
            distance, bounds=bracket, method="bounded", options={"xatol": 1e-12}
        ).x


class NaiveRegional:
    """UCB-g: problems are groups; constants are (D1bar, g1bar, D2, g2) per group."""

    def __init__(self, problems, constants, alpha):
        self.groups = [Naive(problem) for problem in problems]
        self.constants, self.alpha = constants, alpha
        self.first = np.cumsum([0] + [problem.n_arms for problem in problems])

    def update(self, arm, reward):
        group = np.searchsorted(self.first, arm, side="right") - 1
        self.groups[group].update(arm - self.first[group], reward)

    def select(self, rng):
        t = sum(len(g.arms) for g in self.groups) + 1
        thetas, indices = [], []
        for group, (d1, g1, d2, g2) in zip(self.groups, self.constants, strict=True):
            n, total = group.counts(), len(group.arms)
            if total == 0:
                thetas.append(None)
                indices.append(np.inf)
                continue
            own = [group.problem.invert(k, m) for k, m in enumerate(group.means())]
            theta = np.sum(n * own) / total
            spread = self.alpha * group.n_arms * math.log(t) / total
            thetas.append(theta)
            indices.append(group.problem.means(theta).max() + d2 * (d1 * spread ** (g1 / 2)) ** g2)
        chosen = largest(indices, rng)
        if thetas[chosen] is None:
            return int(self.first[chosen] + int(rng.random() * self.groups[chosen].n_arms))
        means = self.groups[chosen].problem.means(thetas[chosen])
        return int(self.first[chosen] + largest(means, rng))


class NaiveEpsilon(Naive):
    def __init__(self, problem, epsilon):
        super().__init__(problem)
        self.epsilon = epsilon

    def select(self, rng):
        if self.counts().min() == 0:
            return int(self.counts().argmin())
        if rng.random() < self.epsilon:
            return int(rng.random() * self.n_arms)
        return largest(self.means(), rng)


class NaiveCommit(Naive):
    def __init__(self, problem, plays):
        super().__init__(problem)
        self.plays = plays

    def select(self, rng):
        exploration = self.plays * self.n_arms
        if len(self.arms) < exploration:
            return len(self.arms) % self.n_arms
        sums = np.bincount(self.arms[:exploration], weights=self.rewards[:exploration])
        return largest(sums, rng)


class NaiveFixed(Naive):
    def __init__(self, problem, arm):
        super().__init__(problem)
        self.arm = arm

    def select(self, rng):
        return self.arm


class NaiveUniform(Naive):
    def select(self, rng):
        return int(rng.random() * self.n_arms)
