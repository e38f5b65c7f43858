"""The continual reassessment method in plain NumPy over all trials, without code of the package.

O'Quigley, Pepe and Fisher (1990) with the empiric model p_k**exp(theta), a normal prior of theta
on an interval, the posterior mean plugged in, cohorts, one step up at most, and none straight after
a cohort whose rate of events reaches the target.
"""

import numpy as np


class PlainCRM:
    """A design: `next_dose` for many trials at once.

    Args:
        skeleton: guesses of the doses' rates.
        target: the target rate of events.
        variance: of the prior of theta, whose mean is 0.
        reach: theta lies in [-reach, reach].
        n_points: of the trapezoidal rule.
        intercept: of the logistic model; None for the empiric one.
    """

    def __init__(self, skeleton, target, variance=1.34, reach=6.0, n_points=2401, intercept=None):
        self.skeleton = np.asarray(skeleton)
        self.target, self.intercept = target, intercept
        self.theta = np.linspace(-reach, reach, n_points)
        # (dose, point); rates of exactly 0 or 1 would have an infinite logarithm.
        self.rates = np.clip(self.rates_at(self.theta), 1e-300, 1 - 1e-16)
        self.prior = np.exp(-0.5 * self.theta**2 / variance)
        self.prior[[0, -1]] /= 2  # ends count half in the trapezoidal rule

    def rates_at(self, theta):
        """Of the doses; shape (dose, parameter)."""
        guess = self.skeleton[:, None]
        if self.intercept is None:
            return guess ** np.exp(theta)
        dose = np.log(guess / (1 - guess)) - self.intercept
        # 1 / (1 + exp(-x)), without overflow.
        return 0.5 * (1 + np.tanh(0.5 * (self.intercept + np.exp(theta) * dose)))

    def posterior_mean(self, treated, events):
        """Of theta; both arguments (trial, dose)."""
        logs = events @ np.log(self.rates) + (treated - events) @ np.log1p(-self.rates)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True)) * self.prior
        return weights @ self.theta / weights.sum(axis=1)

    def wish(self, treated, events):
        """The dose whose rate at the posterior mean is nearest to the target."""
        rates = self.rates_at(self.posterior_mean(treated, events))
        return np.abs(rates - self.target).argmin(axis=0)

    def next_dose(self, treated, events, last, n_new, size):
        """One step up at most, and none after a cohort whose rate reaches the target."""
        coherent = last + (n_new / size < self.target)
        return np.minimum(self.wish(treated, events), coherent)


def play(design, truth, n_trials, n_cohorts, size, rng):
    """Recommended doses, shape (trial,), and patients per dose, shape (trial, dose)."""
    truth = np.asarray(truth)
    treated = np.zeros((n_trials, truth.size))
    events = np.zeros((n_trials, truth.size))
    rows = np.arange(n_trials)
    dose = np.zeros(n_trials, int)
    for _ in range(n_cohorts):
        new = rng.binomial(size, truth[dose])
        treated[rows, dose] += size
        events[rows, dose] += new
        dose = design.next_dose(treated, events, dose, new, size)
    # The recommended dose has been given.
    rates = design.rates_at(design.posterior_mean(treated, events)).T
    distance = np.where(treated > 0, np.abs(rates - design.target), np.inf)
    return distance.argmin(axis=1), treated
