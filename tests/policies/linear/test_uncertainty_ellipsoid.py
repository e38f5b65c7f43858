"""The ellipsoid's least squares against NumPy's, its first plays and its constant."""

import itertools
import math

import numpy as np
import pytest

from globalbandits.errors import PolicyError
from globalbandits.model import RewardModel
from globalbandits.policies import Learner, Policy, UncertaintyEllipsoid
from globalbandits.policies.linear import uncertainty_ellipsoid as rules
from globalbandits.policies.linear.features import (
    spread_arms,
    whiten,
)
from globalbandits.policies.linear.least_squares import (
    REBUILD_EVERY,
    invert,
)
from globalbandits.statistics import count, no_statistics
from tests.policies.contract import assert_same_state
from tests.policies.families import PRICES, model_of

POWERS = np.array([[p, p**2, p**3] for p in PRICES])


def feed(policy, model, n, seed=0):
    setup = policy.setup(model)
    stats, state = no_statistics(model.n_arms), rules.init(setup)
    rng = np.random.default_rng(seed)
    arms = np.concatenate([setup.start, rng.integers(model.n_arms, size=n)])
    rewards = rng.random(len(arms))
    for arm, reward in zip(arms.tolist(), rewards.tolist(), strict=True):
        count(stats, arm, reward)
        rules.update(setup, stats, state, arm, reward)
    return state, arms, rewards


def rebuilt(policy, model, arms, rewards):
    """Least squares from scratch on the same rewards."""
    setup = policy.setup(model)
    stats, state = no_statistics(model.n_arms), rules.init(setup)
    for arm, reward in zip(arms.tolist(), rewards.tolist(), strict=True):
        count(stats, arm, reward)
    rules.rebuild(setup, stats, state)
    return state


@pytest.mark.parametrize("n", [0, 1, 50, 995, 998, 4_990])
def test_predictions_are_those_of_direct_least_squares(n):
    """Also just before (998 observations) and after the exact rebuild, and long after it."""
    state, arms, rewards = feed(UncertaintyEllipsoid(), model_of("pricing"), n)
    z, *_ = np.linalg.lstsq(POWERS[arms], rewards, rcond=None)
    np.testing.assert_allclose(state.means, POWERS @ z, rtol=0, atol=1e-9)
    inverse = np.linalg.pinv(POWERS[arms].T @ POWERS[arms], rcond=1e-14)
    variances = np.einsum("ki,ij,kj->k", POWERS, inverse, POWERS)
    np.testing.assert_allclose(state.spread.variances, variances, rtol=1e-6)
    np.testing.assert_allclose(state.spread.widths**2, state.spread.variances, rtol=1e-14)


def test_sherman_morrison_hardly_drifts_between_rebuilds():
    policy, model = UncertaintyEllipsoid(), model_of("pricing")
    state, *data = feed(policy, model, 990)
    exact = rebuilt(policy, model, *data)
    assert_same_state(state, exact, ("work.",), rtol=1e-11, atol=1e-13)
    assert not np.array_equal(state.spread.inverse, exact.spread.inverse)


def test_all_is_rebuilt_at_every_thousandth_reward():
    policy, model = UncertaintyEllipsoid(), model_of("pricing")
    state, *data = feed(policy, model, REBUILD_EVERY - 3)
    assert_same_state(state, rebuilt(policy, model, *data), ("work.",), rtol=0)


@pytest.mark.parametrize("r", [1, 2, 3, 5, 8])
def test_own_inverse(r):
    rng = np.random.default_rng(r)
    root = rng.normal(size=(r, r + 2))
    matrix = root @ root.T
    out = np.empty((r, r))
    invert(matrix.copy(), out)
    np.testing.assert_allclose(out @ matrix, np.eye(r), atol=1e-10)
    assert np.array_equal(out, out.T)


def test_first_plays_are_the_best_conditioned_arms():
    """On the pricing model the choice is the triple with the largest smallest eigenvalue."""
    model = model_of("pricing")
    policy = UncertaintyEllipsoid()
    setup = policy.setup(model)

    def smallest(arms):
        return np.linalg.svd(POWERS[list(arms)], compute_uv=False)[-1] ** 2

    best = max(itertools.combinations(range(12), 3), key=smallest)
    assert sorted(setup.start.tolist()) == list(best) == [0, 7, 11]
    learner = Learner(policy, model, seed=0)
    played = []
    for _ in range(3):
        assert learner.explain().reason == "first plays: 3 of linearly independent arms"
        assert learner.explain().details["bonus"] == math.inf
        played.append(learner.select())
        learner.update(played[-1], 0.3)
    assert played == setup.start.tolist()
    assert learner.explain().reason.startswith("largest upper bound of a prediction: ")


def test_published_alpha():
    """alpha = 8 (1 + log(1 + 36 ubar**2 / lambda0)), about 105 on the pricing model."""
    setup = UncertaintyEllipsoid().setup(model_of("pricing"))
    start = POWERS[[0, 7, 11]]
    lambda0 = np.linalg.eigvalsh(start.T @ start)[0]
    ubar2 = (POWERS**2).sum(axis=1).max()
    assert setup.alpha == pytest.approx(8 * (1 + math.log(1 + 36 * ubar2 / lambda0)), rel=1e-9)
    assert setup.alpha == pytest.approx(104.746, abs=1e-3)
    tuned = UncertaintyEllipsoid(scale=0.01).setup(model_of("pricing"))
    assert tuned.alpha == pytest.approx(0.01 * setup.alpha)


def test_the_index_at_the_fourth_play():
    """Three arms once each: C is the inverse of their Gram matrix, z fits them exactly."""
    model = model_of("pricing")
    learner = Learner(UncertaintyEllipsoid(scale=0.01), model, seed=0)
    start, rewards = [11, 0, 7], [0.2, 0.3, 0.4]
    learner.update(start, rewards)
    u = POWERS[start]
    z = np.linalg.solve(u, rewards)
    c = np.linalg.inv(u.T @ u)
    alpha = learner._setup.alpha
    bonus = alpha * math.sqrt(math.log(3)) * math.sqrt(min(3 * math.log(3), 12))
    index = POWERS @ z + bonus * np.sqrt(np.einsum("ki,ij,kj->k", POWERS, c, POWERS))
    assert learner.select() == int(np.argmax(index))
    assert learner.explain().details == {"alpha": alpha, "bonus": pytest.approx(bonus)}


def test_other_coordinates_change_nothing_but_rounding():
    """Predictions and widths do not depend on the basis of the features' space."""
    model = model_of("linear")
    features = np.array([[1.0, x] for x in range(1, 7)])
    turned = features @ np.array([[1e3, 2.0], [0.5, -1e-2]])
    one, *_ = feed(UncertaintyEllipsoid(features=features), model, 300, seed=5)
    other, *_ = feed(UncertaintyEllipsoid(features=turned), model, 300, seed=5)
    np.testing.assert_allclose(one.means, other.means, rtol=1e-9)
    np.testing.assert_allclose(one.spread.widths, other.spread.widths, rtol=1e-9)


def test_prices_in_thousands_are_no_harder():
    """p, p**2, p**3 of prices up to 9,500: the Gram matrix is hopeless, its whitened form not."""
    model = RewardModel(
        lambda theta, p: p * (1.0 - p * theta / 1e4) ** 2,
        [1e4 * p for p in PRICES],
        reward_range=(0.0, 1e4),
    )
    state, arms, rewards = feed(UncertaintyEllipsoid(), model, 500)
    z, *_ = np.linalg.lstsq(POWERS[arms], rewards, rcond=None)
    np.testing.assert_allclose(state.means, POWERS @ z, rtol=0, atol=1e-9)


def test_means_are_linear_in_the_users_units():
    """A reward range that starts below 0 puts no hidden constant into the regression."""
    model = RewardModel(
        lambda theta, x: x * (2.0 * theta - 1.0), [0.5, 1.0], reward_range=(-1.0, 1.0)
    )
    learner = Learner(UncertaintyEllipsoid(features=[[0.5], [1.0]]), model, seed=0)
    learner.update([0, 1, 1], [0.3, 0.6, 0.6])  # exactly 0.6 x
    # Half of it, since the unit scale has half the length.
    assert learner._state.means.tolist() == pytest.approx([0.15, 0.3])


def test_forgetting_an_arm_of_the_design_brings_back_its_first_play():
    model = model_of("pricing")
    learner = Learner(UncertaintyEllipsoid(), model, seed=0)
    learner.update([11, 0, 7, 5], [0.2, 0.3, 0.4, 0.1])
    learner.forget(0, 0.3)
    assert learner.select() == 0
    assert learner._state.spread.widths.tolist() == [0.0] * 12
    learner.update(0, 0.3)
    fresh = Learner(UncertaintyEllipsoid(), model, seed=0)
    fresh.update([11, 7, 5, 0], [0.2, 0.4, 0.1, 0.3])
    np.testing.assert_allclose(learner._state.means, fresh._state.means, rtol=1e-12)


def test_whitened_features_have_the_identity_as_gram_matrix():
    white = whiten(POWERS)
    np.testing.assert_allclose(white.T @ white, np.eye(3), atol=1e-12)
    assert len(set(spread_arms(white).tolist())) == 3


def test_the_first_plays_can_be_chosen():
    model = model_of("pricing")
    policy = UncertaintyEllipsoid(start=[0, 1, 0, 2])
    learner = Learner(policy, model, seed=0)
    played = []
    for _ in range(4):
        played.append(learner.select())
        learner.update(played[-1], 0.3)
    assert played == [0, 1, 0, 2]
    assert learner.explain().reason.startswith("largest upper bound")
    learner.forget(0, 0.3)
    assert learner.select() == 0
    rows = POWERS[[0, 1, 0, 2]]
    lambda0 = np.linalg.eigvalsh(rows.T @ rows)[0]
    ubar2 = (POWERS**2).sum(axis=1).max()
    expected = 8 * (1 + math.log(1 + 36 * ubar2 / lambda0))
    assert policy.setup(model).alpha == pytest.approx(expected, rel=1e-6)
    assert Policy.from_dict(policy.to_dict()) == policy


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (5, "start must be indices of arms, got 5"),
        ([], "start must be from 1 to 10000 indices of arms, got 0"),
        ([0.5], "start must be an integer, got 0.5"),
        ([-1], "start must be at least 0, got -1"),
        ([0, 1, 12], "start must be indices below 12, the number of arms, got \\(0, 1, 12\\)"),
        ([0, 1, 1], "start must hold 3 arms with linearly independent features, got"),
    ],
)
def test_wrong_first_plays_are_named(start, message):
    with pytest.raises(PolicyError, match=message):
        UncertaintyEllipsoid(start=start).setup(model_of("pricing"))
