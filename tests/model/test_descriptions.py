"""Models as data and as files: the same model again, bit for bit, or an error with the reason."""

import contextlib
import json
import os
import pickle
import random
from copy import deepcopy

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import ModelError
from globalbandits.model.catalogue.names import (
    families,
    full_name,
    parameters_of,
)
from globalbandits.model.files import (
    MAX_JSON_BYTES,
    MAX_TOML_BYTES,
)

N_FUZZ = int(os.environ.get("GLOBALBANDITS_FUZZ", "0")) // 50 or 80
TABLE = {"theta": [0.0, 0.5, 1.0], "means": [[0.9, 0.2], [0.6, 0.5], [0.1, 0.7]]}
HOLDER = gb.Holder([0.5, 1.0], 1.0, [0.5, 1.0], 1.0)

MODELS = {
    **{
        name: build([0.2, 0.5, 0.9])
        for name, build in families().items()
        if name != "demand.anchored"
    },
    "demand.anchored": gb.demand.anchored([0.2, 0.5, 0.9], today=0.6, rate=0.03),
    "cost": gb.demand.linear_power([0.4, 0.8], power=1.5, domain=(0.1, 0.9), cost=0.1),
    "sales": gb.demand.log_log([2.0, 3.0], cutoff=9.0, observe="sales"),
    "target": gb.dose.emax([1.0, 2.0, 5.0], hill=1.3, penalty=0.01, target=0.25),
    "formula": gb.RewardModel("arm * theta", [0.5, 1.0], holder=HOLDER),
    "valued": gb.RewardModel("(1 - arm*theta)**2", [0.4, 0.6], value="(arm - 0.3) * mean"),
    "formulas": gb.RewardModel.from_functions(
        ["1 - sqrt(theta)", "0.8*theta"], ["a", "é"], values=["mean", "mean**2"]
    ),
    "hump": gb.RewardModel("4*theta*(1-theta)*arm", [0.5, 1.0], monotone=False),
    "table": gb.RewardModel.from_table(TABLE["theta"], TABLE["means"], [3, "x"]),
    "valued table": gb.RewardModel.from_table(
        TABLE["theta"], TABLE["means"], [2.0, 4.0], (0.1, 0.9), value="arm * mean"
    ),
    "range": gb.RewardModel("arm*theta", [2.0, 9.0], (0.0, 1.0), reward_range=(0.0, 9.0)),
}


def flat(value):
    """All arrays and numbers of nested tuples."""
    if isinstance(value, tuple):
        return [part for entry in value for part in flat(entry)]
    return [np.asarray(value)]


@pytest.mark.parametrize("name", ["model.toml", "model"])
def test_a_file_that_could_not_be_read_again_is_not_written(name, tmp_path):
    with pytest.raises(ModelError, match=rf"model path must end in .json, got '.*{name}'"):
        gb.demand.linear([0.4, 0.6]).save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", MODELS)
def test_a_described_model_is_the_same_bit_for_bit(name, tmp_path):
    model = MODELS[name]
    path = tmp_path / "model.json"
    model.save(path)
    copies = [
        gb.load_model(path),
        gb.RewardModel.from_dict(json.loads(json.dumps(model.to_dict()))),
        pickle.loads(pickle.dumps(model)),
    ]
    for copy in copies:
        assert copy.to_dict() == model.to_dict()
        assert copy.arms == model.arms
        assert [type(arm) for arm in copy.arms] == [type(arm) for arm in model.arms]
        assert copy.fingerprint == model.fingerprint
        assert copy.regions == model.regions
        assert copy.resolution == model.resolution
        assert copy.remarks == model.remarks
        pairs = zip(flat(copy.tables), flat(model.tables), strict=True)
        assert all(np.array_equal(one, other, equal_nan=True) for one, other in pairs)
    if name == "formula":
        assert copies[0].holder.lower_constant.tolist() == [0.5, 1.0]


def test_a_description_names_the_values_that_were_chosen():
    assert gb.demand.logit([1.0, 2.0]).to_dict() == {
        "version": 1,
        "family": "demand.logit",
        "arms": [1.0, 2.0],
        "domain": [-2.3, 9.0],
        "sensitivity": 3.0,
        "observe": "revenue",
    }


def test_short_ways_to_write_a_description(tmp_path):
    path = tmp_path / "shop.toml"
    path.write_text(
        'mean = "exp(-arm*theta)"\narms = {from = 0.4, to = 0.6, step = 0.05}\ncost = 0.1\n'
    )
    shop = gb.load_model(path)
    assert shop.arms == (0.4, 0.45, 0.5, 0.55, 0.6)
    assert shop.worth(0.0) == pytest.approx([0.3, 0.35, 0.4, 0.45, 0.5])
    assert gb.load_model(str(path)).to_dict() == shop.to_dict()
    even = gb.RewardModel.from_dict(
        {"family": "linear-power", "arms": {"from": 0.4, "to": 0.95, "number": 12}}
    )
    assert even.arms[3] == 0.55
    dose = {"means": ["theta", "1 - theta"], "arms": [1, 2], "target": 0.3, "penalty": 0.01}
    assert gb.RewardModel.from_dict(dose).worth(0.5) == pytest.approx([-0.21, -0.22])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mean": None}, "mean must be a text, got None"),
        ({"mean": "arm * thta"}, r"mean must use only theta and arm.*did you mean 'theta'\?"),
        ({"men": 1, "mean": ...}, "a key of a model must be one of .*got 'men'; did you mean 'mea"),
        ({"vlue": "mean"}, "a key of a model with mean must be .*'vlue'; did you mean 'value'"),
        ({"table": {}}, r"one of the keys family, mean, means, table, got \['mean', 'table'\]"),
        ({"mean": ...}, "model must have one of the keys family, mean, means, table"),
        ({"version": 2}, "version must be 1, the version this package reads, got 2"),
        ({"version": True}, "version must be 1"),
        ({"arms": ...}, "model must have the key arms"),
        ({"arms": 3}, "arms must be a list of numbers or texts, or {from, to, step}, got 3"),
        ({"arms": []}, "arms must be 1 to 1,000, got 0"),
        ({"arms": list(range(1, 1002))}, "arms must be 1 to 1,000, got 1001"),
        ({"arms": [0.5, None]}, r"arms\[1\] must be a number or a text, got None"),
        ({"arms": [0.5, True]}, r"arms\[1\] must be a number or a text, got True"),
        ({"arms": [0.5, [1]]}, r"arms\[1\] must be a number or a text"),
        ({"arms": [0.5, float("nan")]}, r"arms\[1\] must be a number or a text, got nan"),
        ({"arms": [10**30]}, r"arms\[0\] must be a number or a text"),
        ({"arms": [0.5, 0.5]}, "arms must be distinct, got 0.5"),
        ({"arms": {"from": 0, "to": 1}}, "arms must have from and to, and either step or number"),
        ({"arms": {"from": 0, "two": 1}}, "a key of arms must be one of from, to, step, number"),
        ({"arms": {"from": 0, "to": 1, "step": 1e-9}}, "arms must be at most 1,000"),
        (
            {"arms": {"from": 1, "to": 0, "step": 0.5}},
            "arms must have first <= last and a positive step",
        ),
        (
            {"arms": {"from": 0, "to": 1, "step": 0}},
            "arms must have first <= last and a positive step",
        ),
        ({"arms": {"from": 0, "to": 1, "number": 10**9}}, r"arms\.number must be at most 1000"),
        ({"arms": ["low", 1]}, "arms must be numbers where the formula of the mean uses arm"),
        ({"domain": [1, 0]}, "domain must have low < high"),
        ({"domain": "wide"}, "domain must be a pair"),
        ({"reward_range": 3}, "reward_range must be a pair"),
        ({"monotone": 1}, "monotone must be True or False"),
        ({"value": 3}, "value must be a text, or a list of texts, got 3"),
        ({"value": ["mean", 3]}, r"value\[1\] must be a text, got 3"),
        ({"value": ["mean", "mean"]}, "value must be one text where mean is"),
        ({"value": "mean", "cost": 1}, r"what decisions are worth must be one of value, cost"),
        ({"cost": -1}, "cost must be at least 0"),
        ({"cost": "x"}, "cost must be a number"),
        ({"target": 2}, "target must lie strictly between 0 and 1"),
        ({"penalty": -1}, "penalty must be at least 0"),
        ({"holder": {"lower_constant": 1}}, "holder must have lower_constant, lower_exponent, upp"),
        ({"mean": "(" + "+".join(["theta"] * 90) + ")*arm", "arms": list(range(1, 300))},
         "mean must have at most 20,000 numbers, names, signs and functions for all arms"),
    ],
)  # fmt: skip
def test_a_wrong_formula_model_is_named(change, message):
    content = {"mean": "arm * theta", "arms": [0.5, 1.0]} | change
    with pytest.raises(ModelError, match=message):
        gb.RewardModel.from_dict({key: item for key, item in content.items() if item is not ...})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"family": "demand.liner"}, r"family must be one of .*'demand.liner'; did you mean"),
        ({"family": 3}, "family must be one of .* got 3"),
        ({"family": [[1]]}, r"family must be one of .* got \[\[1\]\]"),
        ({"family": "linear"}, "family must be one of .*'linear'"),
        ({"powr": 2}, "a key of demand.linear_power must be one of .*'powr'; did you mean 'power'"),
        ({"power": "two"}, "power must be a number, got 'two'"),
        ({"power": [1]}, "power must be a number"),
        ({"arms": [0.5, -1]}, r"arms\[1\] must be positive, got -1"),
        ({"arms": ["x"]}, r"arms\[0\] must be a number, got 'x'"),
        ({"domain": {"a": 1}}, "domain must be a pair"),
        ({"cost": 0.1, "observe": "revenue"}, "observe must be 'sales' where a cost is given"),
    ],
)
def test_a_wrong_catalogue_model_is_named(change, message):
    with pytest.raises(ModelError, match=message):
        gb.RewardModel.from_dict({"family": "demand.linear_power", "arms": [0.5, 0.9]} | change)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (3, "table must have theta and means, got 3"),
        ({"theta": [0, 1]}, r"table must have theta and means, got \['theta'\]"),
        (TABLE | {"x": 1}, "table must have theta and means"),
        (TABLE | {"theta": [0, 1, 0.5]}, r"table\.theta\[2\] must be above theta\[1\]"),
        (TABLE | {"theta": [0, "a", 1]}, r"table\.theta\[1\] must be a number, got 'a'"),
        (TABLE | {"means": [[1, 2], [1]]}, r"table\.means\[1\] must have 2 numbers, as the first"),
        (TABLE | {"means": [[1, 2], 3]}, r"table\.means\[1\] must be a list of numbers, got 3"),
        (TABLE | {"means": [[0.1, None]]}, r"table\.means\[0\]\[1\] must be a number, got None"),
        (TABLE | {"means": [[0.1, True]]}, r"table\.means\[0\]\[1\] must be a number, got True"),
        (TABLE | {"means": [[0.0] * 1000] * 101}, "table.means must have at most 100,000 numbers"),
        (TABLE | {"means": [[0.1], [0.3], [0.2]]}, r"table\.means\[2\]\[0\] must go on rising"),
        ({"theta": list(range(2001)), "means": [[k / 3000] for k in range(2001)]},
         r"table\.theta must be a list of 2 to 2,000 numbers"),
    ],
)  # fmt: skip
def test_a_wrong_table_is_named(table, message):
    with pytest.raises(ModelError, match=message):
        gb.RewardModel.from_dict({"table": table})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], r"model must be a dict, or a table of a file, got \[\]"),
        ({1: 2}, "model must have texts as keys, got 1"),
        ({"means": "theta"}, "means must be a list of texts, one per arm, got 'theta'"),
        ({"means": []}, "means must be 1 to 1,000, got 0"),
        ({"means": ["theta", 1]}, r"means\[1\] must be a text, got 1"),
        ({"means": ["theta"], "arms": [1, 2]}, "arms must be 1, one per mean, got 2"),
        ({"means": ["theta", "arm"]}, r"means\[1\] must use only theta, .* got 'arm'"),
        ({"means": ["theta"], "value": ["theta"]}, r"value\[0\] must use only mean"),
        (
            {"means": ["theta"], "arms": ["a"], "cost": 1},
            "arms must be numbers where cost is given",
        ),
        ({"table": TABLE, "holder": {}}, "a key of a model with table must be .*'holder'"),
    ],
)
def test_other_wrong_descriptions_are_named(content, message):
    with pytest.raises(ModelError, match=message):
        gb.RewardModel.from_dict(content)


def test_python_functions_are_refused_with_the_advice_to_use_a_table(tmp_path, monkeypatch):
    model = gb.RewardModel(lambda t, p: p * t, [0.5, 1.0])
    with pytest.raises(ModelError, match=r"got a Python function: .* describe model\.to_table\(\)"):
        model.save(tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []
    model.to_table().save(tmp_path / "model.json")
    assert gb.load_model(tmp_path / "model.json").same_observed(model.observed_samples())
    valued = gb.RewardModel("arm*theta", [0.5], value=lambda mean, arm: mean)
    with pytest.raises(ModelError, match="value must be a formula to be described, got a Python"):
        valued.to_dict()
    inverted = gb.RewardModel("arm*theta", [0.5], inverse=lambda mean, arm: mean / arm)
    with pytest.raises(ModelError, match="inverse must be left out of a model that is described"):
        inverted.to_dict()
    odd = gb.RewardModel("theta", [(1, 2)])
    with pytest.raises(ModelError, match=r"arms must be numbers or texts to be described, got \(1"):
        odd.to_dict()
    monkeypatch.setattr("globalbandits.model.description.MAX_ARMS", 2)
    with pytest.raises(ModelError, match="arms must be at most 2 to be described, got 3"):
        gb.demand.linear([0.1, 0.5, 0.9]).to_dict()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "{", r"a\.json must be JSON: "),
        ("a.json", '{"mean": "theta", "arms": [1], "mean": "x"}', "the key 'mean' is there twice"),
        ("a.json", '{"mean": "theta", "arms": [NaN]}', "a.json must be JSON: NaN is no number"),
        ("a.json", "[" * 100_000, r"a\.json must not be nested that deep"),
        ("a.json", '{"arms": [' + "9" * 5000 + "]}", r"a\.json must be JSON: Exceeds the limit"),
        ("a.json", "\udcff", r"a\.json must be JSON: .*utf-8"),
        ("a.json", " " * (MAX_JSON_BYTES + 1), "a.json must have at most 8,000,000 bytes"),
        ("a.toml", " " * (MAX_TOML_BYTES + 1), "a.toml must have at most 1,000,000 bytes"),
        ("a.toml", "mean = ", r"a\.toml must be TOML: "),
        ("a.toml", "mean = 'theta'\narms = [1]\ndomain = [1, 0]", r"a\.toml: domain must have low"),
        ("a.yaml", "x", r"a model file must end in \.json or \.toml, got .*a\.yaml"),
    ],
)
def test_files_that_hold_no_model_are_refused(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ModelError, match=message):
        gb.load_model(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"none\.json cannot be read: No such file or directory"):
        gb.load_model(tmp_path / "none.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(ModelError, match=r"folder\.json cannot be read: Is a directory"):
        gb.load_model(tmp_path / "folder.json")


def test_families_have_one_full_name_and_several_ways_to_write_it():
    for name in ("linear-power", "linear_power", "demand.linear-power", "demand.linear_power"):
        assert full_name(name) == "demand.linear_power"
    assert len(families()) == len(gb.demand.__all__) + len(gb.dose.__all__)
    assert parameters_of("dose.emax") == ("hill", "level", "ed50", "domain", "penalty", "target")


VALUES = [
    None, True, 0, -1, 2.5, 1e308, 1e-320, float("nan"), float("inf"), 10**30, "", "x", "theta", [],
    [1], [[1]], {}, {"a": 1}, {"from": 0, "to": 1, "number": 3}, ["theta"], [0.1, 0.5, 0.9], b"x",
]  # fmt: skip
KEYS = ["domain", "value", "cost", "target", "version", "power", "monotone", "x", "table", "holder"]


def test_fuzzed_descriptions_are_models_or_errors_of_ours():
    source = random.Random(3)
    described = [model.to_dict() for model in MODELS.values()]
    for _ in range(N_FUZZ):
        content = deepcopy(source.choice(described))
        for _ in range(source.randint(1, 3)):
            if source.random() < 0.7:
                key = source.choice([*content, *KEYS])
                content[key] = deepcopy(source.choice(VALUES))
            elif content:
                del content[source.choice([*content])]
        with contextlib.suppress(gb.GlobalBanditsError):  # no other error comes out
            gb.RewardModel.from_dict(content)
