"""The structured policies keep the contract of all policies, and refuse wrong parameters."""

import json

import numpy as np
import pytest

from globalbandits.errors import PolicyError
from globalbandits.model import RegionalModel, RewardModel
from globalbandits.policies import (
    IDS,
    OSSB,
    TSC,
    UCBC,
    UCBS,
    GridGreedy,
    GridPlugIn,
    GridThompson,
    Learner,
    RegionalUCB,
)
from globalbandits.statistics import count, no_statistics
from tests.policies import contract
from tests.policies.families import model_of
from tests.policies.races import doses, pricing
from tests.simulation import worlds
from tests.soak import length

REBUILT = [
    UCBS(alpha=1.0, variance=0.1),
    UCBC(alpha=1.0, variance=0.1),
    TSC(alpha=1.0, variance=0.1),
    *(kind(variance="learned") for kind in (UCBS, UCBC, TSC)),
    OSSB(),
    RegionalUCB(),
    GridGreedy(cells=120),
    GridThompson(cells=120),
    GridPlugIn(cells=120, prior=(0.4, 0.2)),
    IDS(cells=120),
]
ORDERED = [kind(cells=120, likelihood="beta") for kind in (GridGreedy, GridThompson, IDS)]
POLICIES = [*REBUILT, *ORDERED]
CACHES = {
    "ossb": {"atol": 1e-6},  # Brent's method stops so close to the minimum
    "ucb_s": {"ignored": ("lows", "highs", "seen"), "rtol": 0},
    "ucb_c": {"ignored": ("allowed.lows", "allowed.highs", "allowed.seen"), "rtol": 0},
    "ts_c": {"ignored": ("allowed.lows", "allowed.highs", "allowed.seen"), "rtol": 0},
    "regional_ucb": {"ignored": ("own.segments",), "rtol": 0},
    "grid_greedy": {"rtol": 1e-9, "atol": 1e-12},
    "grid_plug_in": {"rtol": 1e-9, "atol": 1e-12},
    "grid_thompson": {"rtol": 1e-9, "atol": 1e-12},
    "ids": {"ignored": ("parts",), "rtol": 1e-7, "atol": 1e-12},
}


def name_of(policy):
    return policy.label


every_policy = pytest.mark.parametrize("policy", POLICIES, ids=name_of)
rebuilt_policy = pytest.mark.parametrize("policy", REBUILT, ids=name_of)
ordered_policy = pytest.mark.parametrize("policy", ORDERED, ids=name_of)


@pytest.fixture(scope="module")
def model():
    return model_of("pricing")


@every_policy
def test_specs_selections_and_reasons(policy, model):
    contract.check_spec(policy)
    contract.check_select_changes_nothing(policy, model)
    contract.check_reasons(policy, model)


@pytest.mark.parametrize(
    ("n", "n_more"), [(0, 20), (1, 20), (60, 40), length((200, 100), (700, 400))]
)
@every_policy
def test_a_restored_learner_resumes_bit_for_bit(policy, model, n, n_more):
    contract.check_restored(policy, model, n, n_more)


@rebuilt_policy
def test_rebuilt_forgotten_and_merged(policy, model):
    contract.check_rebuilt(policy, model, **CACHES[policy.kind])
    contract.check_forgotten(policy, model)
    contract.check_merged(policy, model)


@ordered_policy
def test_sums_of_logarithms_cannot_be_forgotten_or_merged(policy, model):
    assert policy.rules.rebuild is None
    contract.check_refuses_to_forget(policy, model)


@pytest.mark.parametrize("reward", [0.0, 1.0])
@pytest.mark.parametrize("edge", contract.EDGES)
@every_policy
def test_rewards_at_the_ends_of_their_range_break_nothing(policy, edge, reward):
    contract.check_extremes(policy, edge, reward)


@every_policy
def test_compiled_and_interpreted_give_the_same_bits(policy):
    contract.check_same_bits(policy, worlds.pricing(), length(200, 600))


def put(*path):
    """Set one saved number; the last of the path is its value."""

    def edit(kept):
        for key in path[:-2]:
            kept = kept[key]
        kept[path[-2]] = path[-1]

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        put("posterior", "window", [0, 10**9]),
        put("posterior", "window", [-1, 50]),
        put("posterior", "window", [80, 40]),
        put("posterior", "window", [0, 119]),
        put("posterior", "window", [3, 3]),
        put("posterior", "logs", [0.0] * 120),
        put("posterior", "logs", ["nan"] * 120),
        put("posterior", "rests", [-1e-3] * 12),
    ],
)
@pytest.mark.parametrize("policy", [p for p in POLICIES if hasattr(p, "cells")], ids=name_of)
def test_an_edited_posterior_is_refused(policy, edit, model):
    contract.check_edited(policy, model, edit)


@pytest.mark.parametrize("value", [-5.0, 0.9, "nan", "inf"])
def test_an_edited_projection_is_refused(value, model):
    contract.check_edited(OSSB(), model, put("theta", 0, value))


def test_an_edited_projection_of_nothing_is_refused(model):
    state = Learner(OSSB(), model, seed=0).state()
    state["kept"]["theta"] = [0.5]
    with pytest.raises(ValueError, match="kept must be fields that these statistics can lead to"):
        Learner.restore(OSSB(), model, state)


@pytest.mark.parametrize("policy", ORDERED, ids=name_of)
def test_fields_that_follow_from_the_posterior_are_recomputed_and_not_read(policy, model):
    learner = Learner(policy, model, seed=0)
    contract.observe(learner, 50)
    state = json.loads(json.dumps(learner.state()))
    for name, values in state["kept"].items():
        if name not in ("posterior", "pair"):
            state["kept"][name] = (np.array(values) + 0.25).tolist()
    state["kept"]["posterior"]["weights"] = [7.0] * 120
    if "pair" in state["kept"]:
        state["kept"]["pair"] = [10**6, -(10**6)]
    restored = Learner.restore(policy, model, state)
    contract.assert_same_state(restored._state, learner._state, ("parts",), rtol=0)


def test_a_saved_posterior_names_only_the_cells_in_its_window(model):
    learner = Learner(GridGreedy(cells=2000, likelihood="beta"), model, seed=0)
    contract.play(learner, 400)
    kept = learner.state()["kept"]["posterior"]
    first, last = kept["window"]
    assert last - first < 1000
    outside = [*kept["logs"][:first], *kept["logs"][last + 1 :]]
    assert set(outside) == {0.0}


def test_group_estimates_leave_no_trace_of_the_order_of_rewards():
    model = RegionalModel([pricing()[0], doses()[0]])
    policy = RegionalUCB()
    setup = policy.setup(model)
    rng = np.random.default_rng(0)
    data = [(int(rng.integers(17)), float(rng.integers(9)) / 8.0) for _ in range(300)]
    states = []
    for order in (data, sorted(data)):
        stats, state = no_statistics(17), policy.rules.init(setup)
        for arm, reward in order:  # eighths add up without rounding
            count(stats, arm, reward)
            policy.rules.update(setup, stats, state, arm, reward)
        states.append(state)
    contract.assert_same_state(*states, ignored=("own.segments",), rtol=0)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: UCBS(alpha=0), "alpha must be positive, got 0"),
        (lambda: UCBC(variance=-0.1), "variance must be positive, got -0.1"),
        (lambda: TSC(variance=float("nan")), "variance must be finite, got nan"),
        (
            lambda: UCBC(variance="coin"),
            "variance must be a positive number or 'learned', got 'coin'",
        ),
        (
            lambda: UCBS(variance=None),
            "variance must be a positive number or 'learned', got None",
        ),
        (lambda: GridGreedy(cells=1), "cells must be at least 2, got 1"),
        (lambda: GridGreedy(cells=10**9), "cells must be at most 1000000, got 1000000000"),
        (lambda: GridThompson(cells=2.5), "cells must be an integer, got 2.5"),
        (lambda: GridThompson(cells=10**6 + 1), "cells must be at most 1000000, got 1000001"),
        (
            lambda: GridGreedy(likelihood="normal"),
            "likelihood must be one of beta, bernoulli, got 'normal'",
        ),
        (lambda: IDS(likelihood=None), "likelihood must be one of beta, bernoulli, got None"),
        (lambda: IDS(likelihood=["beta"]), "likelihood must be one of beta, bernoulli, got ['beta"),
        (lambda: IDS(cells=0), "cells must be at least 2, got 0"),
        (lambda: IDS(cells=10**9), "cells must be at most 1000000, got 1000000000"),
        (lambda: RegionalUCB(alpha=0), "alpha must be positive, got 0"),
    ],
)
def test_a_wrong_parameter_is_named_with_its_rule_and_value(build, message):
    with pytest.raises(PolicyError) as error:
        build()
    assert message in str(error.value)


def test_a_grid_too_large_for_the_arms_is_refused_before_memory_is_allocated():
    model = RewardModel(lambda theta, k: theta * (k + 1) / 30, list(range(25)))
    with pytest.raises(PolicyError, match="cells must be at most 800000 for 25 arms, got 1000000"):
        GridGreedy(cells=10**6).setup(model)
