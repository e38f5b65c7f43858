"""The continual reassessment method, plainly: NumPy over all trials at once, nothing shared.

O'Quigley, Pepe and Fisher (1990) with the empiric model p_k**exp(theta), a normal prior of theta
on an interval, the posterior mean plugged in, cohorts, and no untried dose skipped.
"""

import numpy as np


class PlainCRM:
    """A design: `next_dose` for many trials at once.

    Args:
        skeleton: guesses of the doses' rates.
        target: the rate that is aimed at.
        sd: of the prior of theta, whose mean is 0.
        reach: theta lies in [-reach, reach].
        n_points: of the trapezoidal rule.
    """

    def __init__(self, skeleton, target, sd=1.34, reach=2.0, n_points=801):
        self.skeleton = np.asarray(skeleton)
        self.target = target
        self.theta = np.linspace(-reach, reach, n_points)
        self.rates = self.skeleton[:, None] ** np.exp(self.theta)  # (dose, point)
        self.prior = np.exp(-0.5 * (self.theta / sd) ** 2)
        self.prior[[0, -1]] /= 2  # ends count half in the trapezoidal rule

    def posterior_mean(self, treated, events):
        """Of theta; both arguments (trial, dose)."""
        logs = events @ np.log(self.rates) + (treated - events) @ np.log1p(-self.rates)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True)) * self.prior
        return weights @ self.theta / weights.sum(axis=1)

    def next_dose(self, treated, events, last):
        """The dose nearest to the target, at most one step from the last one."""
        theta = self.posterior_mean(treated, events)
        rates = self.skeleton ** np.exp(theta)[:, None]
        wanted = np.abs(rates - self.target).argmin(axis=1)
        return np.clip(wanted, np.maximum(last - 1, 0), last + 1)


def play(design, truth, n_trials, n_cohorts, size, rng):
    """Recommended doses, shape (trial,), and patients per dose, shape (trial, dose)."""
    truth = np.asarray(truth)
    treated = np.zeros((n_trials, truth.size))
    events = np.zeros((n_trials, truth.size))
    rows = np.arange(n_trials)
    dose = np.zeros(n_trials, int)
    for _ in range(n_cohorts):
        treated[rows, dose] += size
        events[rows, dose] += rng.binomial(size, truth[dose])
        dose = design.next_dose(treated, events, dose)
    return dose, treated
