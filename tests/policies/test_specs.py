"""Policy specs: values, checks, dicts, and the registry that others can join."""

import dataclasses
import json
import math

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import PolicyError
from globalbandits.policies import (
    BUW,
    UCB1,
    WAGP,
    Learner,
    NonStationaryWAGP,
    Policy,
    Rules,
    UncertaintyEllipsoid,
    register,
    registered,
)
from globalbandits.policies.paper import wagp as wagp_rules
from tests.policies.families import model_of
from tests.policies.valued import EVERY

SPECS = [
    WAGP(),
    BUW(),
    BUW(scale=0.25),
    NonStationaryWAGP(half_window=20),
    NonStationaryWAGP(drift_time=1000),
    UCB1(),
    UncertaintyEllipsoid(),
    UncertaintyEllipsoid(features=[[1, 0.5], [1, 2]], scale=0.1),
]


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_a_spec_survives_a_dict_and_json(spec):
    plain = spec.to_dict()
    assert plain["policy"] == spec.kind
    assert Policy.from_dict(plain) == spec
    assert Policy.from_dict(json.loads(json.dumps(plain))) == spec
    assert eval(repr(spec)) == spec
    assert hash(eval(repr(spec))) == hash(spec)


def test_specs_are_frozen_and_differ_by_their_parameters():
    with pytest.raises(dataclasses.FrozenInstanceError):
        BUW().scale = 2.0
    assert len(set(SPECS)) == len(SPECS)
    with pytest.raises(TypeError, match="positional"):
        BUW(0.5)


def test_labels_name_what_is_not_default():
    assert WAGP().label == "WAGP"
    assert BUW().label == "BUW"
    assert BUW(scale=0.5).label == "BUW(scale=0.5)"
    assert NonStationaryWAGP(half_window=9).label == "NonStationaryWAGP(half_window=9)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BUW(scale=0), "scale must be positive, got 0"),
        (lambda: BUW(scale=True), "scale must be a number, got True"),
        (lambda: BUW(scale=math.nan), "scale must be finite, got nan"),
        (lambda: BUW(scale="1"), "scale must be a number, got '1'"),
        (lambda: UncertaintyEllipsoid(scale=-1.0), r"scale must be positive, got -1\.0"),
        (
            lambda: UncertaintyEllipsoid(features=3),
            "features must be one vector for each arm, got 3",
        ),
        (
            lambda: UncertaintyEllipsoid(features=[[1, 2], [3]]),
            r"features must be vectors of one length, at least 1, got \[1, 2\]",
        ),
        (lambda: UncertaintyEllipsoid(features=[[], []]), r"at least 1, got \[0\]"),
        (
            lambda: UncertaintyEllipsoid(features=[[1, math.inf]]),
            "features must be finite, got inf",
        ),
        (lambda: NonStationaryWAGP(half_window=0), "half_window must be at least 1, got 0"),
        (lambda: NonStationaryWAGP(half_window=2.5), "half_window must be an integer, got 2.5"),
        (lambda: NonStationaryWAGP(drift_time=-3), "drift_time must be positive, got -3"),
        (
            lambda: NonStationaryWAGP(),
            r"must be given either half_window \(.*\) or drift_time \(.*\), "
            "got half_window=None and drift_time=None",
        ),
        (
            lambda: NonStationaryWAGP(half_window=5, drift_time=100),
            "got half_window=5 and drift_time=100",
        ),
    ],
)
def test_wrong_parameters_are_refused(make, message):
    with pytest.raises(PolicyError, match=message):
        make()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"scale": 1.0}, "spec must be a dict with the key 'policy', got {'scale': 1.0}"),
        ("wagp", "a policy spec must be a dict with the key 'policy', got 'wagp'"),
        ({"policy": ["wagp"]}, r"policy must be one of .*, got \['wagp'\]"),
        ({"policy": "nothing"}, "policy must be one of .*buw.*wagp.*, got 'nothing'"),
        ({"policy": "buw", "size": 1}, "parameter of buw must be one of scale, got 'size'"),
        ({"policy": "wagp", "scale": 1}, "parameter of wagp must be one of none, got 'scale'"),
        ({"policy": "buw", "scale": -1}, "scale must be positive, got -1"),
    ],
)
def test_wrong_dicts_are_refused(spec, message):
    with pytest.raises(PolicyError, match=message):
        Policy.from_dict(spec)


@register("stubborn")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Stubborn(Policy):
    """A user's own policy: WAGP's statistics, but always one arm."""

    arm: int = 0

    rules = Rules(
        init=wagp_rules.init,
        select=lambda setup, stats, state, rng: setup[1],
        update=wagp_rules.update,
        estimate=wagp_rules.estimate,
    )

    def setup(self, model):
        return StubbornSetup(model.tables, self.arm)


class StubbornSetup(wagp_rules.NamedTuple):
    tables: wagp_rules.Tables
    arm: int


def test_a_users_policy_joins_the_registry():
    spec = Policy.from_dict({"policy": "stubborn", "arm": 2})
    assert spec == Stubborn(arm=2)
    assert registered()["stubborn"] is Stubborn
    learner = Learner(spec, model_of("illustration"), seed=0)
    learner.update(learner.select(), 0.5)
    assert learner.pulls.tolist() == [0, 0, 1]
    assert learner.explain().reason == "the policy's rule"
    restored = Learner.restore(spec, model_of("illustration"), learner.state())
    assert restored.estimate == learner.estimate == pytest.approx(math.sqrt(0.5))


def test_two_policies_cannot_share_a_kind():
    with pytest.raises(PolicyError, match="policy kind must be new, got 'wagp', which is WAGP"):
        register("wagp")(Stubborn)
    assert register("stubborn")(Stubborn) is Stubborn  # a reloaded module may register again
    assert registered()["wagp"] is WAGP


@pytest.mark.parametrize(
    ("drift_time", "expected"),
    [(1000, 100), (1000.001, 101), (1_000_000, 10_000), (8, 4), (1, 1), (0.1, 1)],
)
def test_half_window_of_theorem_8(drift_time, expected):
    """h = ceil(tau**(2/3)) where g2 = 1, and not 101 for 100.00000000000001."""
    assert NonStationaryWAGP(drift_time=drift_time).window(model_of("linear")) == expected
    assert math.ceil(8.0 ** (2 / 3)) == 4


def test_half_window_depends_on_the_exponent_and_the_domain():
    # g2 = 1/2 for 1 - sqrt(theta): h = ceil(tau**(1/2)).
    assert NonStationaryWAGP(drift_time=10_000).window(model_of("illustration")) == 100
    wide = wagp_rules_model((0.0, 10.0))
    # Ten steps of the parameter are one length of the domain.
    assert NonStationaryWAGP(drift_time=100).window(wide) == 100


def wagp_rules_model(domain):
    from globalbandits.model import RewardModel

    return RewardModel(lambda theta, a: a * theta / 10.0, [0.5, 1.0], domain=domain)


@pytest.mark.parametrize(
    ("arms", "features", "message"),
    [
        (("a", "b"), None, r"arms must be numbers unless features are given, got \('a', 'b'\)"),
        ((1.0, 2.0), ((1.0,),), "features must have 2 rows, got 1"),
        (
            (1.0, 2.0),
            ((1.0, 2.0), (2.0, 4.0)),
            "features must have linearly independent columns: 2 features of 2 arms have rank 1",
        ),
        ((0.0, 2.0), None, "2 features of 2 arms have rank 1; pass fewer features"),
    ],
)
def test_features_that_do_not_fit_the_model(arms, features, message):
    from globalbandits.model import RewardModel

    model = RewardModel.from_functions([lambda theta: theta, lambda theta: 1.0 - theta], arms=arms)
    with pytest.raises(PolicyError, match=message):
        UncertaintyEllipsoid(features=features).setup(model)


def test_the_base_policy_has_no_setup():
    with pytest.raises(NotImplementedError):
        Policy().setup(model_of("linear"))


def test_numpy_features_are_accepted():
    given = UncertaintyEllipsoid(features=np.array([[1.0, 2.0], [0.5, 1.0]]))
    assert given.features == ((1.0, 2.0), (0.5, 1.0))


def as_numpy(value):
    """The same number as NumPy has it, such as from `np.arange`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    return np.int64(value) if isinstance(value, int) else np.float64(value)


NUMBERS = [
    *EVERY,
    gb.Limited(largest_step=2, start=1, low=1, high=4, cohort=3),
    gb.Elastic(horizon=100, exception=0.1, caution=0.1),
    gb.NonStationaryWAGP(drift_time=1000),
    gb.Safe(variance=0.1),
    gb.StopWhen(above=0.5, arm=1, decisions=9, prior=(0.0, 1.0)),
]


@pytest.mark.parametrize("spec", NUMBERS, ids=lambda spec: type(spec).__name__)
def test_numbers_of_numpy_become_plain_ones(spec):
    fields = {f.name: as_numpy(getattr(spec, f.name)) for f in dataclasses.fields(spec)}
    taken = type(spec)(**fields)
    assert taken == spec
    assert json.dumps(taken.to_dict()) == json.dumps(spec.to_dict())
    assert repr(taken) == repr(spec)
