"""Arms given by their values as well as by their index."""

import numpy as np
import pytest

import globalbandits as gb

PRICES = [0.4, 0.6, 0.8]


@pytest.fixture(scope="module")
def model():
    return gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, PRICES)


def twins(model):
    return [gb.Learner(gb.WAGP(), model, seed=3, compiled=False) for _ in range(2)]


def same(first, second):
    one, two = first.state(), second.state()
    return one["statistics"] == two["statistics"] and one["evidence"] == two["evidence"]


def test_a_price_is_equivalent_to_its_index(model):
    by_index, by_price = twins(model)
    by_index.update(1, 0.3)
    by_price.update(reward=0.3, arm_value=0.6)
    by_index.update([0, 2], [0.2, 0.4])
    by_price.update(reward=[0.2, 0.4], arm_value=[0.4, 0.8])
    assert same(by_index, by_price)
    by_index.forget(2, 0.4)
    by_price.forget(reward=0.4, arm_value=0.8)
    assert same(by_index, by_price)


def test_a_log_of_prices(model):
    by_index = gb.evidence_from_log(model, [0, 1, 2], [0.1, 0.2, 0.3])
    by_price = gb.evidence_from_log(model, rewards=[0.1, 0.2, 0.3], arm_values=PRICES)
    assert by_index.state() == by_price.state()


def test_a_rounded_price_finds_its_arm(model):
    by_index, by_price = twins(model)
    by_index.update(1, 0.3)
    by_price.update(arm_value=0.2 * 3, reward=0.3)  # 0.6000000000000001
    assert same(by_index, by_price)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"reward": 0.3}, "arm must be an integer, got None"),
        ({"arm": 1}, "reward must be a number, got None"),
        (
            {"arm": 1, "arm_value": 0.6, "reward": 0.3},
            "arm_value must not be given together with arm",
        ),
        ({"arm_value": 0.5, "reward": 0.3}, "arm_value must be one of the arms 0.4, 0.6, 0.8"),
        ({"arm_value": [0.4], "reward": 0.3}, "arm_value must be one of the arms"),
        ({"arm_value": np.array(PRICES), "reward": 0.3}, "arm_value must be one of the arms"),
        ({"arm_value": 0.4, "reward": [0.3]}, "arm_value must be as many as the rewards"),
        (
            {"arm_value": [0.4, 0.5], "reward": [0.3, 0.3]},
            r"arm_value\[1\] must be one of the arms",
        ),
    ],
)
def test_invalid_calls_are_refused_and_nothing_is_learned(model, call, message):
    learner, _ = twins(model)
    with pytest.raises(gb.RewardError, match=message):
        learner.update(**call)
    assert learner.n_observations == 0


def test_the_number_of_an_observation_keeps_the_search_for_drift(model):
    known, unknown = twins(model)
    for learner in (known, unknown):
        for _ in range(200):
            learner.update([0, 1, 2], [0.3, 0.3, 0.3])
    known.forget(0, 0.3, number=599)
    unknown.forget(0, 0.3)
    times = [learner.evidence.history()[0].size for learner in (known, unknown)]
    assert times[0] > times[1]
    with pytest.raises(gb.GlobalBanditsError, match="number"):
        known.forget(0, 0.3, number=10_000)
