"""Stopping rules for a run, computed from counts and sums on a grid of parameters.

A reward x of an arm with mean m has the likelihood ``m**x * (1 - m)**(1 - x)``, which is exact
for Bernoulli rewards. A rule uses one of two kinds of confidence:

- posterior: the posterior probability of a set of parameters, given a prior;
- anytime: a parameter is refuted once its likelihood is below ``1 - confidence`` times the mean
  likelihood under the prior. For rewards in [0, 1] with mean m the ratio of the likelihoods of m'
  and m is at most ``x m' / m + (1 - x)(1 - m') / (1 - m)``, whose expectation is 1. So by Ville's
  inequality the true parameter (of the grid) is ever refuted with probability at most
  ``1 - confidence``, at all times at once.

Numba compiles every function here but the last ones, which compute many runs at once.
"""

import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits.statistics import Statistics

# Reasons to stop; 0 means that the run continues. Only `reasons_to_stop` knows the last three.
TOO_HIGH, ONE_CONTENDER, DECISIONS, AT_RECOMMENDED, AT_ANY, PRECISE = 1, 2, 3, 4, 5, 6


class Stop(NamedTuple):
    """A stopping rule for one model."""

    constants: FloatArray  # (n_arms, n_cells) log(1 - m)
    slopes: FloatArray  # (n_arms, n_cells) log(m / (1 - m))
    log_prior: FloatArray  # (n_cells,) logarithms of weights that sum to 1
    too_high: IntArray  # (n_cells,) 1 where the watched arm's mean is above the limit
    # (n_cells,) weights of the probability above the limit: `too_high`, or more exact ones.
    above: FloatArray
    best: IntArray  # (n_cells,) the best arm; the first one of several
    logs: FloatArray  # (n_cells,) workspace for the log likelihoods
    masses: FloatArray  # (n_arms,) workspace for the arms' probabilities of being best
    watches: bool  # whether to stop when the watched arm is too high
    decides: bool  # whether to stop when only one arm can be best
    anytime: bool  # anytime confidence; otherwise posterior
    confidence: float
    decisions: int  # maximum number of decisions; 0 for no maximum
    after: int  # number of rewards before `watches` and `decides` apply
    contender_rewards: int  # number of rewards of the best arm before `decides` applies
    at_recommended: int  # maximum number of rewards of the recommended arm; 0 for no maximum
    at_any: int  # maximum number of rewards of an arm; 0 for no maximum
    precision: float  # largest width of a precise interval; 0 for none


NO_STOP = Stop(
    constants=np.zeros((1, 1)),
    slopes=np.zeros((1, 1)),
    log_prior=np.zeros(1),
    too_high=np.zeros(1, np.int64),
    above=np.zeros(1),
    best=np.zeros(1, np.int64),
    logs=np.zeros(1),
    masses=np.zeros(1),
    watches=False,
    decides=False,
    anytime=False,
    confidence=0.5,
    decisions=0,
    after=0,
    contender_rewards=0,
    at_recommended=0,
    at_any=0,
    precision=0.0,
)


def reason_to_stop(stop: Stop, stats: Statistics) -> int:
    """The reason to stop now, or 0. `TOO_HIGH` has priority."""
    total = stats.total[0]
    if (stop.watches or stop.decides) and total >= max(stop.after, 1):
        evidence = weigh(stop, stats)
        if stop.watches and is_too_high(stop, evidence):
            return TOO_HIGH
        if stop.decides:
            arm = decided_arm(stop, evidence)
            if arm >= 0 and stats.counts[arm] >= stop.contender_rewards:
                return ONE_CONTENDER
    if 0 < stop.decisions <= total:
        return DECISIONS
    return 0


def weigh(stop: Stop, stats: Statistics) -> float:
    """Fill `logs` and return the logarithm of the mean likelihood under the prior."""
    n_arms, n_cells = stop.constants.shape
    for cell in range(n_cells):
        stop.logs[cell] = 0.0
    for arm in range(n_arms):
        count, total = stats.counts[arm], stats.sums[arm]
        if count > 0:
            for cell in range(n_cells):
                stop.logs[cell] += (
                    count * stop.constants[arm, cell] + total * stop.slopes[arm, cell]
                )
    top = -np.inf
    for cell in range(n_cells):
        top = max(top, stop.logs[cell] + stop.log_prior[cell])
    mass = 0.0
    for cell in range(n_cells):
        mass += math.exp(stop.logs[cell] + stop.log_prior[cell] - top)
    return top + math.log(mass)


def is_refuted(stop: Stop, evidence: float, cell: int) -> bool:
    """Whether a parameter is refuted at anytime confidence."""
    return bool(evidence - stop.logs[cell] >= -math.log(1.0 - stop.confidence))


def is_too_high(stop: Stop, evidence: float) -> bool:
    """Whether the watched arm's mean is above the limit, at the rule's confidence."""
    mass = 0.0
    for cell in range(stop.logs.shape[0]):
        if stop.above[cell] != 0.0:
            density = math.exp(stop.logs[cell] + stop.log_prior[cell] - evidence)
            mass += stop.above[cell] * density
        if stop.anytime and stop.too_high[cell] == 0 and not is_refuted(stop, evidence, cell):
            return False
    return stop.anytime or mass >= stop.confidence


def decided_arm(stop: Stop, evidence: float) -> int:
    """Return the arm that is best at the rule's confidence; -1 if there is none."""
    for arm in range(stop.masses.shape[0]):
        stop.masses[arm] = 0.0
    left = -1
    for cell in range(stop.logs.shape[0]):
        arm = stop.best[cell]
        if stop.anytime:
            if not is_refuted(stop, evidence, cell):
                if left >= 0 and left != arm:
                    return -1
                left = arm
        else:
            stop.masses[arm] += math.exp(stop.logs[cell] + stop.log_prior[cell] - evidence)
    if stop.anytime:
        return int(left)
    likeliest = 0
    for arm in range(stop.masses.shape[0]):
        if stop.masses[arm] > stop.masses[likeliest]:
            likeliest = arm
    return likeliest if stop.masses[likeliest] >= stop.confidence else -1


def reasons_to_stop(
    stop: Stop, counts: FloatArray, sums: FloatArray, recommended: IntArray
) -> IntArray:
    """Return the reasons to stop of many runs at once, or 0; plain NumPy, not compiled.

    Args:
        stop: the rule.
        counts: rewards of every arm, (run, arm).
        sums: their sums.
        recommended: the arm that would be played next, (run,).
    """
    n_runs, totals = len(counts), counts.sum(axis=1)
    found = np.zeros(n_runs, np.int64)
    # The first reason that is noted stays.
    if stop.watches or stop.decides or stop.precision > 0.0:
        logs = counts @ stop.constants + sums @ stop.slopes
        joint = logs + stop.log_prior
        top = joint.max(axis=1, keepdims=True)
        evidence = top + np.log(np.exp(joint - top).sum(axis=1, keepdims=True))
        posterior = np.exp(joint - evidence)
        refuted = evidence - logs >= -math.log(1.0 - stop.confidence)
        late = totals >= max(stop.after, 1)
        if stop.watches:
            high = posterior @ stop.above >= stop.confidence
            if stop.anytime:
                high = np.all(refuted | (stop.too_high == 1), axis=1)
            _note(found, late & high, TOO_HIGH)
        if stop.decides:
            is_best = stop.best[:, np.newaxis] == np.arange(counts.shape[1])
            if stop.anytime:
                left = (~refuted).astype(np.float64) @ is_best > 0.0
                decided = left.sum(axis=1) == 1
                arms = left.argmax(axis=1)
            else:
                masses = posterior @ is_best
                arms = masses.argmax(axis=1)
                decided = masses.max(axis=1) >= stop.confidence
            enough = counts[np.arange(n_runs), arms] >= stop.contender_rewards
            _note(found, late & decided & enough, ONE_CONTENDER)
        if stop.precision > 0.0:
            _note(found, late & _is_precise(stop, posterior, recommended), PRECISE)
    if stop.at_recommended > 0:
        enough = counts[np.arange(n_runs), recommended] >= stop.at_recommended
        _note(found, enough & (recommended >= 0), AT_RECOMMENDED)
    if stop.at_any > 0:
        _note(found, counts.max(axis=1) >= stop.at_any, AT_ANY)
    if stop.decisions > 0:
        _note(found, totals >= stop.decisions, DECISIONS)
    return found


def _note(found: IntArray, holds: BoolArray, reason: int) -> None:
    found[holds & (found == 0)] = reason


def _is_precise(stop: Stop, posterior: FloatArray, recommended: IntArray) -> BoolArray:
    """Whether the central interval of the recommended arm's mean is narrow, for every run."""
    precise = np.zeros(len(posterior), np.bool_)
    tail = 0.5 * (1.0 - stop.confidence)
    for arm in np.unique(recommended[recommended >= 0]).tolist():
        runs = np.flatnonzero(recommended == arm)
        means = 1.0 - np.exp(stop.constants[arm])
        order = np.argsort(means)
        sums = np.cumsum(posterior[np.ix_(runs, order)], axis=1)
        first = (sums > tail).argmax(axis=1)
        last = (sums >= 1.0 - tail - 1e-12).argmax(axis=1)
        precise[runs] = means[order][last] - means[order][first] <= stop.precision
    return precise
