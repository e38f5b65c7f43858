"""Spec files: what they mean, and messages with the file, the key, the rule, the value, a hint."""

import tomllib

import jsonschema_rs
import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import ScenarioError
from globalbandits.simulation.sweeps.examples import NAMES, example_text
from globalbandits.simulation.sweeps.plan import (
    axes_of,
    make_plan,
    points,
)
from globalbandits.simulation.sweeps.spec import (
    Reader,
    make_policy,
    spec_schema,
)
from globalbandits.simulation.sweeps.sweep import plan_of
from tests.simulation.sweeps.worlds import SPEC

GONE = object()


def changed(path, value):
    """The spec with another value at a dotted key."""
    content = {**SPEC, "sweep": {}} | {
        key: dict(item) for key, item in SPEC.items() if isinstance(item, dict)
    }
    *tables, last = path.split("/")
    table = content
    for name in tables:
        table[name] = dict(table[name]) if isinstance(table.get(name), dict) else {}
        table = table[name]
    if value is GONE:
        del table[last]
    else:
        table[last] = value
    return content


# Wrong in a way that the schema shows to an editor, too.
BAD_FORM = [
    ("horizn", 5, "a key of the spec must be one of .*'horizn'; did you mean 'horizon'"),
    ("horizon", GONE, "the spec must have the key horizon"),
    ("horizon", 0, "horizon must be at least 1, got 0"),
    ("horizon", "long", "horizon must be an integer, got 'long'"),
    ("runs", 2.5, "runs must be an integer, got 2.5"),
    ("seed", -1, "seed must be at least 0, got -1"),
    ("spacing", "even", "spacing must be 'linear' or 'log', got 'even'"),
    ("evidence", 1, "evidence must be true or false, got 1"),
    ("model", 3, "model must be a table, got 3"),
    ("model", {}, "model must have one of the keys family, mean, means, table"),
    ("model/arms", [0.5, None], r"model.arms\[1\] must be a number or a text, got None"),
    ("model/domian", [0, 1], "model: a key of a model with mean must be .*did you mean 'domain'"),
    ("model", {"family": "linear-powr", "arms": [1]}, "model.family must be .*'linear-power'"),
    ("model", {"file": "a.json", "x": 1}, "model.file must be a text, the only key"),
    ("environment", [], r"environment must be a table, got \[\]"),
    ("environment/theta", {"intervl": [0, 1]}, "environment: a key of theta .*'interval'"),
    ("environment/nose", "beta", "a key of environment must be .*did you mean 'noise'"),
    ("environment/noise", "bta", "environment.noise must be one of .*did you mean 'beta'"),
    ("environment/noise", {"kind": "beta", "a": 1}, "environment.noise: parameter of beta must"),
    ("environment/drift", {"kind": "linear"}, "environment.drift: a drift spec must have the par"),
    ("environment/truth", {"family": "dose.emax"}, "environment.truth must have theta"),
    ("policies", {}, "policies must be at least one"),
    ("policies", 3, "policies must be a table of policies, or a list of their names, got 3"),
    ("policies/W", "wagpp", "policies.W: policy must be one of .*did you mean 'wagp'"),
    ("policies/W", 3, "policies.W: policy must be a name, or a table with policy = name, got 3"),
    ("policies/W", {"policy": "buw", "scle": 1}, "policies.W: parameter of buw .*'scale'"),
    ("stop", {"abve": 1}, "a key of stop must be .*did you mean 'above'"),
    ("sweep", 3, "sweep must be a table of keys, got 3"),
    ("sweep", {"horizon": 3}, "sweep.horizon must be a list, .* got 3"),
    ("sweep", {"horizon": []}, "sweep.horizon must have 1 to 100,000 values, got 0"),
    ("sweep", {"horizon": {"from": 1, "to": 9}}, "sweep.horizon must have from and to, and either"),
]  # fmt: skip

# Wrong by what it means: by other keys, by code, by numbers.
BAD_MEANING = [
    ("checkpoints", [5, 3], "checkpoints must be increasing time steps"),
    ("model/mean", "arm * thta", "model.mean must use only theta and arm.*did you mean 'theta'"),
    ("model/domain", [1, 0], "model.domain must have low < high"),
    ("model", {"file": "none.json"}, "model: .*none.json cannot be read: No such file"),
    ("model", {"object": "nothing_here:x"}, "model.object: nothing_here cannot be loaded"),
    ("model", {"object": "math:pi"}, "model.object must name a RewardModel or a VectorModel"),
    ("environment/theta", 7, r"environment.theta must lie in the domain \[0, 1\], got 7"),
    ("environment/theta", GONE, "environment: theta must be given where there is no truth"),
    ("environment/bias", {"kind": "uniform", "size": -1}, "environment.bias.size must be at least"),
    ("policies", ["ucb1", "ucb1"], r"policies\[1\]: policy must be there once, got 'UCB1'"),
    ("policies/W", {"policy": "buw", "scale": -1}, "policies.W.scale must be"),
    ("policies/W", "nothing_here:X", "policies.W: policy: nothing_here cannot be loaded"),
    ("policies/W", "math:pi", "policies.W: policy must name a policy, or a policy class"),
    ("stop", {"above": 0.5, "confidence": 2}, "stop.confidence must lie strictly between 0 and 1"),
    ("sweep", {"horizon": [1, 1]}, "sweep.horizon must have different values"),
    ("sweep", {"horizn": [1]}, r"a key of the spec must be .*'horizn'.*\(at horizn = 1\)"),
    ("sweep", {"runs.x": [1]}, "sweep.runs.x must lead through tables of the spec, not thr"),
    ("sweep", {"environment.theta": [0.5, 3.0]}, r"theta must.*\(at environment.theta ="),
    ("sweep", {"a": list(range(1100)), "b": list(range(1100))}, "must have at most 1,000,0"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "message"), [*BAD_FORM, *BAD_MEANING])
def test_what_is_wrong_is_named_with_its_key(path, value, message):
    with pytest.raises(ScenarioError, match=message):
        make_plan(changed(path, value))


def test_messages_carry_the_file(tmp_path):
    path = tmp_path / "mine.toml"
    for text, message in [
        ("horizn = 3", r"mine.toml: a key of the spec .*did you mean 'horizon'"),
        ("horizon = ", r"mine.toml must be TOML: "),
    ]:
        path.write_text(text)
        with pytest.raises(ScenarioError, match=message):
            plan_of(path)
    with pytest.raises(ScenarioError, match=r"none.toml cannot be read: No such file"):
        plan_of(tmp_path / "none.toml")
    with pytest.raises(ScenarioError, match=r"spec must be a .toml file, got 'mine.yaml'"):
        plan_of("mine.yaml")


def test_models_files_and_objects(tmp_path, monkeypatch):
    model = gb.RewardModel("arm * theta", [0.5, 1.0])
    model.save(tmp_path / "model.json")
    (tmp_path / "own_models_here.py").write_text(
        "import globalbandits as gb\nmodel = gb.RewardModel(lambda t, a: a * t, [0.5, 1.0])\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    reader = Reader(tmp_path)
    for content in ({"file": "model.json"}, {"object": "own_models_here:model"}, model):
        assert reader.model("model", content).fingerprint == model.fingerprint
    same = [reader.model("model", {"file": "model.json"}) for _ in range(2)]
    assert same[0] is same[1]  # analysed once


def test_environments_are_those_of_python():
    reader = Reader()
    env = reader.read(changed("environment", {
        "theta": {"samples": [0.2, 0.4], "weights": [3, 1]},
        "noise": {"kind": "truncated-normal", "sd": 0.1},
        "bias": {"kind": "uniform", "size": 0.1},
    })).environment  # fmt: skip
    assert env.theta == gb.Population(samples=(0.2, 0.4), weights=(3.0, 1.0))
    assert env.noise == gb.TruncatedNormalNoise(sd=0.1)
    assert env.bias == gb.UniformBias(0.1)
    truth = reader.read(changed("environment/truth", {"mean": "arm*theta", "theta": 0.5}))
    assert truth.environment.true_means() == pytest.approx([0.2, 0.3, 0.4])
    means = reader.read(changed("environment/truth", [0.1, 0.2, 0.3])).environment
    assert means.true_means().tolist() == [0.1, 0.2, 0.3]


def test_several_numbers_have_names():
    two = {"mean": "a + b*arm", "arms": [0.2, 0.4], "domain": {"a": [0, 0.4], "b": [0, 1]}}
    spec = {
        "horizon": 10,
        "runs": 2,
        "model": two,
        "environment": {"theta": {"a": 0.1, "b": 0.5}},
        "policies": ["ids"],
        "sweep": {"environment": {"theta": {"b": [0.25, 0.5]}}},
    }
    jsonschema_rs.validate(spec_schema(), spec)
    plan = make_plan(spec)
    assert [axis.name for axis in plan.axes] == ["b"]
    env = Reader().read({key: spec[key] for key in spec if key != "sweep"}).environment
    assert env.true_means() == pytest.approx([0.2, 0.3])
    wrong = spec | {"environment": {"theta": {"a": 0.1, "c": 0.5}}, "sweep": {}}
    with pytest.raises(gb.GlobalBanditsError, match="name of theta must be one of a, b, got 'c'"):
        make_plan(wrong)


def test_policies_by_kind_by_class_and_by_place():
    assert make_policy("ucb1") == make_policy("UCB1") == gb.UCB1()
    assert make_policy({"policy": "globalbandits:BUW", "scale": 2.0}) == gb.BUW(scale=2.0)
    assert make_policy(gb.WAGP()) == gb.WAGP()
    listed = Reader().read(changed("policies", ["wagp", {"policy": "buw", "scale": 2.0}])).policies
    assert list(listed) == ["WAGP", "BUW(scale=2.0)"]


def test_the_axes_of_a_sweep():
    spec = changed("policies/a.b", "buw")
    sweep = tomllib.loads(
        "horizon = {from = 10, to = 30, step = 10}\nenvironment.theta = {from=0, to=1, number=3}\n"
        'policies."a.b".scale = [0.5, 1.0]\n"environment.noise.sd" = [0.1]\n'
    )
    axes = axes_of(sweep)
    assert [(axis.name, axis.values) for axis in axes] == [
        ("horizon", (10, 20, 30)),
        ("theta", (0.0, 0.5, 1.0)),
        ("scale", (0.5, 1.0)),
        ("sd", (0.1,)),
    ]
    spec["environment"]["noise"] = "truncated-normal"
    found = list(points(spec, axes))
    assert len(found) == 18
    assert found[1]["policies"]["a.b"] == {"policy": "buw", "scale": 1.0}
    assert found[-1]["horizon"] == 30
    assert found[0]["environment"]["noise"] == {"kind": "truncated-normal", "sd": 0.1}
    assert spec["policies"]["a.b"] == "buw"  # the spec itself is as it was
    both = axes_of({"policies.a.scale": [1], "policies.b.scale": [2], "model.arms": [[1, 2], [3]]})
    assert [axis.name for axis in both] == ["policies.a.scale", "policies.b.scale", "arms"]
    assert both[2].labels == ["[1, 2]", "[3]"]


def test_whole_numbers_stay_whole():
    (axis,) = axes_of({"horizon": {"from": 10, "to": 20, "number": 3}})
    assert str(axis.values) == "(10, 15, 20)"
    (axis,) = axes_of({"environment.theta": {"from": 0, "to": 1, "number": 3}})
    assert str(axis.values) == "(0.0, 0.5, 1.0)"


def test_names_of_tasks_depend_on_the_computation_only():
    def name(**changes):
        return make_plan(SPEC | changes).tasks[0].name

    plain = name()
    assert name() == name(title="x") == name(sweep={"runs": [5]}) == plain
    assert name(policies={"even": gb.Uniform(), "first": gb.ExploreThenCommit()}) == plain
    others = [
        name(runs=6),
        name(seed=1),
        name(horizon=41),
        name(checkpoints=5),
        name(evidence=True),
        name(stop={"decisions": 3}),
        name(environment={"theta": 0.41}),
        name(environment={"theta": 0.4, "noise": "bernoulli"}),
        name(policies={"even": "uniform"}),
        name(policies={"even": "uniform", "first": gb.ExploreThenCommit(plays=2)}),
        name(model=SPEC["model"] | {"value": "2*mean"}),
        name(model=gb.RewardModel(lambda t, a: a * (1 - a * t) ** 2, [0.4, 0.6, 0.8])),
        name(model=gb.RewardModel(
            lambda t, a: a * (1 - a * t) ** 2, [0.4, 0.6, 0.8], value=lambda m, a: 2 * m)),
    ]  # fmt: skip
    assert len({plain, *others}) == len(others) + 1


def test_a_result_of_other_constants_of_ours_is_another_task(monkeypatch):
    def name():
        return make_plan(SPEC | {"policies": {"e": "elastic"}}).tasks[0].name

    before = name()
    assert name() == before
    monkeypatch.setattr("globalbandits.policies.elastic.arm_index.FAR_SHARE", 0.5)
    assert name() != before


@pytest.mark.parametrize("name", NAMES)
def test_every_example_is_read_and_fits_the_schema(name):
    content = tomllib.loads(example_text(name))
    plan = make_plan(content)
    assert len(plan.tasks) == np.prod(plan.shape) > 1
    jsonschema_rs.validate(spec_schema(), content)


def test_the_schema_refuses_what_the_reader_refuses():
    validator = jsonschema_rs.validator_for(spec_schema())
    assert validator.is_valid(changed("runs", 5))
    for path, value, _ in BAD_FORM:
        assert not validator.is_valid(changed(path, value)), (path, value)


def test_the_schema_accepts_what_the_reader_accepts():
    validator = jsonschema_rs.validator_for(spec_schema())
    for path, value in [
        ("policies", ["wagp", {"policy": "buw", "scale": 0.5}]),
        ("policies", {"x": {"policy": "globalbandits:BUW", "scale": 1.0}}),
        ("checkpoints", [10, 40]),
        ("environment/theta", {"interval": [0.2, 0.4]}),
        ("environment/noise", {"kind": "truncated-normal", "sd": 0.1}),
        ("environment/truth", [0.1, 0.2, 0.3]),
        ("model", {"family": "linear-power", "arms": {"from": 0.4, "to": 0.6, "number": 3}}),
        ("model", {"table": {"theta": [0, 1], "means": [[0.1], [0.2]]}}),
        ("model", {"means": ["theta", "1 - theta"], "value": ["mean", "2*mean"]}),
        ("sweep", {"environment": {"theta": [0.1, 0.2]}, "runs": {"from": 1, "to": 3, "step": 1}}),
        ("stop", {"decisions": 3}),
    ]:
        content = changed(path, value)
        assert validator.is_valid(content), (path, value)
        make_plan(content)
