"""`VectorModel`: construction, bad input, means and worth, fewer numbers, files and pickles."""

import copy
import json
import math
import pickle

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import ModelError
from globalbandits.model.vector_tables import (
    MEAN_MARGIN,
    gradients_at,
    means_at,
    means_at_many,
)
from tests.evidence.compiled import compiled

PRICES = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
BOX = {"level": (0.02, 0.2), "slope": (0.02, 0.6)}
FORMULA = "level * exp(-slope*arm)"


def shop(**options):
    return gb.VectorModel(FORMULA, PRICES, BOX, value="(arm - 1.5) * mean", **options)


def one_by_one(level, slope, price):
    # math.exp refuses arrays.
    return level * math.exp(-slope * price)


def mean(level, slope, price):
    return level * np.exp(-slope * price)


def profit(sold, price):
    return (price - 1.5) * sold


def test_names_and_box():
    model = shop()
    assert model.parameters == ("level", "slope")
    assert model.n_parameters == 2
    assert model.domain == BOX
    assert model.arms == tuple(PRICES)
    assert repr(model) == (
        "VectorModel(7 arms: 2.0, 3.0, 4.0, 5.0, ...; level in [0.02, 0.2], slope in [0.02, 0.6])"
    )


def test_means_worth_gaps_and_best_arms_follow_the_formula():
    model = shop()
    rng = np.random.default_rng(3)
    for level, slope in zip(rng.uniform(0.02, 0.2, 50), rng.uniform(0.02, 0.6, 50), strict=True):
        means = [one_by_one(level, slope, price) for price in PRICES]
        worth = [(price - 1.5) * m for price, m in zip(PRICES, means, strict=True)]
        theta = {"level": level, "slope": slope}
        assert model.means(theta) == pytest.approx(means, rel=1e-12)
        assert model.worth([level, slope]) == pytest.approx(worth, rel=1e-12)
        assert model.gaps(theta) == pytest.approx(max(worth) - np.array(worth), abs=1e-15)
        assert model.best_arms(theta) == (int(np.argmax(worth)),)
        assert model.suboptimality_gap(theta) == pytest.approx(
            sorted(max(worth) - np.array(worth))[1], abs=1e-15
        )


def test_arrays_of_parameters_broadcast():
    model = shop()
    levels = np.linspace(0.02, 0.2, 4)
    found = model.means({"level": levels[:, None], "slope": np.array([0.1, 0.2, 0.3])})
    assert found.shape == (4, 3, 7)
    assert found[2, 1] == pytest.approx(model.means([levels[2], 0.2]))


def test_ties_are_best_together():
    flat = gb.VectorModel("a*b + 0*arm", [1.0, 2.0], {"a": (0, 1), "b": (0, 1)})
    assert flat.best_arms([0.3, 0.4]) == (0, 1)
    assert flat.suboptimality_gap([0.3, 0.4]) == math.inf


@pytest.mark.parametrize("function", [one_by_one, mean], ids=["numbers", "arrays"])
def test_functions_and_formulas_agree(function):
    model = gb.VectorModel(function, PRICES, BOX, value=profit)
    assert model.same_observed(shop().observed_samples())
    assert model.worth([0.1, 0.2]) == pytest.approx(shop().worth([0.1, 0.2]))


def test_labels_as_arms():
    shares = {"small": 0.3, "large": 0.9}
    model = gb.VectorModel(
        lambda a, b, arm: a + b * shares[arm], list(shares), {"a": (0, 0.1), "b": (0.2, 0.9)}
    )
    assert model.means([0.1, 0.5]) == pytest.approx([0.25, 0.55])


# The tables.


@pytest.mark.parametrize(
    ("formula", "box"),
    [
        ("expit(a)*arm", {"a": (-3, 3)}),
        (FORMULA, BOX),
        ("top * expit(level - slope*arm)", {"level": (-1, 4), "slope": (0.25, 3), "top": (0.3, 1)}),
    ],
    ids=["one", "two", "three"],
)
def test_look_ups_agree_with_the_function(formula, box):
    arms = [0.2, 0.5, 1.0]
    model = gb.VectorModel(formula, arms, box)
    d = model.n_parameters
    rng = np.random.default_rng(d)
    points = rng.random((200, d))
    points[0], points[1] = 0.0, 1.0
    expected = model.means(model.from_unit(points))
    tolerance = max(4 * model.resolution, 1e-12)
    many = means_at_many(model.tables.nodes, model.tables.n_nodes, points)
    assert np.abs(many - expected).max() < tolerance
    for point, row in zip(points, expected, strict=True):
        found, slopes = np.empty(3), np.empty((d, 3))
        means_at(model.tables, point, found)
        assert found == pytest.approx(np.clip(row, MEAN_MARGIN, 1 - MEAN_MARGIN), abs=tolerance)
        gradients_at(model.tables, point, slopes)
        for axis in range(d):
            low, high = point.copy(), point.copy()
            low[axis], high[axis] = max(point[axis] - 1e-5, 0), min(point[axis] + 1e-5, 1)
            change = model.means(model.from_unit(high)) - model.means(model.from_unit(low))
            slope = change / (high[axis] - low[axis])
            assert slopes[axis] == pytest.approx(slope, abs=1e-3)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_compiled_look_ups_are_the_same_to_the_last_bit(d):
    names = "abc"[:d]
    model = gb.VectorModel(
        f"expit({' + '.join(names)} - arm)", [0.2, 0.5], dict.fromkeys(names, (-1.0, 1.0))
    )
    rng = np.random.default_rng(d)
    for point in rng.random((20, d)):
        found, again = np.empty((2, 2)), np.empty((2, d, 2))
        means_at(model.tables, point, found[0])
        compiled(means_at)(model.tables, point, found[1])
        assert np.array_equal(found[0], found[1])
        gradients_at(model.tables, point, again[0])
        compiled(gradients_at)(model.tables, point, again[1])
        assert np.array_equal(again[0], again[1])


def test_the_table_is_refined_until_it_is_exact():
    straight = gb.VectorModel("a + b*arm", [0.5, 1.0], {"a": (0, 0.1), "b": (0.2, 0.8)})
    assert (straight.tables.n_nodes, straight.resolution < 1e-14) == (33, True)
    curved = gb.VectorModel("expit(a - 20*b*arm)", [0.5, 1.0], {"a": (-5, 5), "b": (0, 1)})
    assert curved.tables.n_nodes > 65
    assert curved.resolution < 1e-6


def test_directions():
    model = shop()
    assert model.monotone
    assert model.tables.direction.tolist() == [[1.0, -1.0]] * 7
    turning = gb.VectorModel("4*a*(1-a)*b", [1.0], {"a": (0, 1), "b": (0, 1)})
    assert not turning.monotone
    assert turning.tables.direction.tolist() == [[0.0, 1.0]]


def test_unit_coordinates_and_back():
    model = shop()
    theta = {"level": 0.11, "slope": 0.31}
    assert model.to_unit(theta) == pytest.approx([0.5, 0.5])
    assert model.named(model.from_unit([0.5, 0.5])) == pytest.approx(theta)
    # The upper ends are exact.
    assert model.from_unit([1.0, 1.0]).tolist() == [0.2, 0.6]


# Bad input.


@pytest.mark.parametrize(
    ("mean", "domain", "message"),
    [
        ("a*arm", [(0, 1)], "domain must be a dict of named intervals"),
        ("a*arm", {}, "domain must have one to 3 parameters, got []"),
        ("a+b+c+d", dict.fromkeys("abcd", (0, 1)), "domain must have one to 3 parameters"),
        ("a*arm", {"": (0, 1)}, "must be a name of letters, digits and underscores, got ''"),
        ("a*arm", {3: (0, 1)}, "must be a name of letters, digits and underscores, got 3"),
        ("a*arm", {"a b": (0, 1)}, "must be a name of letters, digits and underscores"),
        ("arm", {"arm": (0, 1)}, "a parameter of the domain must not be one of arm, mean"),
        ("exp", {"exp": (0, 1)}, "a parameter of the domain must not be one of arm, mean"),
        ("a*arm", {"a": (0, math.inf)}, "domain['a'] high must be finite, got inf"),
        ("a*arm", {"a": (math.nan, 1)}, "domain['a'] low must be finite, got nan"),
        ("a*arm", {"a": (0.3, 0.3)}, "domain['a'] must have low < high, got (0.3, 0.3): write"),
        ("a*arm", {"a": (1, 0)}, "domain['a'] must have low < high, got (1, 0)"),
        ("a*arm", {"a": 0.5}, "domain['a'] must be a pair (low, high), got 0.5"),
        ("a*arm", {"a": (0, 1), "b": (0, 1)}, "got 'a*arm', which ignores 'b'"),
        (lambda a, b, arm: a * arm, {"a": (0, 1), "b": (0, 1)}, "got one that ignores 'b'"),
        ("a*c*arm", {"a": (0, 1)}, "mean must use only a and arm, and the functions exp"),
        ("3*a*arm", {"a": (0, 1)}, "mean of arm 1.0 must lie in the reward range [0, 1], got"),
        ("a/(a-a)", {"a": (0.1, 1)}, "must be finite"),
        (lambda a, arm: "x", {"a": (0, 1)}, "mean of arm 1.0 must return a number, got 'x' at a ="),
        (lambda a, arm: 1 / [], {"a": (0, 1)}, "must return a number, but raised TypeError"),
        (3, {"a": (0, 1)}, "mean must be a function of (a, arm), or a text with a formula, got 3"),
    ],
)
def test_bad_input_is_named(mean, domain, message):
    with pytest.raises(ModelError) as caught:
        gb.VectorModel(mean, [1.0], domain)
    assert message in str(caught.value)


def test_a_dict_given_to_reward_model_names_vector_model():
    with pytest.raises(ModelError, match="VectorModel takes several named parameters"):
        gb.RewardModel(FORMULA, PRICES, BOX)
    with pytest.raises(ModelError, match=r"VectorModel\.from_dict reads several"):
        gb.RewardModel.from_dict(shop().to_dict())
    with pytest.raises(ModelError, match=r"RewardModel\.from_dict reads one parameter"):
        gb.VectorModel.from_dict(gb.demand.linear([0.4, 0.6]).to_dict())


@pytest.mark.parametrize(
    ("theta", "message"),
    [
        ({"level": 0.1}, "theta must have a number for each of level, slope, got {'level': 0.1}"),
        ({"level": 0.1, "slop": 0.2}, "must be one of level, slope, got 'slop'; did you mean"),
        ([0.1, 0.7], "theta['slope'] must lie in [0.02, 0.6], got 0.7"),
        ([0.1, math.nan], "theta['slope'] must lie in [0.02, 0.6], got nan"),
        ([0.1], "theta must have 2 numbers, level, slope, got [0.1]"),
        (0.1, "theta must have 2 numbers, level, slope, got 0.1"),
        ("x", "theta must be a number or numbers, got 'x'"),
        ({"level": [0.1, 0.1], "slope": [0.1] * 3}, "theta must have arrays that broadcast"),
    ],
)
def test_bad_parameters_are_named(theta, message):
    with pytest.raises(ModelError) as caught:
        shop().means(theta)
    assert message in str(caught.value)


def test_several_vectors_are_refused_where_one_is_needed():
    with pytest.raises(ModelError, match="theta must be one vector of level, slope"):
        shop().best_arms([[0.1, 0.2], [0.1, 0.3]])


@pytest.mark.parametrize(
    ("ask", "what"),
    [
        (lambda model: model.invert(0, 0.5), "an inverse"),
        (lambda model: model.holder, "Hölder constants"),
        (lambda model: model.informativeness, "the informativeness"),
        (lambda model: model.suboptimality_distance([0.1, 0.2]), "the distance to the next region"),
    ],
)
def test_methods_for_one_number_name_their_replacement(ask, what):
    with pytest.raises(ModelError) as caught:
        ask(shop())
    text = str(caught.value)
    assert text.startswith(f"model must have one unknown number for {what}, got 2 (level, slope)")
    assert "model.fixed" in text


def test_a_function_that_changes_is_found():
    scale = [1.0]
    model = gb.VectorModel(
        lambda a, b, arm: scale[0] * a * b * arm, [0.5], {"a": (0, 1), "b": (0, 1)}
    )
    scale[0] = 0.5
    with pytest.raises(ModelError, match=r"mean of arm 0\.5 must not change after the model was"):
        model.means([0.5, 0.5])


def test_too_many_arms_for_the_table():
    with pytest.raises(ModelError, match="number of arms must be at most 222 for 3 parameters"):
        gb.VectorModel(
            "a*b*c*arm", np.linspace(0.1, 1, 223), {"a": (0, 1), "b": (0, 1), "c": (0, 1)}
        )


# Fewer unknown numbers.


@pytest.mark.parametrize(
    "source", [FORMULA, mean, one_by_one], ids=["formula", "arrays", "numbers"]
)
def test_a_known_number_gives_the_model_of_the_other(source):
    model = gb.VectorModel(source, PRICES, BOX, value=profit)
    fixed = model.fixed(level=0.1)
    assert isinstance(fixed, gb.RewardModel)
    assert (fixed.domain, fixed.monotone) == (BOX["slope"], True)
    for slope in (0.02, 0.3, 0.6):
        assert fixed.means(slope) == pytest.approx(model.means([0.1, slope]), rel=1e-12)
        assert fixed.worth(slope) == pytest.approx(model.worth([0.1, slope]), rel=1e-12)


def test_a_formula_stays_a_formula():
    fixed = shop().fixed(slope=0.3)
    assert fixed.to_dict()["mean"] == "theta * exp(-(0.3)*arm)"
    assert fixed.resolution == 0.0


def test_two_of_three_numbers_left():
    model = gb.VectorModel("a + b*arm + c*arm**2", [0.2, 0.5], dict.fromkeys("abc", (0.0, 0.3)))
    left = model.fixed(b=0.1)
    assert isinstance(left, gb.VectorModel)
    assert left.parameters == ("a", "c")
    assert left.means([0.2, 0.3]) == pytest.approx(model.means([0.2, 0.1, 0.3]))


def test_fixed_refuses():
    model = shop()
    for known, message in (
        ({}, "known must name one of level, slope"),
        ({"level": 0.1, "slope": 0.1}, "known must leave at least one parameter unknown"),
        ({"level": 3}, r"level must lie in \[0.02, 0.2\], got 3"),
        ({"height": 3}, "must be one of level, slope, got 'height'"),
    ):
        with pytest.raises(ModelError, match=message):
            model.fixed(**known)


@pytest.mark.parametrize("source", [FORMULA, mean], ids=["formula", "function"])
def test_along_a_line_of_the_box(source):
    model = gb.VectorModel(source, PRICES, BOX)
    line = model.along({"level": 0.1, "slope": 0.2}, {"level": 0.1, "slope": 0.4})
    assert line.domain == pytest.approx((-0.45, 1.0))
    assert line.means(0.5) == pytest.approx(model.means([0.15, 0.4]), rel=1e-12)
    level = model.along([0.1, 0.2], {"level": 1.0})
    assert level.domain == pytest.approx((-0.08, 0.1))
    with pytest.raises(ModelError, match="direction must have 2 finite numbers, not all of them 0"):
        model.along([0.1, 0.2], [0.0, 0.0])
    with pytest.raises(ModelError, match="must be one of level, slope, got 'x'"):
        model.along([0.1, 0.2], {"x": 1.0})


# Files, identity, pickles.


def test_a_description_survives_json_with_sorted_keys():
    model = gb.VectorModel("b*exp(-a*arm)", PRICES, {"b": (0.1, 0.2), "a": (0.0, 0.5)})
    text = json.dumps(model.to_dict(), sort_keys=True)
    again = gb.VectorModel.from_dict(json.loads(text))
    assert again.parameters == ("b", "a")
    assert again.fingerprint == model.fingerprint
    assert np.array_equal(again.tables.nodes, model.tables.nodes)


def test_files(tmp_path):
    model = shop()
    model.save(tmp_path / "shop.json")
    assert gb.load_model(tmp_path / "shop.json").fingerprint == model.fingerprint
    (tmp_path / "shop.toml").write_text(
        'mean = "level * exp(-slope*arm)"\narms = [2, 3]\ncost = 1.5\n'
        "[domain]\nlevel = [0.02, 0.2]\nslope = [0.02, 0.6]\n"
    )
    assert gb.load_model(tmp_path / "shop.toml").worth([0.1, 0.0 + 0.02]) == pytest.approx(
        [0.5 * 0.1 * math.exp(-0.04), 1.5 * 0.1 * math.exp(-0.06)]
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parameters": ["level"]}, "parameters must name each of level, slope once"),
        ({"parameters": ["level", "level"]}, "parameters must name each of level, slope once"),
        ({"parameters": 3}, "parameters must be a list of names, got 3"),
        ({"holder": {}}, "a key of a model with named parameters must be one of"),
        ({"value": ["mean"]}, "value must be one text where mean is"),
        ({"mean": 3}, "mean must be a text, got 3"),
        ({"domain": {"level": [0, 1]}}, "parameters must name each of level once"),
        ({"mean": None, "means": ["theta"]}, "model must have one of the keys"),
    ],
)
def test_bad_descriptions_are_named(change, message):
    with pytest.raises(ModelError) as caught:
        gb.VectorModel.from_dict(shop().to_dict() | change)
    assert message in str(caught.value)


def test_duplicate_names_in_a_file(tmp_path):
    path = tmp_path / "twice.json"
    path.write_text('{"mean": "a*arm", "arms": [1], "domain": {"a": [0, 1], "a": [0, 0.5]}}')
    with pytest.raises(ModelError, match="the key 'a' is there twice"):
        gb.load_model(path)


def test_python_functions_have_no_description():
    with pytest.raises(
        ModelError, match="mean must be a formula or of a catalogue to be described"
    ):
        gb.VectorModel(mean, PRICES, BOX).to_dict()


def test_identity():
    model = shop()
    assert copy.deepcopy(model) is model
    samples = json.loads(json.dumps(model.observed_samples()))
    assert model.same_observed(samples)
    # The identity depends on the order of the parameters and the box, and not on worth.
    assert gb.VectorModel(FORMULA, PRICES, BOX).same_observed(samples)
    swapped = {name: BOX[name] for name in ("slope", "level")}
    assert not gb.VectorModel(FORMULA, PRICES, swapped).same_observed(samples)
    wider = BOX | {"slope": (0.02, 0.7)}
    assert not gb.VectorModel(FORMULA, PRICES, wider).same_observed(samples)
    assert not gb.VectorModel("level*exp(-1.001*slope*arm)", PRICES, BOX).same_observed(samples)
    assert not model.same_observed({})
    assert not model.same_observed(None)
    fewer = gb.VectorModel(FORMULA, PRICES[2:], BOX)
    assert fewer.same_observed(samples, rows=[2, 3, 4, 5, 6])
    assert not fewer.same_observed(samples)


def test_pickles_keep_functions_or_their_tables():
    for model in (
        shop(),
        gb.VectorModel(mean, PRICES, BOX, value=profit),
        gb.VectorModel(
            lambda a, b, p: a * np.exp(-b * p), PRICES, BOX, value=lambda m, p: (p - 1.5) * m
        ),
    ):
        again = pickle.loads(pickle.dumps(model))
        theta = [0.13, 0.27]
        assert again.means(theta) == pytest.approx(model.means(theta), abs=1e-6)
        assert again.worth(theta) == pytest.approx(model.worth(theta), abs=1e-5)
        assert np.array_equal(again.tables.nodes, model.tables.nodes)
        assert again.fixed(level=0.1).best_arms(0.3) == model.fixed(level=0.1).best_arms(0.3)


def normal_prior(**options):
    given = {"mean": {"level": 0.1, "slope": -1.2}, "sd": {"level": 0.03, "slope": 0.4}}
    return gb.NormalPrior(**given | {"correlation": 0.3, "log": ["slope"]} | options)


def test_a_prior_is_part_of_the_model_and_of_its_file(tmp_path):
    model = shop().with_prior(normal_prior())
    assert model.prior == normal_prior()
    assert shop(prior=normal_prior()).to_dict() == model.to_dict()
    model.save(tmp_path / "shop.json")
    assert gb.load_model(tmp_path / "shop.json").prior == normal_prior()
    family = gb.demand.exponential(PRICES, cost=1.5, level=(0.02, 0.2)).with_prior(normal_prior())
    assert gb.VectorModel.from_dict(family.to_dict()).prior == normal_prior()
    assert pickle.loads(pickle.dumps(model)).prior == normal_prior()
    assert model.with_prior(None).prior is None
    assert shop().prior is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mean": {}}, "mean must be a dict of numbers by name"),
        ({"mean": [1, 2]}, "mean must be a dict of numbers by name"),
        ({"sd": {"level": 0.1}}, "sd must have the names of mean"),
        ({"sd": {"level": 0.0, "slope": 1.0}}, r"sd\['level'\] must be"),
        ({"mean": {"level": math.nan, "slope": 0.0}}, r"mean\['level'\] must be"),
        ({"correlation": 1.0}, r"correlation must lie in \(-1, 1\), got 1.0"),
        ({"log": ["slop"]}, "a name of log must be one of level, slope"),
    ],
)
def test_a_wrong_prior_is_refused(options, message):
    with pytest.raises(ModelError, match=message):
        normal_prior(**options)


def test_a_prior_must_fit_its_model():
    model = shop()
    other = gb.NormalPrior(mean={"level": 0.1}, sd={"level": 0.1})
    with pytest.raises(ModelError, match="prior must have a number for each of level, slope"):
        model.with_prior(other)
    far = normal_prior(mean={"level": 9.0, "slope": -1.2})
    with pytest.raises(
        ModelError, match=r"mean\['level'\] must lie within ten standard deviations"
    ):
        model.with_prior(far)
    with pytest.raises(ModelError, match="prior must be a NormalPrior, or None"):
        model.with_prior((0.1, 0.2))
    zero = gb.VectorModel("a + b*arm", [0.5, 1.0], {"a": (0, 0.1), "b": (0.2, 0.8)})
    logs = gb.NormalPrior(mean={"a": -2, "b": 0.5}, sd={"a": 1, "b": 1}, log=["a"])
    with pytest.raises(ModelError, match=r"domain\['a'\] must start above 0"):
        zero.with_prior(logs)
    single = gb.VectorModel("a*arm", [0.5, 1.0], {"a": (0, 0.1)})
    with pytest.raises(ModelError, match="correlation must be 0 for a model of one number"):
        single.with_prior(gb.NormalPrior(mean={"a": 0}, sd={"a": 1}, correlation=0.1))


def test_a_described_prior_is_checked():
    plain = shop().to_dict()
    with pytest.raises(
        ModelError, match="a key of prior must be one of mean, sd, correlation, log"
    ):
        gb.VectorModel.from_dict(plain | {"prior": {"men": {}}})
    with pytest.raises(ModelError, match="prior must be a table of mean, sd"):
        gb.VectorModel.from_dict(plain | {"prior": {"mean": {"level": 0.1, "slope": 0.2}}})
    line = {"mean": "theta*arm", "arms": [0.5, 1.0]}
    with pytest.raises(ModelError, match="prior must be left out of a model with one unknown"):
        gb.RewardModel.from_dict(line | {"prior": normal_prior().to_dict()})
