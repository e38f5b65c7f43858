"""A fitted model as a file, and back."""

import json

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import ModelError
from tests.fitting.panels import COLUMNS

HISTORY = gb.histories.exponential_demand(groups=8, rewards=70, seed=2)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cost": 1.5},
        {"value": "(arm - 1.5) * mean"},
        {"value": "(arm - 1.5) * mean ** 1.5"},
        {"cost": 1.5, "offset": lambda price: -price / 10},
        {"offset": {2.0: 0.1, 3.0: 0.2, 4.0: 0.0, 5.0: 0.0, 6.0: 0.0, 7.0: 0.0, 8.0: 0.3}},
    ],
    ids=["reward", "cost", "line", "curve", "offset", "offsets"],
)
def test_a_saved_model_is_the_same_model(options, tmp_path):
    found = gb.fit(HISTORY, **COLUMNS, verdict=False, **options)
    found.save(tmp_path / "model.json")
    loaded = gb.load_model(tmp_path / "model.json")
    assert loaded.fingerprint == found.model.fingerprint
    assert loaded.arms == found.model.arms
    theta = np.linspace(0, 1, 9)
    np.testing.assert_array_equal(loaded.worth(theta), found.model.worth(theta))
    means = found.curves.means[:, 2]
    np.testing.assert_allclose(loaded.means(found.curves.theta)[:, 2], means, atol=1e-12)
    unit = np.tile(found.curves.means[32], (1, 1))
    np.testing.assert_allclose(loaded.worth(0.5), found.worth(unit)[0], atol=1e-9)


def test_a_value_in_python_is_saved_as_the_line_it_is(tmp_path):
    found = gb.fit(
        HISTORY, **COLUMNS, verdict=False, value=lambda sold, price: (price - 1.5) * sold
    )
    found.save(tmp_path / "model.json")
    loaded = gb.load_model(tmp_path / "model.json")
    np.testing.assert_allclose(loaded.worth(0.3), found.model.worth(0.3), rtol=1e-12)
    np.testing.assert_allclose(loaded.means(0.3), found.model.means(0.3), rtol=1e-12)


def test_a_value_in_python_that_bends_cannot_be_saved(tmp_path):
    found = gb.fit(HISTORY, **COLUMNS, verdict=False, value=lambda sold, price: price * sold**2)
    with pytest.raises(ModelError, match="must be a formula or a straight line in the mean"):
        found.save(tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


def test_user_curves_are_saved_with_their_arms(tmp_path):
    own = gb.demand.exponential([2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], domain=(0.02, 1.0), cost=1.0)
    found = gb.fit(HISTORY, **COLUMNS, verdict=False, curves=own)
    assert found.chosen == "given"
    found.save(tmp_path / "model.json")
    assert gb.load_model(tmp_path / "model.json").fingerprint == own.fingerprint


def test_a_learner_starts_from_the_file(tmp_path):
    found = gb.fit(HISTORY, **COLUMNS, verdict=False, cost=1.0)
    found.save(tmp_path / "model.json")
    spec = json.loads(json.dumps(found.policy.to_dict()))
    policy = gb.Policy.from_dict(spec)
    assert policy == found.policy
    one, other = (
        gb.Learner(policy, model, seed=3)
        for model in (found.model, gb.load_model(tmp_path / "model.json"))
    )
    for learner in (one, other):
        learner.update([0, 3, 6] * 5, [1, 0, 1] * 5)
    assert [one.select() for _ in range(5)] == [other.select() for _ in range(5)]


def test_another_ending_is_refused(tmp_path):
    found = gb.fit(HISTORY, **COLUMNS, verdict=False)
    with pytest.raises(ModelError, match=r"model path must end in .json, got '.*model.toml'"):
        found.save(tmp_path / "model.toml")
