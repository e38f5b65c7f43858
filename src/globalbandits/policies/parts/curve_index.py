"""The index of one arm under Elastic, from the last fit and the arm's own rewards.

Whatever the fit says, the index of an arm with rewards lies between a floor and a ceiling. The
floor keeps an arm from being given up that may be better than its curve; the ceiling keeps an
arm from being played on that its own rewards speak against.
"""

import math

from globalbandits.policies import base
from globalbandits.policies.parts.curve_scan import EXCEPTION
from globalbandits.policies.parts.gittins import psi_log
from globalbandits.policies.parts.sandwich import (
    GENEROUS,
    LARGEST_VARIANCE,
    SURE,
    is_forced,
    own_bonus,
    squeeze,
    wide_variance,
)
from globalbandits.policies.parts.valuing import worth_within
from globalbandits.statistics import Statistics

NEGLIGIBLE = 1e-9  # weight of a scale that is left out of an index
FAR = 0.1  # variance of the error of an arm whose curve says nothing at all
RARE = 0.03  # share of the badly wrong curves that are of that kind
SMALL = 0.001  # variance of the error that the floor allows for


def renew_index(setup: base.Setup, stats: Statistics, state: base.State, arm: int) -> None:
    """Posterior mean and index of one arm, from the last fit and its own rewards."""
    fit = state.fit
    count = stats.counts[arm]
    variance = state.noise.variances[arm]
    relative = setup.prior.relative[arm]
    noise = 0.0
    own = 0.0
    if count > 0:
        noise = variance / count
        own = stats.sums[arm] / count
    mean = 0.0
    index = 0.0
    model = 0.0
    spread = 0.0
    for i in range(setup.prior.scales.shape[0]):
        weight = fit.scale_weights[i]
        if weight < NEGLIGIBLE:
            continue
        model_mean = fit.means[arm, i]
        model_variance = fit.variances[arm, i]
        error = setup.prior.scales[i] * setup.prior.scales[i] * relative
        trust = 0.0  # in the arm's own rewards
        rest = error
        if count > 0:
            trust = error / (error + noise)
            rest = trust * noise
        mean_i = (1.0 - trust) * model_mean + trust * own
        variance_i = rest + (1.0 - trust) * (1.0 - trust) * model_variance
        mean += weight * mean_i
        model += weight * model_mean
        spread += weight * (error + model_variance)
        bonus = psi_log(state.horizons[0] * variance_i / variance)
        index += weight * (mean_i + setup.eagerness * math.sqrt(variance_i) * bonus)
    if setup.exception > 0.0:
        surprise = own - model
        near = law_of_exception(count, surprise, noise, spread, EXCEPTION)
        far = law_of_exception(count, surprise, noise, spread, FAR)
        near_odds = setup.exception * (1.0 - RARE) * near[0]
        far_odds = setup.exception * RARE * far[0]
        both = near_odds + far_odds
        whole = 1.0 - setup.exception + both
        if both > 0.5 * whole:  # the arm is an exception: its curve says nothing any more
            law = near if near_odds > far_odds else far
            mean = model + law[1]
            index = mean + math.sqrt(law[2]) * psi_log(state.horizons[0] * law[2] / variance)
        else:
            for odds, law in ((near_odds, near), (far_odds, far)):
                often = odds / whole * state.horizons[1]
                gain = often * often / (1.0 + often * often)  # a lucky arm is not an exception yet
                centre = mean + gain * (model + law[1] - mean)
                bonus = math.sqrt(law[2]) * psi_log(often * law[2] / variance)
                index = max(index, centre + bonus)
    if count > 0 and setup.caution > 0.0:
        ahead = setup.caution * state.horizons[1]
        index = max(index, floor(model, own, noise, variance, ahead))
    low = 2.0 * mean - index  # as far below the mean as the index is above it
    rounds = state.horizons[2]
    if count > 0:
        wide = wide_variance(stats, arm, variance)
        most = own_bonus(wide, count, GENEROUS * rounds)
        index = min(index, own + most)
        low = max(low, own - most)
        if setup.proved and is_forced(rounds, SURE):
            least = own_bonus(LARGEST_VARIANCE, count, SURE * rounds)
            most = own_bonus(LARGEST_VARIANCE, count, GENEROUS * rounds)
            index = squeeze(index, own, least, most)
            low = -squeeze(-low, -own, least, most)
    state.means[arm] = mean
    state.indices[arm] = worth_within(setup.tables, arm, min(low, index), index)
    if setup.proved and count == 0 and is_forced(rounds, SURE):
        state.indices[arm] = math.inf


def floor(model: float, own: float, noise: float, variance: float, ahead: float) -> float:
    """What an arm is worth at least: its curve may be off by a little, whatever the fit says.

    Args:
        model: what the curve says.
        own: mean of the arm's rewards.
        noise: variance of that mean.
        variance: of one reward.
        ahead: rounds to look ahead, times the chance that the curve is off.
    """
    trust = SMALL / (SMALL + noise)
    rest = trust * noise
    return model + trust * (own - model) + math.sqrt(rest) * psi_log(ahead * rest / variance)


def law_of_exception(
    count: float, surprise: float, noise: float, spread: float, size: float
) -> tuple[float, float, float]:
    """An arm whose curve is off by an error of this variance: (odds, mean, variance).

    The odds are against a curve that is not badly wrong, as far as the arm's rewards tell; the
    mean is counted from what the curve says.

    Args:
        count: of the arm's rewards.
        surprise: their mean minus what the model says of the arm.
        noise: the variance of their mean.
        spread: of what the model says, where the curve is not badly wrong.
        size: of the error.

    >>> law_of_exception(0, 0.0, 0.0, 0.01, 0.015)
    (1.0, 0.0, 0.015)
    >>> odds, mean, variance = law_of_exception(5, 0.5, 0.01, 0.01, 0.015)
    >>> odds > 1.0, 0.0 < mean < 0.5, variance < 0.01
    (True, True, True)
    """
    if count == 0:
        return 1.0, 0.0, size
    narrow = noise + spread
    wide = narrow + size
    log = 0.5 * math.log(narrow / wide)
    log += 0.5 * surprise * surprise * (1.0 / narrow - 1.0 / wide)
    trust = size / (size + noise)
    return math.exp(min(30.0, log)), trust * surprise, trust * noise
