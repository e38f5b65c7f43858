"""Stopping rules against sums by hand on small grids of parameters, also exactly at the limits."""

import itertools
import math

import numpy as np
import pytest

from globalbandits.evidence.stop_rules import (
    AT_ANY,
    AT_RECOMMENDED,
    DECISIONS,
    NO_STOP,
    ONE_CONTENDER,
    PRECISE,
    TOO_HIGH,
    decided_arm,
    is_refuted,
    is_too_high,
    reason_to_stop,
    reasons_to_stop,
    weigh,
)
from globalbandits.statistics import no_statistics


def stop_on(means, prior, **rule):
    """A rule on a grid: means of shape (n_arms, n_cells), and weights of the cells."""
    means, prior = np.array(means, float), np.array(prior, float)
    too_high = (means[0] > 0.5).astype(np.int64)
    fields = {
        "constants": np.log1p(-means),
        "slopes": np.log(means) - np.log1p(-means),
        "log_prior": np.log(prior),
        "too_high": too_high,
        "above": too_high.astype(float),
        "best": means.argmax(axis=0),
        "logs": np.full(prior.size, 7.0),
        "masses": np.full(len(means), 7.0),
    }
    return NO_STOP._replace(**(fields | rule))


def stats_of(counts, sums):
    stats = no_statistics(len(counts))
    stats.counts[:], stats.sums[:] = counts, sums
    stats.total[0] = sum(counts)
    return stats


class ByHand:
    """The rule in plain numbers."""

    def __init__(self, stop, counts, sums):
        self.stop, self.counts = stop, counts
        n_arms, self.n_cells = stop.constants.shape
        self.likelihood = [
            math.exp(
                sum(
                    counts[k] * stop.constants[k, cell] + sums[k] * stop.slopes[k, cell]
                    for k in range(n_arms)
                )
            )
            for cell in range(self.n_cells)
        ]
        prior = np.exp(stop.log_prior)
        self.mean = sum(w * x for w, x in zip(prior, self.likelihood, strict=True))
        self.posterior = [w * x / self.mean for w, x in zip(prior, self.likelihood, strict=True)]
        limit = 1.0 - stop.confidence
        self.left = [
            cell for cell in range(self.n_cells) if self.likelihood[cell] > limit * self.mean
        ]

    def is_too_high(self):
        if self.stop.anytime:
            return all(self.stop.too_high[cell] for cell in self.left)
        return float(np.dot(self.posterior, self.stop.above)) >= self.stop.confidence

    def arm(self):
        if self.stop.anytime:
            arms = {int(self.stop.best[cell]) for cell in self.left}
            return arms.pop() if len(arms) == 1 else -1
        masses = [
            sum(p for p, b in zip(self.posterior, self.stop.best, strict=True) if b == arm)
            for arm in range(len(self.counts))
        ]
        top = int(np.argmax(masses))
        return top if masses[top] >= self.stop.confidence else -1

    def decides(self):
        arm = self.arm()
        return arm >= 0 and self.counts[arm] >= self.stop.contender_rewards

    def is_precise(self, recommended):
        if recommended < 0:
            return False
        means = 1.0 - np.exp(self.stop.constants[recommended])
        tail, total, ends = 0.5 * (1.0 - self.stop.confidence), 0.0, []
        for cell in sorted(range(self.n_cells), key=lambda cell: means[cell]):
            before, total = total, total + self.posterior[cell]
            if total > tail and before < 1.0 - tail:
                ends.append(means[cell])
        return ends[-1] - ends[0] <= self.stop.precision

    def reason(self, recommended):
        stop, total = self.stop, sum(self.counts)
        late = total >= max(stop.after, 1)
        if stop.watches and late and self.is_too_high():
            return TOO_HIGH
        if stop.decides and late and self.decides():
            return ONE_CONTENDER
        if stop.precision > 0.0 and late and self.is_precise(recommended):
            return PRECISE
        enough = stop.at_recommended > 0 and self.counts[recommended] >= stop.at_recommended
        if enough and recommended >= 0:
            return AT_RECOMMENDED
        if 0 < stop.at_any <= max(self.counts):
            return AT_ANY
        return DECISIONS if 0 < stop.decisions <= total else 0


def random_case(rng):
    """A random rule, and counts and sums of 30 runs."""
    n_arms, n_cells = int(rng.integers(2, 5)), int(rng.integers(3, 7))
    prior = rng.dirichlet(np.ones(n_cells))
    choose = rng.random
    rule = {
        "watches": choose() < 0.5,
        "decides": choose() < 0.5,
        "anytime": choose() < 0.5,
        "confidence": float(rng.choice([0.5, 0.8, 0.95])),
        "decisions": int(rng.choice([0, 1, 20])),
        "after": int(rng.choice([0, 1, 9])),
        "contender_rewards": int(rng.choice([0, 4])),
        "at_recommended": int(rng.choice([0, 0, 6])),
        "at_any": int(rng.choice([0, 0, 7])),
        "precision": float(rng.choice([0.0, 0.0, 0.05, 0.3])),
    }
    stop = stop_on(rng.uniform(0.05, 0.95, (n_arms, n_cells)), prior, **rule)
    if choose() < 0.3:
        stop = stop._replace(above=rng.random(n_cells))
    counts = rng.integers(0, 9, (30, n_arms)) * rng.integers(0, 2, (30, n_arms))
    sums = np.floor(counts * rng.random(counts.shape) * 1.5).clip(max=counts)
    return stop, counts, sums, rng.integers(-1, n_arms, 30)


def test_reasons_are_those_by_hand():
    rng, seen = np.random.default_rng(0), []
    for _ in range(150):
        stop, counts, sums, recommended = random_case(rng)
        by_hand = [
            ByHand(stop, row.tolist(), total.tolist()).reason(arm)
            for row, total, arm in zip(counts, sums, recommended.tolist(), strict=True)
        ]
        assert reasons_to_stop(stop, 1.0 * counts, sums, recommended).tolist() == by_hand
        seen += by_hand
        # One run at a time, without the rules of designs.
        plain = stop._replace(at_recommended=0, at_any=0, precision=0.0)
        for row, total in zip(counts[:10].tolist(), sums[:10].tolist(), strict=True):
            expected = ByHand(plain, row, total)
            stats = stats_of(row, total)
            assert reason_to_stop(plain, stats) == expected.reason(-1)
            evidence = weigh(plain, stats)
            assert evidence == pytest.approx(math.log(expected.mean))
            np.testing.assert_allclose(plain.logs, np.log(expected.likelihood), atol=1e-9)
            assert is_too_high(plain, evidence) == expected.is_too_high()
            assert decided_arm(plain, evidence) == expected.arm()
    # Every reason is among them many times.
    assert np.bincount(seen).min() >= 50


def test_a_probability_of_exactly_the_confidence_stops():
    # Without slopes the posterior is the prior. Means of arm 0 are 3/4 in the first cells.
    even = stop_on([[0.75, 0.25], [0.25, 0.75]], [0.5, 0.5])
    flat = {"constants": np.zeros((2, 2)), "slopes": np.zeros((2, 2)), "confidence": 0.5}
    stats = stats_of([1, 0], [0.0, 0.0])
    none_recommended = np.full(1, -1)
    for rule, reason in (({"watches": True}, TOO_HIGH), ({"decides": True}, ONE_CONTENDER)):
        stop = even._replace(**flat, **rule)
        assert reason_to_stop(stop, stats) == reason
        # Of two arms with the same probability the first one is named.
        assert decided_arm(stop, weigh(stop, stats)) == 0
        assert reasons_to_stop(
            stop, np.array([[1.0, 0.0]]), np.zeros((1, 2)), none_recommended
        ) == [reason]
        surer = stop._replace(confidence=math.nextafter(0.5, 1.0))
        assert reason_to_stop(surer, stats) == 0
        assert reasons_to_stop(
            surer, np.array([[1.0, 0.0]]), np.zeros((1, 2)), none_recommended
        ) == [0]


def test_a_likelihood_of_exactly_the_limit_is_refuted():
    stop = NO_STOP._replace(logs=np.array([math.log(0.5), math.nextafter(math.log(0.5), 0.0)]))
    assert is_refuted(stop, 0.0, 0)
    assert not is_refuted(stop, 0.0, 1)


@pytest.mark.parametrize("anytime", [False, True])
def test_rules_apply_from_exactly_their_number_of_rewards(anytime):
    means = [[0.9, 0.9], [0.1, 0.2]]
    rules = [
        ({"watches": True, "after": 4}, TOO_HIGH),
        ({"decides": True, "after": 4}, ONE_CONTENDER),
        ({"decides": True, "contender_rewards": 4}, ONE_CONTENDER),
        ({"decisions": 4}, DECISIONS),
        ({"at_any": 4}, AT_ANY),
        ({"at_recommended": 4}, AT_RECOMMENDED),
        ({"precision": 0.2, "after": 4}, PRECISE),
    ]
    for (rule, reason), n in itertools.product(rules, range(3, 6)):
        stop = stop_on(means, [0.5, 0.5], anytime=anytime, **rule)
        expected = reason if n >= 4 else 0
        found = reasons_to_stop(stop, np.array([[1.0 * n, 0.0]]), np.zeros((1, 2)), np.array([0]))
        assert found.tolist() == [expected]
        if reason <= DECISIONS:
            assert reason_to_stop(stop, stats_of([n, 0], [0.0, 0.0])) == expected


def test_nothing_stops_a_run_without_rules_or_rewards():
    nothing = stats_of([0], [0.0])
    assert reason_to_stop(NO_STOP, nothing) == 0
    assert reason_to_stop(NO_STOP, stats_of([50], [50.0])) == 0
    assert reasons_to_stop(NO_STOP, np.array([[50.0]]), np.array([[50.0]]), np.array([0])) == [0]
    sure = stop_on([[0.9], [0.1]], [1.0], watches=True, decides=True, precision=1.0)
    assert reason_to_stop(sure, stats_of([0, 0], [0.0, 0.0])) == 0
    assert reasons_to_stop(sure, np.zeros((1, 2)), np.zeros((1, 2)), np.array([0])) == [0]


def test_a_width_of_exactly_the_precision_is_precise():
    means = np.array([[0.25, 0.5, 0.75]])
    stop = stop_on(means, [0.25, 0.5, 0.25], confidence=0.75)
    width = float(np.ptp(1.0 - np.exp(stop.constants)))
    counts, sums, arm = np.full((1, 1), 2.0), np.ones((1, 1)), np.array([0])
    # One slope for all cells makes the likelihood the same in all cells.
    for precision, expected in ((width, PRECISE), (math.nextafter(width, 0.0), 0)):
        rule = stop._replace(precision=precision, slopes=-2.0 * stop.constants)
        found = reasons_to_stop(rule, counts, sums, arm)
        assert found.tolist() == [expected]
    # A narrower confidence leaves the outer cells out: the middle has all that is needed.
    rule = stop._replace(precision=1e-9, slopes=-2.0 * stop.constants, confidence=0.49)
    assert reasons_to_stop(rule, counts, sums, arm).tolist() == [PRECISE]
