"""Models from tables of means."""

import pickle

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator

import globalbandits as gb
from globalbandits.errors import ModelError
from globalbandits.model.analysis.functions import TableCurves

THETA = [0.0, 0.2, 0.5, 1.0]
MEANS = [[0.9, 0.1], [0.7, 0.2], [0.6, 0.3], [0.1, 0.8]]


@pytest.mark.parametrize("n_knots", [2, 3, 7, 40])
def test_curves_are_those_of_scipy(n_knots):
    source = np.random.default_rng(n_knots)
    knots = np.cumsum(source.uniform(0.1, 1.0, n_knots))
    means = np.column_stack(
        [np.cumsum(source.exponential(size=n_knots)), source.normal(size=n_knots)]
    )
    theta = np.linspace(knots[0], knots[-1], 999)
    found = TableCurves(knots, means)(np.arange(2), theta[:, None])
    for arm in range(2):
        expected = PchipInterpolator(knots, means[:, arm])(theta)
        assert found[:, arm] == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert (np.diff(found[:, 0]) > 0.0).all()


def test_a_table_is_a_model_with_exact_tables():
    model = gb.RewardModel.from_table(THETA, MEANS, arms=["low", "high"])
    assert model.domain == (0.0, 1.0)
    assert model.means(THETA) == pytest.approx(np.array(MEANS), abs=1e-15)
    assert model.resolution == 0.0
    theta = np.linspace(0.0, 1.0, 57)
    for arm in range(2):
        assert model.invert(arm, model.means(theta)[:, arm]) == pytest.approx(theta, abs=1e-10)
    # Segments begin at the knots, where the curve changes its polynomial.
    code = gb.RewardModel.from_functions(
        [PchipInterpolator(THETA, column) for column in np.transpose(MEANS)], ["low", "high"]
    )
    assert model.regions == code.regions
    assert set(THETA[:-1]) <= set(model.tables.mean.left.tolist())
    again = pickle.loads(pickle.dumps(model))
    assert again.fingerprint == model.fingerprint


def test_arms_domain_range_and_values_of_a_table():
    model = gb.RewardModel.from_table(
        THETA, 10 * np.array(MEANS), domain=(0.1, 0.9), reward_range=(0, 10), value="mean*(arm+1)"
    )
    assert (model.arms, model.domain, model.reward_range) == ((0, 1), (0.1, 0.9), (0.0, 10.0))
    assert model.worth(0.5) == pytest.approx([6.0, 6.0])
    each = gb.RewardModel.from_table(THETA, MEANS, values=["mean", lambda mean: 2 * mean])
    assert each.worth(0.5) == pytest.approx([0.6, 0.6])


def test_non_monotone_tables_must_be_declared():
    hump = [[0.1], [0.8], [0.7], [0.2]]
    with pytest.raises(
        ModelError,
        match=r"means\[2\]\[0\] must go on rising as the column does, or"
        r" monotone be False, got 0.8 at theta = 0.2 and 0.7 at 0.5",
    ):
        gb.RewardModel.from_table(THETA, hump)
    model = gb.RewardModel.from_table(THETA, hump, monotone=False)
    assert model.means(0.2) == pytest.approx([0.8])
    assert model.resolution == 1 / 4096


@pytest.mark.parametrize(
    ("theta", "means", "options", "message"),
    [
        ([0.0], [[0.1]], {}, r"theta must be a list of 2 to 2,000 numbers, got 'shape \(1,\)'"),
        (0.5, [[0.1]], {}, r"theta must be a list of 2 to 2,000 numbers"),
        ([0, 1, 1], [[1], [2], [3]], {}, r"theta\[2\] must be above theta\[1\] = 1, got 1"),
        ([0, np.nan], [[1], [2]], {}, r"theta must be finite, got \[nan\]"),
        ([0, 1], [[0.1, 0.2]], {}, r"means must have 2 rows, one per theta, each of a number for"),
        ([0, 1], [0.1, 0.2], {}, r"means must have 2 rows"),
        ([0, 1], [[0.1], [np.inf]], {}, r"means\[1\]\[0\] must be finite, got inf"),
        ([0, 1], [[0.1], ["x"]], {}, "means must be a number or numbers"),
        ([0, 1], [[0.1], [0.2]], {"arms": [1, 2]}, "each of 2 numbers, one per arm, got 'shape"),
        ([0, 1], [[0.1], [1.2]], {}, r"must lie in the reward range \[0, 1\], got 1\.\d+ at theta"),
        ([0, 1], [[0.1], [0.1]], {}, r"means\[1\]\[0\] must go on falling"),
        ([0, 1], [[0.1], [0.2]], {"domain": (0, 2)}, r"domain must lie within the table's paramet"),
        ([0, 1], [[0.1], [0.2]], {"value": "mean", "values": ["mean"]}, "values must not be given"),
        ([0, 1], [[0.1], [0.2]], {"values": ["mean", "mean"]}, "values must have 1 functions"),
    ],
)  # fmt: skip
def test_malformed_tables_are_refused(theta, means, options, message):
    with pytest.raises(ModelError, match=message):
        gb.RewardModel.from_table(theta, means, **options)


def test_any_model_has_a_table():
    model = gb.RewardModel(
        lambda t, p: p * np.exp(-p * t), [0.5, 1.0, 2.0], domain=(0.2, 2.0), reward_range=(0, 2),
        value=lambda mean, p: (p - 0.3) * mean - 0.1,
    )  # fmt: skip
    theta = np.linspace(0.2, 2.0, 991)
    far = [np.abs(model.to_table(n).worth(theta) - model.worth(theta)).max() for n in (26, 51, 101)]
    assert far[0] < 1e-3
    assert far[0] > 3 * far[1] > 9 * far[2]  # at the ends, where it is least, of second order
    table = model.to_table(np.geomspace(0.2, 2.0, 201))
    assert np.abs(table.worth(theta) - model.worth(theta)).max() < 1e-5
    again = gb.RewardModel.from_dict(table.to_dict())
    assert np.array_equal(again.worth(theta), table.worth(theta))
    curved = gb.RewardModel("arm * theta", [0.5], value=lambda mean, arm: mean**2)
    with pytest.raises(
        ModelError,
        match=r"value of arm 0.5 must be a formula or a straight line .*"
        r"bends by 0.25: write it as a text",
    ):
        curved.to_table()
    kept = gb.RewardModel("arm * theta", [0.5], value="mean**2").to_table(5)
    assert kept.to_dict()["value"] == "mean**2"
    with pytest.raises(ModelError, match="knots must be at least 2, got 1"):
        kept.to_table(1)
