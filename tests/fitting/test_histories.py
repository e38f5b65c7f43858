"""Synthetic histories: draws agree with the docstrings."""

import numpy as np
import pandas as pd
import pytest

from globalbandits.errors import FitError
from globalbandits.fitting import histories

WORLDS = [
    "emax",
    "exponential_demand",
    "unstructured",
    "paper",
    "identical_groups",
    "traffic_only",
    "two_segments",
]


@pytest.mark.parametrize("world", WORLDS)
def test_a_history_is_a_dict_of_columns_that_depends_on_its_seed(world):
    generate = getattr(histories, world)
    first, again, other = generate(6, 30, seed=1), generate(6, 30, seed=1), generate(6, 30, seed=2)
    frame = pd.DataFrame(first)
    assert list(frame) == ["group", "arm", "reward"]
    assert frame.groupby("group").size().tolist() == [30] * 6
    assert set(frame["reward"]) <= {0.0, 1.0}
    assert frame.equals(pd.DataFrame(again))
    assert not frame.equals(pd.DataFrame(other))
    assert first.curves.shape == first.means.shape == (6, len(first.arms))
    assert (first.curves > 0).all()
    assert (first.curves < 1).all()


def test_curves_are_those_of_the_names():
    worlds = (histories.exponential_demand, histories.emax, histories.paper)
    expo, emax, paper = (world(5, seed=3) for world in worlds)
    theta = expo.theta[:, None]
    np.testing.assert_allclose(expo.curves, np.exp(-theta * np.arange(2, 9)))
    doses = np.array([0.5, 1, 2, 4, 8, 16])
    np.testing.assert_allclose(emax.curves, doses / (emax.theta[:, None] + doses))
    t = paper.theta
    np.testing.assert_allclose(paper.curves, np.array([1 - t**0.5, 0.8 * t, t**2]).T)
    assert (histories.identical_groups(5).curves == histories.identical_groups(5).curves[0]).all()


def test_errors_have_the_requested_size():
    history = histories.exponential_demand(3_000, 7, seed=1, rho=0.02)
    spread = (history.means - history.curves) ** 2
    expected = 0.02 * history.curves * (1 - history.curves)
    assert spread.mean() == pytest.approx(expected.mean(), rel=0.03)


def test_rewards_follow_the_means():
    history = histories.emax(4, 60_000, seed=1)
    found = pd.DataFrame(history).pivot_table(index="group", columns="arm", values="reward")
    np.testing.assert_allclose(found, history.means, atol=4 * 0.5 / 100)


def test_continuous_rewards_have_a_sixth_of_the_bernoulli_variance():
    history = histories.identical_groups(2, 70_000, seed=1, concentration=5.0)
    found = pd.DataFrame(history).groupby("arm")["reward"].var()
    mean = history.means[0]
    np.testing.assert_allclose(found, mean * (1 - mean) / 6, rtol=0.05)


def test_uneven_histories_leave_arms_out():
    tried = pd.DataFrame(histories.exponential_demand(200, 20, seed=1, uneven=True)).groupby(
        "group"
    )["arm"]
    assert tried.nunique().min() >= 1
    assert tried.nunique().mean() < 5
    assert (tried.size() == 20).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": 0}, "groups must be at least 1, got 0"),
        ({"rewards": 0}, "rewards must be at least 1, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"rho": 1.0}, "rho must lie in [0, 1), got 1.0"),
    ],
)
def test_wrong_histories_are_refused(options, message):
    with pytest.raises(FitError) as caught:
        histories.exponential_demand(**options)
    assert str(caught.value) == message


def test_a_history_is_saved_as_a_file_with_the_names_of_the_tutorial(tmp_path):
    history = histories.exponential_demand(4, 21, seed=3)
    history.save(tmp_path / "history.csv")
    read = pd.read_csv(tmp_path / "history.csv")
    assert list(read.columns) == ["store", "price", "sold"]
    for name, key in (("store", "group"), ("price", "arm"), ("sold", "reward")):
        assert read[name].tolist() == history[key].tolist()
