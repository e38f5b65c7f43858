import math

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.model import tables as tables_module
from globalbandits.model.tables import evaluate, find_cell, find_segment, largest_value, value_of
from tests.model.families import PRICES, THREE_ARMS, pricing
from tests.model.valued import VALUED, unit_worth

ODD = [math.nan, math.inf, -math.inf, 1e308, -1e308, 0.0, 1.0, 5e-324]


@pytest.mark.parametrize("name", VALUED)
def test_tables_give_value_and_worth(name):
    model = VALUED[name]()
    low, high = model.worth_range
    thetas = np.linspace(*model.domain, 1501)
    worth = (model.worth(thetas) - low) / (high - low)
    means = np.linspace(0.0, 1.0, 1501)
    for arm in range(model.n_arms):
        found = [evaluate(model.tables.worth, arm, float(theta)) for theta in thetas]
        assert found == pytest.approx(worth[:, arm], abs=2e-12)
        found = [value_of(model.tables, arm, float(mean)) for mean in means]
        assert found == pytest.approx(unit_worth(model, arm, means), abs=2e-12)


@pytest.mark.parametrize("name", VALUED)
def test_the_largest_value_in_an_interval(name):
    model = VALUED[name]()
    rng = np.random.default_rng(1)
    for arm in range(model.n_arms):
        for low, high in np.sort(rng.random((15, 2)), axis=1).tolist():
            dense = unit_worth(model, arm, np.linspace(low, high, 4001))
            found = largest_value(model.tables, arm, low, high)
            assert found >= dense.max() - 2e-12
            # A peak between two of the points may be higher by what a slope or a bend allows.
            slope = np.abs(np.diff(dense)).max()
            assert found <= dense.max() + slope + 2e-12


@pytest.mark.parametrize(
    ("value", "peaks"),
    [
        (lambda m, a: -np.abs(m - 0.25), [0.25]),
        (lambda m, a: (a - 2.0) * m, []),
        (lambda m, a: m * (1.0 - m), [0.5]),
        (lambda m, a: np.cos(10.0 * (m - 0.35)), [0.35, 0.35 + math.pi / 5.0]),
        (lambda m, a: np.minimum(m, 0.4), []),
        (lambda m, a: np.minimum(np.minimum(m, 0.4), 1.0 - m), [0.5]),
    ],
)
def test_peaks_are_the_inner_local_maxima(value, peaks):
    model = gb.RewardModel(lambda t, a: t**a, [1.0, 2.0, 3.0], value=value)
    found = model.tables.peaks
    assert len(found.starts) == model.n_arms + 1
    for arm in range(model.n_arms):
        positions = found.positions[found.starts[arm] : found.starts[arm + 1]]
        assert len(positions) == len(peaks)
        for position, peak in zip(positions, peaks, strict=True):
            # A flat top is met anywhere on it; a smooth one as exactly as rounded values allow.
            assert unit_worth(model, arm, position) == pytest.approx(
                unit_worth(model, arm, peak), abs=1e-12
            )


def test_straight_values_are_slope_and_offset():
    model = gb.demand.exponential([2.0, 3.0, 5.0], cost=1.0)
    low, high = model.worth_range
    means = np.linspace(0.0, 1.0, 11)
    for arm in range(3):
        line = model.tables.value_slope[arm] * means + model.tables.value_offset[arm]
        expected = (model.worth_of(arm, means) - low) / (high - low)
        assert line == pytest.approx(expected, abs=1e-15)
    assert model.tables.affine_increasing
    assert not gb.demand.exponential([2.0, 3.0], cost=2.0).tables.affine_increasing  # one is flat
    assert not gb.demand.exponential([2.0, 3.0], cost=2.5).tables.affine_increasing  # one falls
    assert not gb.dose.linear([1.0, 2.0], target=0.3).tables.affine_increasing
    assert gb.dose.linear([1.0, 2.0], penalty=0.3).tables.affine_increasing
    nearly = gb.RewardModel(pricing, PRICES, value=lambda m, p: m + 1e-9 * m**2)
    assert not nearly.tables.affine_increasing
    rounded = gb.RewardModel(
        pricing, PRICES, value=lambda m, p: (m * 3.0 + 0.1) / 7.0 + 1e-14 * m**2
    )
    assert rounded.tables.affine_increasing


def test_without_a_value_a_mean_is_its_own_worth_to_the_bit():
    tables = gb.RewardModel(pricing, PRICES).tables
    assert not tables.valued
    assert tables.affine_increasing
    assert value_of(tables, 3, 0.1 + 0.2) == 0.1 + 0.2
    assert largest_value(tables, 3, 0.1, 0.1 + 0.2) == 0.1 + 0.2
    assert tables.value_slope.tolist() == [1.0] * 12
    assert tables.value_offset.tolist() == [0.0] * 12
    assert evaluate(tables.value, 11, 0.3) == pytest.approx(0.3, abs=1e-15)


@pytest.mark.parametrize("name", ["target", "profit", "steep at an end"])
def test_no_look_up_reads_out_of_bounds(name):
    model = VALUED[name]()
    tables = model.tables
    for arm in range(model.n_arms):
        first, last = tables.value.guide[arm, 0], tables.value.guide[arm, -1]
        for odd in ODD:
            assert first <= find_segment(tables.value, arm, odd) <= last
            for curves in (tables.mean, tables.inverse, tables.worth, tables.value):
                assert math.isfinite(evaluate(curves, arm, odd))
            assert math.isfinite(value_of(tables, arm, odd))
            for other in ODD:
                assert math.isfinite(largest_value(tables, arm, odd, other))
    for odd in ODD:
        assert 0 <= find_cell(tables.envelope, odd) < len(tables.envelope.starts) - 1
    assert value_of(tables, 0, math.nan) == tables.value.at_low[0]
    assert find_cell(tables.envelope, math.nan) == 0
    assert tables.inverse.at_low[0] == evaluate(tables.inverse, 0, math.nan)
    from globalbandits.model.analysis.curves import evaluate_many

    assert evaluate_many(tables.value, 0, np.array([math.nan]))[0] == tables.value.at_low[0]


def test_compiled_functions_give_the_same_bits(monkeypatch):
    import numba

    compiled = {}
    for name in ("evaluate_segment", "find_segment", "evaluate", "value_of", "largest_value"):
        compiled[name] = numba.njit(getattr(tables_module, name))
    plain_value, plain_largest = value_of, largest_value
    for name in ("evaluate_segment", "find_segment", "evaluate"):
        monkeypatch.setattr(tables_module, name, compiled[name])
    rng = np.random.default_rng(2)
    points = np.concatenate([rng.random((200, 2)), [[a, b] for a in ODD for b in ODD]])
    models = [VALUED["target"](), VALUED["waves"](), gb.RewardModel.from_functions(THREE_ARMS)]
    fast = [
        [
            (
                compiled["value_of"](model.tables, arm, a),
                compiled["largest_value"](model.tables, arm, a, b),
            )
            for arm in range(model.n_arms)
            for a, b in points
        ]
        for model in models
    ]
    monkeypatch.undo()
    slow = [
        [
            (plain_value(model.tables, arm, a), plain_largest(model.tables, arm, a, b))
            for arm in range(model.n_arms)
            for a, b in points
        ]
        for model in models
    ]
    assert np.array_equal(np.concatenate(fast), np.concatenate(slow), equal_nan=True)


def test_steep_curves_of_later_arms_are_read_from_their_first_segment():
    # Segments near 0 are narrower than any difference a guide with offsets could see.
    model = gb.RewardModel.from_functions([lambda t: t, lambda t: t ** (1 / 7), lambda t: t**0.5])
    for arm, exponent in ((1, 1 / 7), (2, 0.5)):
        for theta in (1e-18, 1e-15, 1e-12):
            assert evaluate(model.tables.mean, arm, theta) == pytest.approx(
                theta**exponent, abs=2e-12
            )
