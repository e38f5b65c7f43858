"""Models of functions that cannot be pickled go to other processes all the same."""

import copy
import pickle
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import globalbandits as gb

PRICES = [0.4, 0.6, 0.8]


def by_name(theta, price):
    return price * (1 - price * theta) ** 2


def models():
    bent = 2.0
    return {
        "plain": gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, PRICES),
        "closure": gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** bent, PRICES),
        "per arm": gb.RewardModel.from_functions([lambda t: 1 - t**0.5, lambda t: t**2]),
        "cost": gb.RewardModel(
            lambda theta, p: (1 - p * theta) ** 2, PRICES, value=lambda sold, p: (p - 0.3) * sold
        ),
        "target": gb.RewardModel(
            lambda theta, p: p * theta, PRICES, value=lambda mean, p: -abs(mean - 0.25)
        ),
        "range": gb.RewardModel(
            lambda theta, p: 10 * p * theta - 3, PRICES, reward_range=(-5.0, 7.0)
        ),
        "turning": gb.RewardModel(
            lambda theta, p: 0.5 + p * theta * (1 - theta), PRICES, monotone=False
        ),
        "inverse": gb.RewardModel(
            lambda theta, p: p * theta, PRICES, inverse=lambda mean, p: mean / p
        ),
    }


@pytest.mark.parametrize("name", models())
def test_an_unpickled_model_is_the_same_model(name):
    model = models()[name]
    again = pickle.loads(pickle.dumps(model))
    thetas = np.linspace(*model.domain, 201)
    assert again.means(thetas) == pytest.approx(model.means(thetas), abs=1e-10)
    assert again.worth(thetas) == pytest.approx(model.worth(thetas), abs=1e-10)
    assert again.regions == model.regions
    assert again.arms == model.arms
    assert again.same_observed(model.observed_samples())
    assert again.remarks == model.remarks
    for left, right in zip(again.tables.mean, model.tables.mean, strict=True):
        assert np.array_equal(left, right)
    twice = pickle.loads(pickle.dumps(again))
    assert np.array_equal(twice.means(thetas), again.means(thetas))


def test_an_importable_function_is_pickled_itself():
    model = gb.RewardModel(by_name, PRICES)
    again = pickle.loads(pickle.dumps(model))
    thetas = np.linspace(0.0, 1.0, 101)
    assert np.array_equal(again.means(thetas), model.means(thetas))


def test_a_notebook_function_is_pickled_as_a_table(monkeypatch):
    def typed(theta, price):
        return price * (1 - price * theta) ** 2

    main = sys.modules["__main__"]
    typed.__module__, typed.__qualname__ = "__main__", "typed"
    monkeypatch.setattr(main, "typed", typed, raising=False)
    monkeypatch.setattr(main, "__file__", "script.py", raising=False)  # workers of pytest have none
    model = gb.RewardModel(typed, PRICES)
    assert b"typed" in pickle.dumps(model)  # of a script: its file is imported again
    monkeypatch.delattr(main, "__file__")
    raw = pickle.dumps(model)
    assert b"typed" not in raw
    assert pickle.loads(raw).regions == model.regions


def test_a_copy_is_the_model_itself():
    model = models()["plain"]
    assert copy.copy(model) is model
    assert copy.deepcopy([model])[0] is model


def test_decisions_are_the_same_bits():
    model = models()["cost"]
    again = pickle.loads(pickle.dumps(model))
    learners = [gb.Learner(gb.WAGP(), each, seed=3, compiled=False) for each in (model, again)]
    rng = np.random.default_rng(0)
    for _ in range(60):
        arms = [learner.select() for learner in learners]
        assert arms[0] == arms[1]
        sold = float(rng.random() < model.means(0.5)[arms[0]])
        for learner in learners:
            learner.update(arms[0], sold)
        assert learners[0].estimate == learners[1].estimate


def test_a_model_can_be_sent_to_another_process():
    model = models()["plain"]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(gb.RewardModel.best_arms, model, 0.5).result() == model.best_arms(0.5)
