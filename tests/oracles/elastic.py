"""Elastic straight from its description: the whole grid, every formula in full, no memory.

Plain NumPy. Nothing is cached but the last fit, which the description itself keeps until the
next one, and how many rewards an arm had when its index was computed; nothing is shared with
the package but the nine scales and the numbers of the description.
"""

import math

import numpy as np

SCALES = np.array([0, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32])
LONG = np.array([0.8] + [0.025] * 8)
SHORT = np.array([0.8, 0.04, 0.04, 0.035, 0.03, 0.025, 0.02, 0.007, 0.003])
NEAR, FAR = 0.9, 0.1  # how often an exception is near or far from its curve
Z_FAR = 0.1
BADLY = 0.5  # the error in log-odds of a near exception
TESTED = (0.25, 0.5, 1)  # the errors in log-odds that a test looks for
SLIGHTLY = 0.127  # the error in log-odds that the floor allows for


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


def kl(x, p):
    """Divergence of Bernoulli rewards with mean x from those with mean p."""
    p = np.clip(p, 1e-4, 1 - 1e-4)
    successes = 0 if x == 0 else x * np.log(x / p)
    return successes + (0 if x == 1 else (1 - x) * np.log((1 - x) / (1 - p)))


def beyond(curves):
    """The curves, continued on tangents of their log-odds by up to 2, over one domain each side."""
    p = np.clip(curves, 1e-4, 1 - 1e-4)
    log_odds = np.log(p / (1 - p))
    slopes = 2016 / 20 * (log_odds[20] - log_odds[0]), 2016 / 20 * (log_odds[-1] - log_odds[-21])
    far = (np.arange(504) + 0.5)[:, None] / 504  # in lengths of the domain
    before = log_odds[0] + np.clip(-far[::-1] * slopes[0], -2, 2)
    after = log_odds[-1] + np.clip(far * slopes[1], -2, 2)
    return np.concatenate([1 / (1 + np.exp(-before)), curves, 1 / (1 + np.exp(-after))])


def variance_of_error(m, log_odds):
    """The square of what the mean m gains if its log-odds rise by so much."""
    odds = math.exp(log_odds) * m / (1 - m) if m < 1 else math.inf
    gain = 1 - m if m == 1 else odds / (1 + odds) - m
    if m * (1 - m) < 0.002:
        gain = 0.002 * math.expm1(log_odds) / (1 + m * math.expm1(log_odds))
    return gain**2


class Elastic:
    """One learner; ``curves`` is (2016, n_arms), the means at the middles of 2,016 cells.

    Outside of the domain there are 504 wider cells on either side.
    """

    def __init__(
        self,
        curves,
        *,
        horizon=None,
        exception=None,
        caution=None,
        prior=None,
        theta_prior=(1,),
        arm_errors=None,
        proved=False,
    ):
        self.proved = proved
        self.curves, self.T = beyond(curves), horizon
        self.K = curves.shape[1]
        short = 1 if horizon is None else min(1, horizon / 1e4)
        self.eager = 0.5 + 0.5 * short
        prior = short * LONG + (1 - short) * SHORT if prior is None else np.array(prior)
        self.prior = prior / sum(prior)
        self.pi = (0.12 * short if exception is None else exception) / self.K
        self.eps = (0.36 * short if caution is None else caution) / self.K
        part, m = np.array(theta_prior) / max(theta_prior), len(theta_prior)
        line = np.interp((np.arange(2016) + 0.5) / 2016, (np.arange(m) + 0.5) / m, part)
        line = np.maximum(1e-6, line)
        ends = [np.full(504, 4 * 0.01 * max(1e-6, part[end])) for end in (0, -1)]
        self.log_theta = np.log(np.concatenate([ends[0], line, ends[1]]))
        r = np.ones(self.K) if arm_errors is None else np.array(arm_errors)
        self.relative = r**2
        self.rewards = [[] for _ in range(self.K)]
        self.next_fit = 0
        self.fit()

    def update(self, arm, reward):
        self.rewards[arm].append(reward)
        t = sum(len(x) for x in self.rewards)
        if t >= self.next_fit:
            self.fit()
        elif len(self.rewards[arm]) >= 1.01 * self.renewed[arm]:
            self.v[arm] = self.variance(arm)
            self.index[arm] = self.score(arm)
            self.renewed[arm] = len(self.rewards[arm])

    def fit(self):
        t = sum(len(x) for x in self.rewards)
        self.next_fit = t + 1 if t < 20 else max(t + 1, math.ceil(1.07 * t))
        arms = range(self.K)
        # 1. how noisy rewards are, relative to Bernoulli
        a = b = 0.5
        for x in self.rewards:
            if len(x) >= 2:
                few = min(1, 20 / (len(x) - 1))
                a += few * np.sum((x - np.mean(x)) ** 2)
                b += few * (len(x) - 1) * max(np.mean(x) * (1 - np.mean(x)), 0.001)
        c = min(1, a / b)
        # 2. and 3. an arm's variance; errors are in proportion to m (1 - m)
        m, e = self.guess()
        self.root = 4 * np.maximum(m * (1 - m), 0.002)
        self.s2 = [SCALES**2 * self.relative[k] * self.root[k] ** 2 for k in arms]
        q = np.maximum(e * (1 - e), e.max() * (1 - e.max()))
        q[(e < 0.5) & (e.max() > 0.5)] = 0.25
        self.bound = np.maximum(q, 0.001)
        self.pv = c * self.bound
        self.doubt = 0.01 * math.log(1 + t)
        self.v = np.array([self.variance(k) for k in arms])
        self.z = [variance_of_error(x, BADLY) for x in m]
        self.z_floor = [variance_of_error(x, SLIGHTLY) for x in m]
        # 4. weights of (scale, theta), at most one arm being an exception
        log = np.log(self.prior)[:, None] + self.log_theta
        odds = np.zeros((self.K + 1, len(SCALES), len(self.curves)))
        for k in arms:
            if self.rewards[k]:
                w = (self.s2[k] + self.v[k] / len(self.rewards[k]))[:, None]
                square = self.square(k, self.curves[:, k])
                usual = -square / (2 * w) - np.log(w) / 2
                z = self.z[k]
                near = -square / (2 * (w + z)) - np.log(w + z) / 2
                gap = np.mean(self.rewards[k]) - self.curves[:, k]
                far = -(gap**2) / (2 * (w + Z_FAR)) - np.log(w + Z_FAR) / 2
                log = log + usual
                if self.pi > 0:
                    prior = math.log(self.pi / (1 - self.pi))
                    likelier = np.maximum(near + math.log(NEAR), far + math.log(FAR))
                    odds[k] = likelier - usual + prior
        log = log + odds.max(axis=0)
        weight = np.exp(log - log.max())
        # 5. moments
        self.p = weight.sum(axis=1) / weight.sum()
        self.given = given = weight / weight.sum(axis=1, keepdims=True)
        self.M = (given @ self.curves).T
        self.V = np.maximum((given @ self.curves**2).T - self.M**2, 0)
        # 6. how far to look ahead
        self.H = t + 1 if self.T is None else max(1, min(t + 1, self.T - t))
        self.t = t
        ahead = max(t + 1, 1e4 * ((t + 1) / 1e4) ** 0.75)
        self.HG = ahead if self.T is None else max(1, self.T - t)
        self.index = np.array([self.score(k) for k in arms])
        self.renewed = [len(x) for x in self.rewards]

    def guess(self):
        """The curves' and the arms' means: Bernoulli rewards, every 75th cell, at most 100 each."""
        few = self.curves[37::75]
        log = self.log_theta[37::75].copy()
        for k, x in enumerate(self.rewards):
            if x:
                p = np.clip(few[:, k], 1e-4, 1 - 1e-4)
                one = np.mean(x) * np.log(p) + (1 - np.mean(x)) * np.log(1 - p)
                log += min(100, len(x)) * one
        weight = np.exp(log - log.max())
        first = (weight / weight.sum()) @ few
        return first, np.array([np.mean([first[k]] * 4 + x) for k, x in enumerate(self.rewards)])

    def variance(self, k):
        x = self.rewards[k]
        own = np.sum((x - np.mean(x)) ** 2) if x else 0
        allowed = 0
        if len(x) >= 2:
            # The arm may vary more than the others: as much as its own rewards allow.
            coins = len(x) * np.mean(x) * (1 - np.mean(x))
            share = (self.doubt + own) / (self.doubt + coins * (1 - 1 / len(x)))
            allowed = min(1, share) * self.mixed(k, self.bound[k], coins)
        return max(self.mixed(k, self.pv[k], own), allowed)

    def mixed(self, k, expected, own):
        """The expected variance counts as five rewards, or more where successes are rare."""
        few, n = 5 / self.root[k], len(self.rewards[k])
        return max(expected if n < 2 else (few * expected + own) / (few - 1 + n), 1e-5)

    def square(self, k, mean):
        """The squared gap between an arm's rewards and a mean, as Bernoulli rewards see it."""
        x, n = np.mean(self.rewards[k]), len(self.rewards[k])
        return 2 * self.mixed(k, self.bound[k], n * x * (1 - x)) * kl(x, mean)

    def score(self, k):
        n, v, s2 = len(self.rewards[k]), self.v[k], self.s2[k]
        if n == 0:
            mean, var = self.M[k], s2 + self.V[k]
        else:
            kap = s2 / (s2 + v / n)
            mean = (1 - kap) * self.M[k] + kap * np.mean(self.rewards[k])
            var = kap * v / n + (1 - kap) ** 2 * self.V[k]
        bonus = [self.eager * math.sqrt(x) * psi_log(self.H * x / v) for x in var]
        index = np.sum(self.p * (mean + bonus))
        if self.pi > 0:
            kinds = self.excepted(k)
            if sum(q for _, q, _, _ in kinds) > 0.5:
                _, _, centre, rest = max(kinds)
                index = centre + math.sqrt(rest) * psi_log(self.H * rest / v)
            else:
                m = np.sum(self.p * mean)
                index = max(index, self.tested(k, m))
                if n > 0:
                    _, q, own, rest = kinds[1]
                    times = q * self.HG
                    if np.mean(self.rewards[k]) < np.sum(self.p * self.M[k]):
                        times *= min(1, self.root[k] * self.HG / 1e4)
                    centre = (m + times**2 * own) / (1 + times**2)
                    index = max(index, centre + math.sqrt(rest) * psi_log(times * rest / v))
        if n > 0:
            index = min(max(index, self.floor(k)), self.ceiling(k))
        return self.prove(k, index) if self.proved else index

    def tested(self, k, mean):
        """The worth of another arm at which the test of this one breaks even, by bisection."""
        n, x = len(self.rewards[k]), np.mean(self.rewards[k] or [0])
        m = min(max(np.sum(self.p * self.M[k]), 1e-4), 1 - 1e-4)
        coins = self.mixed(k, self.bound[k], n * x * (1 - x))
        share = coins / (self.v[k] / n + self.spread(k)) if n else 0
        gains = []
        for error in TESTED:
            p = 1 / (1 + math.exp(-math.log(m / (1 - m)) - error))
            log = share * (x * math.log(p / m) + (1 - x) * math.log((1 - p) / (1 - m)))
            odds = NEAR * self.pi / (1 - self.pi) / len(TESTED) * math.exp(min(30, log))
            gains.append((odds * self.HG * (1 - math.exp(-kl(m, p) * coins / self.v[k])), p))
        if n == 0:
            for p in (0.1, 0.3, 0.5, 0.7, 0.9):
                odds = FAR * self.pi / (1 - self.pi) / 5
                gains.append((odds * self.HG * (1 - math.exp(-kl(m, p) * coins / self.v[k])), p))
        low, high = mean, max(mean, 1)
        for _ in range(80):
            middle = (low + high) / 2
            gain = sum(weight * max(0, p - middle) for weight, p in gains)
            low, high = (middle, high) if gain > middle - mean else (low, middle)
        return low

    def spread(self, k):
        """Variance of the curve's mean with its common error."""
        return np.sum(self.p * (self.s2[k] + self.V[k]))

    def prove(self, k, index):
        """From round 10^4 on: a floor and a ceiling for any rewards in [0, 1], and a first play."""
        n, t = len(self.rewards[k]), self.t + 1
        if t < 1e4:
            return index
        if n == 0:
            return math.inf
        own, sd = np.mean(self.rewards[k]), 0.5 / math.sqrt(n)
        return min(max(index, own + sd * psi_log(1e-4 * t / n)), own + sd * psi_log(10 * t / n))

    def floor(self, k):
        if self.eps == 0:
            return -math.inf
        n, v, own = len(self.rewards[k]), self.v[k], np.mean(self.rewards[k])
        mp = np.sum(self.p * self.M[k])
        z = self.z_floor[k]
        r = z / (z + v / n)
        rest = r * v / n
        return mp + r * (own - mp) + math.sqrt(rest) * psi_log(self.eps * self.HG * rest / v)

    def ceiling(self, k):
        x = np.array(self.rewards[k])
        coins = self.mixed(k, self.bound[k], len(x) * x.mean() * (1 - x.mean()))
        v = self.v[k] * max(1, self.bound[k] / coins)
        v = max(v, (0.5 + np.sum((x - x.mean()) ** 2)) / (2 + len(x)))
        return x.mean() + math.sqrt(v / len(x)) * psi_log(10 * (self.t + 1) / len(x))

    def excepted(self, k):
        """Both kinds of exception: log odds, probability, mean and variance of the arm's mean."""
        n, v = len(self.rewards[k]), self.v[k]
        mp = np.sum(self.p * self.M[k])
        kinds = [(NEAR, self.z[k]), (FAR, Z_FAR)]
        if n == 0:
            return [(0, self.pi * share, mp, z) for share, z in kinds]
        own = np.mean(self.rewards[k])
        a = v / n + self.spread(k)
        square = self.square(k, mp)
        usual = normal_log(square, a)
        logs = [
            normal_log(square, a + self.z[k]) - usual,
            normal_log((own - mp) ** 2, a + Z_FAR) - usual,
        ]
        odds = [
            self.pi * share * math.exp(min(30, log))
            for log, (share, _) in zip(logs, kinds, strict=True)
        ]
        whole = 1 - self.pi + sum(odds)
        laws = []
        for log, o, (share, z) in zip(logs, odds, kinds, strict=True):
            r = z / (z + v / n)
            laws.append((log + math.log(share), o / whole, mp + r * (own - mp), r * v / n))
        return laws


def normal_log(square, variance):
    """Logarithm of a Normal density at a squared gap from its mean."""
    return -0.5 * math.log(2 * math.pi * variance) - square / (2 * variance)
