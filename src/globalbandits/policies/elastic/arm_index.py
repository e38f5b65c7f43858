"""The index of one arm under Elastic, from the last fit and the arm's own rewards.

The index of an arm with rewards lies between a floor and a ceiling, for any fit. The floor keeps
an arm in play that may be better than its curve. The ceiling drops an arm whose own rewards are
bad.
"""

import math

from globalbandits.policies import base
from globalbandits.policies.elastic.curve_posterior import (
    FAR_SHARE,
    FAR_VARIANCE,
    MIN_CHANCE,
    NEAR_GROWTH,
    error_variance,
)
from globalbandits.policies.shared.gittins import (
    CEILING_LOOKAHEAD,
    LARGEST_VARIANCE,
    PROVED_CAUTION,
    cautious_variance,
    clamp,
    is_forced,
    own_bonus,
    psi_log,
)
from globalbandits.policies.shared.worth import worth_within
from globalbandits.statistics import Statistics

FAR_LOG_SHARE = math.log(FAR_SHARE / (1.0 - FAR_SHARE))  # relative to near exceptions
MAX_LOG_ODDS = 30.0
LONG_GAME_ROUNDS = 1e4
MIN_SCALE_WEIGHT = 1e-9  # a scale with a smaller weight is left out of an index
FLOOR_GROWTH = math.expm1(0.127)  # of the odds, by the error in log-odds that the floor allows for
# The errors in log-odds by which a test assumes that an exception is better than its curve, each
# with the same probability. The largest comes first.
TEST_LOG_ODDS = (1.0, 0.5, 0.25)


def update_index(setup: base.Setup, stats: Statistics, state: base.State, arm: int) -> None:
    """Compute posterior mean and index of one arm, from the last fit and its own rewards."""
    fit = state.fit
    # An arm whose context comes in some rounds only looks ahead to these.
    clock = share_of_rounds(state.fitted, arm, setup.tables.n_contexts)
    horizon, horizon_of_tests = clock * state.horizons[0], clock * state.horizons[1]
    count = stats.counts[arm]
    variance = state.noise.variances[arm]
    guess = fit.sketch.means[arm]
    relative = setup.prior.relative[arm] * fit.sketch.factors[arm]
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
        if weight < MIN_SCALE_WEIGHT:
            continue
        model_mean = fit.means[arm, i]
        model_variance = fit.variances[arm, i]
        error = setup.prior.scales[i] * setup.prior.scales[i] * relative
        trust = 0.0  # weight of the arm's own rewards
        rest = error
        if count > 0:
            trust = error / (error + noise)
            rest = trust * noise
        mean_i = (1.0 - trust) * model_mean + trust * own
        variance_i = rest + (1.0 - trust) * (1.0 - trust) * model_variance
        mean += weight * mean_i
        model += weight * model_mean
        spread += weight * (error + model_variance)
        bonus = psi_log(horizon * variance_i / variance)
        index += weight * (mean_i + setup.eagerness * math.sqrt(variance_i) * bonus)
    if setup.exception > 0.0:
        surprise = own - model
        gap = squared_gap(own, model, state.noise.bernoulli[arm])
        size = error_variance(guess, NEAR_GROWTH)
        near = law_of_exception(count, surprise, gap, gap, noise, spread, size)
        square = surprise * surprise
        far = law_of_exception(count, surprise, gap, square, noise, spread, FAR_VARIANCE)
        near_odds = setup.exception * (1.0 - FAR_SHARE) * math.exp(min(MAX_LOG_ODDS, near[0]))
        far_odds = setup.exception * FAR_SHARE * math.exp(min(MAX_LOG_ODDS, far[0]))
        both = near_odds + far_odds
        whole = 1.0 - setup.exception + both
        # The arm is probably the exception, so its curve is no longer used.
        if both > 0.5 * whole:
            law = near if near[0] - far[0] > FAR_LOG_SHARE else far
            mean = model + law[1]
            index = mean + math.sqrt(law[2]) * psi_log(horizon * law[2] / variance)
        else:
            ahead = horizon_of_tests
            bernoulli = state.noise.bernoulli[arm]
            odds = setup.exception * (1.0 - FAR_SHARE) / (1.0 - setup.exception)
            rewards = bernoulli / (noise + spread) if count > 0 else 0.0
            weight = odds * ahead * bernoulli / variance
            index = max(index, index_of_test(mean, model, own, rewards, weight))
            if count > 0 and surprise < 0.0:
                # Rewards below a curve near 0 agree with it: tests of the arm wait for long games.
                share = math.sqrt(fit.sketch.factors[arm])
                far_odds *= min(1.0, share * ahead / LONG_GAME_ROUNDS)
            often = far_odds / whole * ahead
            # Small odds count less than in proportion, because a few lucky rewards do not
            # make an arm an exception.
            gain = often * often / (1.0 + often * often)
            centre = mean + gain * (model + far[1] - mean)
            index = max(index, centre + math.sqrt(far[2]) * psi_log(often * far[2] / variance))
    if count > 0 and setup.caution > 0.0:
        ahead = setup.caution * horizon_of_tests
        size = error_variance(guess, FLOOR_GROWTH)
        index = max(index, floor(model, own, noise, variance, size, ahead))
    # The index mirrored at the mean: a lower bound at the same distance.
    low = 2.0 * mean - index
    rounds = clock * state.horizons[2]
    if count > 0:
        # Rare successes may be missing by chance, so that the arm seems to vary little. The
        # variance it would have as the best arm is then larger.
        missing = state.noise.bounds[arm] / state.noise.bernoulli[arm]
        wide = cautious_variance(stats, arm, variance * max(1.0, missing))
        most = own_bonus(wide, count, CEILING_LOOKAHEAD * rounds)
        index = min(index, own + most)
        low = max(low, own - most)
        if setup.proved and is_forced(rounds, PROVED_CAUTION):
            least = own_bonus(LARGEST_VARIANCE, count, PROVED_CAUTION * rounds)
            most = own_bonus(LARGEST_VARIANCE, count, CEILING_LOOKAHEAD * rounds)
            index = clamp(index, own, least, most)
            low = -clamp(-low, -own, least, most)
    state.means[arm] = mean
    state.indices[arm] = worth_within(setup.tables, arm, min(low, index), index)
    if setup.proved and count == 0 and is_forced(rounds, PROVED_CAUTION):
        state.indices[arm] = math.inf


def index_of_test(mean: float, model: float, own: float, rewards: float, ahead: float) -> float:
    """Return the index of an arm that may be better than its curve by one of a few errors.

    Let an arm of mean m be better by an error that gives it the mean p, with odds q, and let the
    best other arm have the mean x. Testing the arm costs ``x - m`` a reward if its curve is right,
    and gains ``h (p - x)`` over h rounds if it is not. A reward has the information d = kl(m, p).
    In the limit of many rewards with little information each, the sequential test with the least
    expected cost goes on while ``q d h (p - x) > x - m``. The index is the x at which both sides
    are equal, with a sum over the errors with p > x on the left. The odds q follow from the
    likelihood of Bernoulli rewards.

    Args:
        mean: the posterior mean of the arm.
        model: the mean by the curve.
        own: the mean of the arm's rewards.
        rewards: the number of Bernoulli rewards with the same information about the curve's error.
        ahead: rounds to look ahead, times the prior odds of an exception, times the information
            of a reward relative to a Bernoulli reward.

    >>> index_of_test(0.03, 0.03, 0.0, 0.0, 0.0)
    0.03
    >>> first = index_of_test(0.03, 0.03, 0.0, 0.0, 100.0)
    >>> 0.03 < index_of_test(0.03, 0.03, 0.0, 50.0, 100.0) < first < 0.077
    True
    """
    chance = min(max(model, MIN_CHANCE), 1.0 - MIN_CHANCE)
    index = mean
    weighted = mean
    total = 1.0
    for error in TEST_LOG_ODDS:
        growth = math.expm1(error)
        odds = 1.0 + chance * growth
        # The logarithm of the likelihood ratio of one reward is reward * error - log(odds).
        log = math.log(odds)
        nats = min(MAX_LOG_ODDS, rewards * (own * error - log))
        weight = ahead / len(TEST_LOG_ODDS) * math.exp(nats) * (log - chance * error)
        weighted += weight * chance * (1.0 + growth) / odds
        total += weight
        # The smaller errors count only if they are above the index.
        index = max(index, weighted / total)
    return index


def share_of_rounds(stats: Statistics, arm: int, n_contexts: int) -> float:
    """Return the share of the rounds in which the arm's context came; 1 without contexts.

    One more round of every context is counted, so that no share is 0.
    """
    if n_contexts == 1:
        return 1.0
    n_arms = stats.counts.shape[0] // n_contexts
    first = arm // n_arms * n_arms
    n_rewards = 1.0
    for other in range(first, first + n_arms):
        n_rewards += stats.counts[other]
    return float(n_rewards / (stats.total[0] + n_contexts))


def floor(
    model: float, own: float, noise: float, variance: float, size: float, ahead: float
) -> float:
    """Return the smallest index of an arm, for a curve that may be slightly wrong.

    Args:
        model: the mean by the curve.
        own: the mean of the arm's rewards.
        noise: the variance of that mean.
        variance: the variance of one reward.
        size: the variance of the curve's error.
        ahead: rounds to look ahead, times the probability that the curve is wrong.
    """
    trust = size / (size + noise)
    rest = trust * noise
    return model + trust * (own - model) + math.sqrt(rest) * psi_log(ahead * rest / variance)


def squared_gap(own: float, model: float, bernoulli: float) -> float:
    """Return the squared gap between two means, measured by the divergence of Bernoulli rewards.

    >>> round(squared_gap(0.5, 0.6, 0.25), 4), round(squared_gap(0.0, 0.03, 0.03), 5)
    (0.0102, 0.00183)
    """
    chance = min(max(model, MIN_CHANCE), 1.0 - MIN_CHANCE)
    divergence = 0.0
    if own > 0.0:
        divergence += own * math.log(own / chance)
    if own < 1.0:
        divergence += (1.0 - own) * math.log((1.0 - own) / (1.0 - chance))
    return 2.0 * bernoulli * divergence


def law_of_exception(
    count: float,
    surprise: float,
    gap: float,
    square: float,
    noise: float,
    spread: float,
    size: float,
) -> tuple[float, float, float]:
    """Return the law of an arm whose curve has an error of this variance.

    The result is (log odds, mean, variance). The odds are the likelihood ratio of the arm's
    rewards against a curve that is not badly wrong. The mean is relative to the curve.

    Args:
        count: number of the arm's rewards.
        surprise: their mean minus the model's mean.
        gap: the squared gap between the two, if the curve is not badly wrong.
        square: the same for an exception.
        noise: variance of their mean.
        spread: variance of the model's mean, if the curve is not badly wrong.
        size: variance of the error.

    >>> law_of_exception(0, 0.0, 0.0, 0.0, 0.0, 0.01, 0.015)
    (0.0, 0.0, 0.015)
    >>> odds, mean, variance = law_of_exception(5, 0.5, 0.25, 0.25, 0.01, 0.01, 0.015)
    >>> odds > 0.0, 0.0 < mean < 0.5, variance < 0.01
    (True, True, True)
    """
    if count == 0:
        return 0.0, 0.0, size
    narrow = noise + spread
    wide = narrow + size
    log = 0.5 * math.log(narrow / wide)
    log += 0.5 * (gap / narrow - square / wide)
    trust = size / (size + noise)
    return log, trust * surprise, trust * noise
