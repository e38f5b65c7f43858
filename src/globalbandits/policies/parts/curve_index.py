"""The index of one arm under Elastic, from the last fit and the arm's own rewards."""

import math

from globalbandits.policies import base
from globalbandits.policies.parts.curve_errors import EXCEPTION
from globalbandits.policies.parts.gittins import LOG, psi
from globalbandits.statistics import Statistics

NEGLIGIBLE = 1e-9  # weight of a scale that is left out of an index


def renew_index(setup: base.Setup, stats: Statistics, state: base.State, arm: int) -> None:
    """Posterior mean and index of one arm, from the last fit and its own rewards."""
    fit = state.fit
    count = stats.counts[arm]
    variance = state.noise.variances[arm]
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
        error = setup.prior.scales[i] * setup.prior.scales[i]
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
        bonus = psi(state.horizons[0] * variance_i / variance, LOG)
        index += weight * (mean_i + math.sqrt(variance_i) * bonus)
    if setup.exception > 0.0:
        chance = setup.exception
        rest = EXCEPTION
        if count > 0:
            chance = chance_of_exception(setup.exception, own - model, noise + spread)
            trust = EXCEPTION / (EXCEPTION + noise)
            rest = trust * noise
            model += trust * (own - model)
        if chance > 0.5:  # the arm is an exception: its curve says nothing any more
            mean = model
            index = model + math.sqrt(rest) * psi(state.horizons[0] * rest / variance, LOG)
        else:
            bonus = psi(chance * state.horizons[1] * rest / variance, LOG)
            index = max(index, model + math.sqrt(rest) * bonus)
    state.means[arm] = mean
    state.indices[arm] = index


def chance_of_exception(exception: float, surprise: float, spread: float) -> float:
    """How likely an arm's curve is badly wrong, now that its rewards are off by ``surprise``.

    Args:
        exception: how likely it was before any reward.
        surprise: mean reward minus what the model says of the arm.
        spread: the variance of that difference when the curve is not badly wrong.

    >>> low, high = chance_of_exception(0.01, 0.0, 0.01), chance_of_exception(0.01, 0.5, 0.01)
    >>> 0.0 < low < 0.01 < high < 1.0
    True
    """
    wide = spread + EXCEPTION
    log = 0.5 * math.log(spread / wide)
    log += 0.5 * surprise * surprise * (1.0 / spread - 1.0 / wide)
    odds = exception * math.exp(min(30.0, log))
    return odds / (1.0 - exception + odds)
