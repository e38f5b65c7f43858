"""Models with contexts: named segments that share the unknown numbers."""

import json

import numpy as np
import pytest

import globalbandits as gb

PRICES = [1.0, 2.0, 3.0]
OFFSETS = {"weekday": 0.0, "weekend": 1.0}


def mean(theta, price, offset):
    return 1 / (1 + np.exp(-(2 + offset - price * theta)))


def profit(sold, price, offset):
    return (price - 0.5 + 0.1 * offset) * sold


MODEL = gb.RewardModel(mean, PRICES, (0.5, 3.0), contexts=OFFSETS, value=profit)
FORMULA = gb.RewardModel(
    "expit(2 + context - arm*theta)",
    PRICES,
    (0.5, 3.0),
    contexts=OFFSETS,
    value="(arm - 0.5 + 0.1*context) * mean",
)
TWO = gb.VectorModel(
    "expit(level + context - slope*arm)",
    PRICES,
    {"level": (-1.0, 4.0), "slope": (0.25, 2.5)},
    contexts=OFFSETS,
    value="arm * mean",
)


def test_a_model_with_contexts_has_cells():
    assert MODEL.n_arms == 3
    assert MODEL.arms == (1.0, 2.0, 3.0)
    assert MODEL.contexts == ("weekday", "weekend")
    assert MODEL.n_cells == 6
    assert MODEL.cells.arms[4] == ("weekend", 2.0)
    assert MODEL.cells.tables.n_contexts == 2
    assert gb.RewardModel(lambda t, p: t * p, [0.5]).tables.n_contexts == 1
    assert repr(MODEL) == "RewardModel(3 arms in 2 contexts: weekday, weekend)"


@pytest.mark.parametrize("model", [MODEL, FORMULA], ids=["function", "formula"])
def test_means_worth_gaps_and_best_arms_of_a_context(model):
    thetas = np.array([0.7, 1.5, 2.9])
    for name, offset in OFFSETS.items():
        means = np.stack([mean(thetas, price, offset) for price in PRICES], axis=-1)
        worth = means * (np.array(PRICES) - 0.5 + 0.1 * offset)
        np.testing.assert_allclose(model.means(thetas, context=name), means, rtol=1e-12)
        np.testing.assert_allclose(model.worth(thetas, context=name), worth, rtol=1e-12)
        gaps = worth.max(axis=1, keepdims=True) - worth
        np.testing.assert_allclose(model.gaps(thetas, context=name), gaps, atol=1e-12)
        for theta, row, seen in zip(thetas, worth, means, strict=True):
            assert model.best_arms(theta, context=name) == (int(row.argmax()),)
            assert model.worth_of(1, seen[1], context=name) == pytest.approx(row[1])
    assert model.means(0.7).shape == (2, 3)
    one = model.in_context("weekend")
    assert one.arms == (1.0, 2.0, 3.0)
    assert one is model.in_context("weekend")
    np.testing.assert_array_equal(one.means(1.1), model.means(1.1, context="weekend"))


def test_two_numbers():
    theta = {"level": 1.0, "slope": 0.5}
    expected = [[1 / (1 + np.exp(-(1 + c - 0.5 * p))) for p in PRICES] for c in (0.0, 1.0)]
    np.testing.assert_allclose(TWO.means(theta), expected, rtol=1e-9)
    assert TWO.parameters == ("level", "slope")


def test_names_are_given_to_functions_as_they_are():
    model = gb.RewardModel(
        lambda theta, p, z: p * theta * (0.5 if z == "a" else 1.0), [0.5, 1.0], contexts=["a", "b"]
    )
    np.testing.assert_allclose(model.means(0.4), [[0.1, 0.2], [0.2, 0.4]])


@pytest.mark.parametrize("model", [FORMULA, TWO], ids=["one number", "two numbers"])
def test_formulas_are_saved_and_loaded(model, tmp_path):
    model.save(tmp_path / "model.json")
    assert gb.RewardModel.from_dict(FORMULA.to_dict()).contexts == FORMULA.contexts
    assert FORMULA.parameters == ("theta",)
    again = gb.load_model(tmp_path / "model.json")
    assert again.to_dict() == model.to_dict()
    assert again.fingerprint == model.fingerprint
    assert again.contexts == model.contexts
    json.dumps(model.to_dict())


def test_a_python_function_has_no_description():
    with pytest.raises(gb.ModelError, match="made of formulas"):
        MODEL.to_dict()


@pytest.mark.parametrize(
    ("contexts", "message"),
    [
        ([], "contexts must have at least one name"),
        ("weekday", "contexts must be names of contexts"),
        (["a", "a"], "contexts must be distinct"),
        ([1, 2], "contexts must have texts as names, got 1"),
        (7, "contexts must be names of contexts"),
    ],
)
def test_bad_contexts_are_refused(contexts, message):
    with pytest.raises(gb.ModelError, match=message):
        gb.RewardModel(lambda t, p, c: t * p, [0.5], contexts=contexts)


def test_other_bad_input_is_refused():
    with pytest.raises(gb.ModelError, match="contexts must be numbers where a formula uses contex"):
        gb.RewardModel("theta * arm * context", [0.5], contexts=["a"])
    with pytest.raises(gb.ModelError, match="inverse must be None with contexts"):
        gb.RewardModel(lambda t, p, c: t * p, [0.5], contexts=["a"], inverse=lambda x, p: x / p)
    with pytest.raises(gb.ModelError, match="context must be one of 'weekday', 'weekend', got 'x'"):
        MODEL.means(1.0, context="x")
    with pytest.raises(gb.ModelError, match="be at most 100,000 arms times contexts"):
        gb.RewardModel(lambda t, p, c: t, range(1000), contexts=[str(i) for i in range(101)])
    with pytest.raises(gb.ModelError, match="a key of a model with contexts"):
        gb.RewardModel.from_dict(FORMULA.to_dict() | {"penalty": 1.0})


def test_one_call_serves_many_cells():
    """A function of numbers is called with arrays of cells; other contexts give the same means."""
    calls = []

    def mean(theta, price, offset):
        calls.append(1)
        return 1 / (1 + np.exp(-(2 + np.asarray(offset).sum(axis=-1) - price * theta)))

    def plain(theta, price, offset):
        calls.append(1)
        return 1 / (1 + np.exp(-(2 + offset - price * theta)))

    prices, offsets = [1.0, 2.0, 3.0], {f"c{place}": place / 10 for place in range(10)}
    fast = gb.RewardModel(plain, prices, (0.5, 3.0), contexts=offsets)
    n_fast = len(calls)
    pairs = {name: (offset, 0.0) for name, offset in offsets.items()}
    slow = gb.RewardModel(mean, prices, (0.5, 3.0), contexts=pairs)
    assert n_fast < (len(calls) - n_fast) / 3
    theta = np.linspace(0.5, 3.0, 9)
    np.testing.assert_allclose(fast.means(theta), slow.means(theta), rtol=1e-13)
    np.testing.assert_allclose(fast.means(theta)[:, 4, 1], plain(theta, 2.0, 0.4), rtol=1e-13)


def test_a_table_may_have_contexts():
    theta = np.linspace(0.0, 1.0, 5)
    means = np.stack([[0.2 + 0.5 * theta, 0.9 - 0.3 * theta], [0.1 + 0.8 * theta, 0.5 * theta]])
    table = np.moveaxis(means, -1, 0)
    options = {"contexts": ["north", "south"], "value": "arm * mean"}
    model = gb.RewardModel.from_table(theta, table, [1.0, 2.0], **options)
    np.testing.assert_allclose(model.means(0.5), means[:, :, 2], atol=1e-12)
    np.testing.assert_allclose(model.worth(0.5, context="south"), [0.5, 0.5], atol=1e-12)
    again = gb.RewardModel.from_dict(json.loads(json.dumps(model.to_dict())))
    assert again.fingerprint == model.fingerprint
    with pytest.raises(gb.ModelError, match=r"means must have the shape \(n_knots, 2, 2\)"):
        gb.RewardModel.from_table(theta, table[:, :1], [1.0, 2.0], **options)
    with pytest.raises(gb.ModelError, match="arms must be given with contexts"):
        gb.RewardModel.from_table(theta, table, **options)
