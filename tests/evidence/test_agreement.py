"""Live, logged and simulated evidence make the same statements about the same rewards."""

import numpy as np
import pytest

from globalbandits.evidence import Evidence, evidence_from_log
from globalbandits.evidence.contenders import best_within
from globalbandits.evidence.inference import (
    BestArms,
    Inference,
    infer_many,
)
from tests.evidence.models import TRUTH, log_of, model_of
from tests.soak import length

N_LOGS = length(50, 400)
NAMES = sorted(TRUTH)


def random_log(number):
    """A log of some model, size and truth, and how sure to be."""
    rng = np.random.default_rng(number)
    # Three in four from the model with the most arms: there the race has the most edges.
    name = "pricing" if number % 4 else NAMES[number // 4 % len(NAMES)]
    n = round(10 ** rng.uniform(0.0, 3.5))
    bias = 0.0 if rng.random() < 0.8 else 0.15
    return log_of(name, n, number, bias=bias), float(rng.choice([0.5, 0.8, 0.95, 0.99]))


@pytest.mark.parametrize("first", range(0, N_LOGS, 50))
def test_simulated_and_logged_evidence_agree_on_random_logs(first):
    n_free = 0
    for number in range(first, first + 50):
        (model, arms, rewards), confidence = random_log(number)
        logged = evidence_from_log(model, arms, rewards)
        simulated = infer_many(model, logged.counts, confidence)
        interval, contenders = logged.interval(confidence), logged.contenders(confidence)
        assert (simulated.low, simulated.high) == (interval.low, interval.high)
        if number % 5 == 0:  # contenders depend on it in all of them
            assert simulated.log_e_value == logged.against_model().log_e_value
        if contenders.model_free and simulated.log_e_value < -np.log(1.0 - confidence):
            # A histogram alone has no record of an earlier refutation.
            assert logged.against_model().refuted(1.0 - confidence)
            continue
        assert tuple(np.flatnonzero(simulated.contenders)) == contenders.arms
        above = np.array(contenders.p_values) > 1.0 - confidence
        assert tuple(np.flatnonzero(above)) == contenders.arms
        n_free += contenders.model_free
    assert 0 < n_free < 25


def test_live_and_merged_evidence_agree_with_logged_evidence():
    for number in range(0, N_LOGS, 25):
        (model, arms, rewards), confidence = random_log(number)
        logged, live = evidence_from_log(model, arms, rewards), Evidence(model)
        for arm, reward in zip(arms.tolist(), rewards.tolist(), strict=True):
            live.update(arm, reward)
        half = arms.size // 2
        merged = evidence_from_log(model, arms[:half], rewards[:half]).merge(
            evidence_from_log(model, arms[half:], rewards[half:])
        )
        for other in (live, merged, Evidence.restore(model, live.state())):
            assert other.interval(confidence) == logged.interval(confidence)
            assert other.contenders(confidence) == logged.contenders(confidence)
            assert other.against_model() == logged.against_model()


def test_the_race_decides_where_roundings_disagree():
    # Both roundings are on the safe side, so that either answer of an arm at the edge is valid.
    model, arms, rewards = log_of("pricing", 300, seed=2)
    reading = Inference(model, evidence_from_log(model, arms, rewards).counts)
    no_arm = BestArms(np.zeros(12, np.bool_), model_free=False)
    assert reading.p_values(no_arm, 0.95).max() == 1.0 - 0.95
    all_arms = BestArms(np.ones(12, np.bool_), model_free=False)
    assert reading.p_values(all_arms, 0.95).min() == np.nextafter(1.0 - 0.95, 1.0)


def test_arms_that_tie_at_an_end_of_the_interval_are_in_the_race():
    model = model_of("illustration")
    first, second = model.regions[:2]
    edge = first.high
    assert edge == second.low
    assert best_within(model, edge, edge).tolist() == [
        arm in (*first.arms, *second.arms) for arm in range(3)
    ]
    assert not best_within(model, np.nan, np.nan).any()


def test_rough_evidence_raises_the_same_alarms():
    for number in range(0, 200, 10):
        (model, arms, rewards), _ = random_log(number)
        reading = Inference(model, evidence_from_log(model, arms, rewards).counts)
        rough = reading.rough_against(least=0.0, enough=np.log(1e6))
        if 0.0 < reading.against.value < np.log(1e6):
            assert rough.certified == pytest.approx(reading.against.certified, rel=0.02, abs=0.06)
        elif reading.against.value <= 0.0:
            assert rough.value <= 0.0
        else:
            assert rough.certified >= np.log(1e6)
