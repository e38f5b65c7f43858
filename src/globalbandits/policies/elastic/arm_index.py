"""The index of one arm under Elastic, from the last fit and the arm's own rewards.

The index of an arm with rewards lies between a floor and a ceiling, for any fit. The floor keeps
an arm in play that may be better than its curve. The ceiling drops an arm whose own rewards are
bad.
"""

import math
from typing import NamedTuple

from globalbandits.model.tables import Tables
from globalbandits.model.vector_tables import VectorTables
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
from globalbandits.policies.shared.worth import worth_of, worth_within
from globalbandits.statistics import Statistics

FAR_LOG_SHARE = math.log(FAR_SHARE / (1.0 - FAR_SHARE))  # relative to near exceptions
MAX_LOG_ODDS = 30.0
LONG_GAME_ROUNDS = 1e4
MIN_SCALE_WEIGHT = 1e-9  # a scale with a smaller weight is left out of an index
FLOOR_GROWTH = math.expm1(0.127)  # of the odds, by the error in log-odds that the floor allows for
# Of the errors of one size for all means that a second floor allows for.
FLAT_FLOOR_VARIANCE = 0.001
# The errors in log-odds by which a test assumes that an exception is better than its curve, each
# with the same probability.
TEST_LOG_ODDS = (1.0, 0.5, 0.25)
# The means of an arm whose curve carries no information, each with the same probability.
FAR_MEANS = (0.1, 0.3, 0.5, 0.7, 0.9)


class Arm(NamedTuple):
    """What an arm's rewards and the last fit say about its mean."""

    n_rewards: int
    own: float  # mean of the rewards; 0 without any
    noise: float  # variance of that mean
    variance: float  # of one reward
    bernoulli: float  # the same for Bernoulli rewards
    guess: float  # first guess of the curve's mean
    root: float  # 4 m (1 - m) at this guess
    model: float  # mean by the curve
    spread: float  # variance of that mean, with the common error of the curves
    mean: float  # posterior mean
    bonus: float  # of the Gittins index
    excepted: bool  # whether the curve is probably badly wrong and no longer used
    far_share: float  # probability that the curve carries no information


def update_index(setup: base.Setup, stats: Statistics, state: base.State, arm: int) -> None:
    """Compute posterior mean and index of one arm, from the last fit and its own rewards."""
    # An arm whose context comes in some rounds only looks ahead to these.
    clock = state.shares[arm * state.shares.shape[0] // stats.counts.shape[0]]
    law = law_of_arm(setup, stats, state, arm, clock * state.horizons[0])
    state.means[arm] = law.mean
    rounds = clock * state.horizons[2]
    if setup.proved and law.n_rewards == 0 and is_forced(rounds, PROVED_CAUTION):
        state.indices[arm] = math.inf
        return
    tables = setup.tables
    ahead = clock * state.horizons[1]
    most = math.inf  # bonus of an arm's own mean, without a curve
    if law.n_rewards > 0:
        # Rare successes may be missing by chance, so that the arm seems to vary little. The
        # variance it would have as the best arm is then larger.
        missing = state.noise.bounds[arm] / law.bernoulli
        wide = cautious_variance(stats, arm, law.variance * max(1.0, missing))
        most = own_bonus(wide, law.n_rewards, CEILING_LOOKAHEAD * rounds)
    high = largest_mean(setup, law, most, ahead, rounds)
    low = high
    both_sides = tables.valued and not tables.affine_increasing
    if both_sides:
        # A smaller mean may be worth more. It is a larger mean of 1 minus the rewards.
        low = min(high, 1.0 - largest_mean(setup, mirror(law), most, ahead, rounds))
    index = worth_within(tables, arm, low, high)
    if setup.exception > 0.0 and not law.excepted:
        odds = setup.exception / (1.0 - setup.exception)
        worth = worth_of_test(tables, arm, law, odds * ahead, both_sides)
        if law.n_rewards > 0:
            worth = min(worth, worth_within(tables, arm, law.own - most, law.own + most))
        index = max(index, worth)
    state.indices[arm] = index


def law_of_arm(
    setup: base.Setup, stats: Statistics, state: base.State, arm: int, horizon: float
) -> Arm:
    """Return the posterior of an arm's mean."""
    fit = state.fit
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
    bonus = 0.0
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
        variance_i = rest + (1.0 - trust) * (1.0 - trust) * model_variance
        mean += weight * ((1.0 - trust) * model_mean + trust * own)
        model += weight * model_mean
        spread += weight * (error + model_variance)
        psi = psi_log(horizon * variance_i / variance)
        bonus += weight * setup.eagerness * math.sqrt(variance_i) * psi
    excepted = False
    far_share = 0.0
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
        far_share = far_odds / whole
        excepted = both > 0.5 * whole
        if excepted:
            law = near if near[0] - far[0] > FAR_LOG_SHARE else far
            mean = model + law[1]
            bonus = math.sqrt(law[2]) * psi_log(horizon * law[2] / variance)
    return Arm(
        n_rewards=count,
        own=own,
        noise=noise,
        variance=variance,
        bernoulli=state.noise.bernoulli[arm],
        guess=guess,
        root=math.sqrt(fit.sketch.factors[arm]),
        model=model,
        spread=spread,
        mean=mean,
        bonus=bonus,
        excepted=excepted,
        far_share=far_share,
    )


def mirror(law: Arm) -> Arm:
    """Return the law of 1 minus the rewards."""
    return Arm(
        n_rewards=law.n_rewards,
        own=1.0 - law.own,
        noise=law.noise,
        variance=law.variance,
        bernoulli=law.bernoulli,
        guess=1.0 - law.guess,
        root=law.root,
        model=1.0 - law.model,
        spread=law.spread,
        mean=1.0 - law.mean,
        bonus=law.bonus,
        excepted=law.excepted,
        far_share=law.far_share,
    )


def largest_mean(setup: base.Setup, law: Arm, most: float, ahead: float, rounds: float) -> float:
    """Return the largest mean of an arm that its index allows for, without tests of its curve.

    Args:
        setup: the constants.
        law: what is known about the arm.
        most: largest bonus above the mean of its rewards.
        ahead: rounds to look ahead.
        rounds: so far.
    """
    count, own, model, variance = law.n_rewards, law.own, law.model, law.variance
    index = law.mean + law.bonus
    if setup.exception > 0.0 and not law.excepted and count > 0:
        often = law.far_share * ahead
        trust = FAR_VARIANCE / (FAR_VARIANCE + law.noise)
        rest = trust * law.noise
        if own < model:
            # Rewards below a curve near 0 agree with it: tests of the arm wait for long games.
            often *= min(1.0, law.root * ahead / LONG_GAME_ROUNDS)
        # Small odds count less than in proportion, because a few lucky rewards do not
        # make an arm an exception.
        gain = often * often / (1.0 + often * often)
        centre = law.mean + gain * (model + trust * (own - model) - law.mean)
        index = max(index, centre + math.sqrt(rest) * psi_log(often * rest / variance))
    if count > 0:
        if setup.caution > 0.0:
            size = error_variance(law.guess, FLOOR_GROWTH)
            often = setup.caution * ahead
            index = max(index, floor(model, own, law.noise, variance, size, often))
            if setup.flat_share > 0.0:
                # An error in log-odds hardly moves a curve near 0. Two numbers that fit the played
                # arms say little about the others, so such an arm gets a few rounds more.
                often *= setup.flat_share
                flat = floor(model, own, law.noise, variance, FLAT_FLOOR_VARIANCE, often)
                index = max(index, flat)
        index = min(index, own + most)
        if setup.proved and is_forced(rounds, PROVED_CAUTION):
            least = own_bonus(LARGEST_VARIANCE, count, PROVED_CAUTION * rounds)
            most = own_bonus(LARGEST_VARIANCE, count, CEILING_LOOKAHEAD * rounds)
            index = clamp(index, own, least, most)
    return index


def worth_of_test(
    tables: Tables | VectorTables, arm: int, law: Arm, ahead: float, both_sides: bool
) -> float:
    """Return the index of an arm that may be better than its curve by one of a few errors.

    Let an arm of worth w be better by an error that gives it the mean p of worth w', with odds q,
    and let the best other arm have the worth x. Testing the arm costs ``x - w`` a reward if its
    curve is right, and gains ``h (w' - x)`` over h rounds if it is not. A reward has the
    information kl(m, p), and shows the error with probability ``d = 1 - exp(-kl(m, p))``: much
    information costs a whole round all the same. In the limit of many rewards with little
    information each, the sequential test with the least expected cost goes on while ``q d h
    (w' - x) > x - w``. The index is the x at which both sides are equal, with a sum over the errors
    with w' > x on the left. The odds q follow from the likelihood of Bernoulli rewards.

    An arm without rewards may also have any other mean, because its curve may carry no information.

    Args:
        tables: the values of means.
        arm: the arm.
        law: what is known about it.
        ahead: rounds to look ahead, times the prior odds of an exception.
        both_sides: whether a smaller mean may be worth more.
    """
    chance = min(max(law.model, MIN_CHANCE), 1.0 - MIN_CHANCE)
    # The number of Bernoulli rewards with the same information about the curve's error.
    rewards = law.bernoulli / (law.noise + law.spread) if law.n_rewards > 0 else 0.0
    informative = law.bernoulli / law.variance  # relative to a Bernoulli reward
    often = ahead * (1.0 - FAR_SHARE) / len(TEST_LOG_ODDS)
    far_often = ahead * FAR_SHARE / len(FAR_MEANS)
    usual = worth_of(tables, arm, law.mean)
    index = usual
    # Every pass but the last leaves out an error or a mean, so this is enough.
    for _ in range(2 * len(TEST_LOG_ODDS) + len(FAR_MEANS) + 1):
        weighted = usual
        total = 1.0
        for i in range(2 * len(TEST_LOG_ODDS) if both_sides else len(TEST_LOG_ODDS)):
            kind = i % len(TEST_LOG_ODDS)
            error = TEST_LOG_ODDS[kind] if i == kind else -TEST_LOG_ODDS[kind]
            growth = math.expm1(error)
            odds = 1.0 + chance * growth
            worth = worth_of(tables, arm, chance * (1.0 + growth) / odds)
            if worth > index:
                # The logarithm of the likelihood ratio of one reward is reward * error - log(odds).
                log = math.log(odds)
                nats = min(MAX_LOG_ODDS, rewards * (law.own * error - log))
                shown = -math.expm1(-informative * (log - chance * error))
                weight = often * math.exp(nats) * shown
                weighted += weight * worth
                total += weight
        if law.n_rewards == 0:
            for mean in FAR_MEANS:
                worth = worth_of(tables, arm, mean)
                if worth > index:
                    gap = squared_gap(chance, mean, law.bernoulli)
                    weight = far_often * -math.expm1(-0.5 * gap / law.variance)
                    weighted += weight * worth
                    total += weight
        # The index rises from pass to pass, because errors that are worth less are left out.
        found = weighted / total
        if not found > index:
            break
        index = found
    return index


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
