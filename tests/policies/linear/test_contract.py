"""The linear policies keep the contract of all policies, and refuse wrong parameters."""

import json
import math

import numpy as np
import pytest

from globalbandits.errors import PolicyError
from globalbandits.model import RewardModel
from globalbandits.policies import GLMUCB, OFUL, Learner, LinearGreedy, LinUCB, UncertaintyEllipsoid
from tests.policies import contract
from tests.policies.families import model_of
from tests.simulation.worlds import pricing

POLICIES = [
    OFUL(delta=0.1),
    LinUCB(),
    LinearGreedy(),
    GLMUCB(scale=0.001),
    UncertaintyEllipsoid(scale=0.01),
]
every_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.kind)
SCRATCH = ("work.", "solved")


@pytest.fixture(scope="module")
def model():
    return model_of("pricing")


@every_policy
def test_specs_selections_and_reasons(policy, model):
    contract.check_spec(policy)
    contract.check_select_changes_nothing(policy, model)
    contract.check_reasons(policy, model)


# Matrices are computed afresh at the reward 1,000.
@pytest.mark.parametrize(("n", "n_more"), [(0, 20), (2, 20), (60, 40), (998, 20)])
@every_policy
def test_a_restored_learner_resumes_bit_for_bit(policy, model, n, n_more):
    contract.check_restored(policy, model, n, n_more)


@every_policy
def test_rebuilt_forgotten_and_merged(policy, model):
    contract.check_rebuilt(policy, model, SCRATCH, rtol=1e-9, atol=1e-9)
    contract.check_forgotten(policy, model)
    contract.check_merged(policy, model)


@pytest.mark.parametrize("reward", [0.0, 1.0])
@pytest.mark.parametrize("edge", contract.EDGES)
@every_policy
def test_rewards_at_the_ends_of_their_range_break_nothing(policy, edge, reward):
    contract.check_extremes(policy, edge, reward)


@every_policy
def test_compiled_and_interpreted_give_the_same_bits(policy):
    contract.check_same_bits(policy, pricing(), 1100)


def nudge(*path):
    """Change one saved number by a thousandth."""

    def edit(kept):
        for key in path[:-1]:
            kept = kept[key]
        kept[path[-1]] += 1e-3

    return edit


@pytest.mark.parametrize(
    ("policy", "path"),
    [
        (OFUL(), ("means", 3)),
        (OFUL(), ("log_det", 0)),
        (LinUCB(), ("spread", "inverse", 0, 1)),
        (LinUCB(), ("spread", "variances", 2)),
        (LinearGreedy(), ("moment", 0)),
        (LinearGreedy(), ("precision", 0)),
        (GLMUCB(), ("coefficients", 0)),
        (GLMUCB(), ("spread", "variances", 0)),
        (UncertaintyEllipsoid(), ("means", 0)),
        (UncertaintyEllipsoid(), ("spread", "inverse", 1, 1)),
    ],
    ids=lambda value: getattr(value, "kind", None) or ".".join(map(str, value)),
)
def test_an_edited_state_is_refused(policy, path, model):
    contract.check_edited(policy, model, nudge(*path))


def test_widths_are_derived_and_not_read(model):
    learner = Learner(OFUL(), model, seed=0)
    contract.observe(learner, 50)
    state = json.loads(json.dumps(learner.state()))
    state["kept"]["spread"]["widths"] = [99.0] * 12
    restored = Learner.restore(OFUL(), model, state)
    np.testing.assert_array_equal(restored._state.spread.widths, learner._state.spread.widths)


@pytest.mark.parametrize("policy", [OFUL(), LinUCB()], ids=lambda policy: policy.kind)
def test_features_that_hide_the_ridge_neither_fail_nor_stop_a_restore(policy):
    """p, p**2, p**3 of prices in thousands: a ridge of 1 is lost in the rounding of 10**22."""
    model = RewardModel(
        lambda theta, p: p * (1.0 - p * theta / 1e4) ** 2,
        [4000.0 + 500.0 * s for s in range(12)],
        reward_range=(0.0, 1e4),
    )
    learner = Learner(policy, model, seed=2)
    for n in (1, 3, 30, 300):
        for u in np.random.default_rng(n).random(n):
            learner.update(learner.select(), float(1e4 * u))
        restored = Learner.restore(policy, model, json.loads(json.dumps(learner.state())))
        contract.assert_same_state(restored._state, learner._state, SCRATCH, rtol=0)
        assert restored.select() == learner.select()
        assert all(np.isfinite(x).all() for _, x in contract.leaves(learner._state))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: OFUL(ridge=0), "ridge must be positive, got 0"),
        (lambda: OFUL(delta=1), "delta must lie strictly between 0 and 1, got 1"),
        (lambda: OFUL(features=[[1], [1, 2]]), "features must be vectors of one length"),
        (
            lambda: OFUL(features=[[0.5] * 1001]),
            "features must be vectors of at most 1000 numbers, got 1001",
        ),
        (lambda: LinUCB(delta=0), "delta must lie strictly between 0 and 1, got 0"),
        (lambda: LinUCB(features=3), "features must be one vector for each arm, got 3"),
        (lambda: GLMUCB(scale=0), "scale must be positive, got 0"),
        (lambda: GLMUCB(delta=2), "delta must lie strictly between 0 and 1, got 2"),
        (lambda: GLMUCB(features=[1]), "features must be one vector for each arm"),
        (lambda: UncertaintyEllipsoid(scale=-1), "scale must be positive, got -1"),
    ],
)
def test_a_wrong_parameter_is_named_with_its_rule_and_value(build, message):
    with pytest.raises(PolicyError) as error:
        build()
    assert message in str(error.value)


def test_linear_policies_need_features_for_arms_that_are_no_numbers():
    model = RewardModel(lambda theta, name: theta * len(name) / 10, ["low", "higher"])
    for policy in (OFUL(), LinUCB()):
        with pytest.raises(PolicyError, match="arms must be numbers unless features are given"):
            policy.setup(model)
    assert LinUCB(features=[[1, 0], [0, 1]]).setup(model).features.shape == (2, 2)
    assert GLMUCB().setup(model).features.shape[0] == 2


def test_features_too_large_to_be_squared_are_refused():
    model = RewardModel(lambda theta, p: theta, [1e20])
    with pytest.raises(PolicyError, match=r"features must be at most 1e\+50, got 2e\+60"):
        OFUL(features=[[2e60]]).setup(model)
    model = RewardModel.from_functions([lambda t: t, lambda t: 1 - t], arms=[1.0, 1e200])
    with pytest.raises(PolicyError, match=r"features must be at most 1e\+50, got inf"):
        UncertaintyEllipsoid().setup(model)


def test_logistic_regression_refuses_features_that_depend_on_each_other(model):
    features = [[p, 2.0 * p] for p in model.arms]
    with pytest.raises(PolicyError, match="linearly independent columns: 2 features of 12 arms"):
        GLMUCB(features=features).setup(model)
    # Ridge regression takes them.
    assert not math.isnan(OFUL(features=features).setup(model).norm)
