import math

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import ModelError
from globalbandits.model.formulas import Expression
from globalbandits.model.tables import evaluate
from tests.model.families import PRICES, pricing


def with_line(mean, **options):
    return gb.RewardModel.from_functions([lambda t: 0.2 + 0.3 * t, mean], **options)


def test_two_curves_that_cross_two_hundred_times():
    # Both rise; their difference is a sine with 200 zeros inside the domain.
    waves = 100.0
    model = with_line(lambda t: 0.2 + 0.3 * t + 1e-4 * np.sin(2 * np.pi * waves * t + 0.3))
    zeros = (np.arange(1, 201) * np.pi - 0.3) / (2 * np.pi * waves)
    edges = np.array([region.high for region in model.regions[:-1]])
    assert len(model.regions) == 201
    assert edges == pytest.approx(zeros, abs=1e-10)
    thetas = np.linspace(0.0, 1.0, 10_007)
    expected = (np.sin(2 * np.pi * waves * thetas + 0.3) > 0.0).astype(int)
    far = np.abs(thetas[:, None] - zeros).min(axis=1) > 1e-6
    found = [model.best_arms(float(theta))[0] for theta in thetas[far]]
    assert found == expected[far].tolist()


def test_curves_that_cross_too_often_are_refused_with_a_place():
    def wave(t):
        return 0.2 + 0.3 * t + 1e-7 * np.sin(1e5 * t)

    with pytest.raises(ModelError, match="mean of arm 1 must be smooth enough to tabulate, fails"):
        with_line(wave)
    # Among many smooth arms it can be tabulated, but its regions cannot be followed.
    others = [lambda t, k=k: 0.001 * k + 0.1 * t for k in range(40)]
    message = r"arms must change ranks rarely enough to find all regions, fails near theta = "
    with pytest.raises(ModelError, match=message):
        gb.RewardModel.from_functions([*others, lambda t: 0.2 + 0.3 * t, wave])


@pytest.mark.parametrize("width", [1e-3, 5e-4])
@pytest.mark.parametrize("place", [0.1234, 0.5003, 0.87])
def test_a_narrow_dip_is_seen(width, place):
    def dip(t):
        return 0.3 + 0.4 * t - 2.0 * np.maximum(width / 2 - np.abs(t - place), 0.0)

    with pytest.raises(ModelError, match=r"monotone in theta, turns at theta = ") as error:
        with_line(dip)
    assert float(str(error.value).split("=")[1]) == pytest.approx(place, abs=width)


@pytest.mark.parametrize("width", [3e-3, 1e-3, 5e-4])
def test_a_narrow_flat_stretch_is_seen(width):
    with pytest.raises(ModelError, match=r"is flat from theta = 0\.41\d* to 0\.41"):
        with_line(lambda t: np.interp(t, [0, 0.41, 0.41 + width, 1], [0.1, 0.5, 0.5, 0.9]))


@pytest.mark.parametrize("jump", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("place", [0.3, 1 / 3, 0.5, 0.77])
def test_a_small_jump_is_seen(jump, place):
    message = rf"continuous enough to tabulate, jumps by {jump:.3g} .* at theta = {place:.4g}"
    with pytest.raises(ModelError, match=message[:-1]):
        with_line(lambda t: 0.2 + 0.5 * t + jump * (t > place))


@pytest.mark.parametrize("exponent", [1 / 2, 1 / 3, 1 / 7])
def test_steep_is_no_jump(exponent):
    def steep(t):
        return 0.5 + 0.4 * np.sign(t - 0.4) * np.abs(t - 0.4) ** exponent

    with_line(steep)
    with_line(lambda t: 1.0 - (1.0 - t) ** exponent)


def test_nan_in_a_band_that_the_search_for_regions_meets():
    # The curves cross in the band: no region may be invented there.
    def mean(t):
        return np.where(np.abs(t - 0.4) < 1e-5, np.nan, 0.12 + 0.5 * t)

    message = r"mean of arm 1 must be finite, got nan at theta = 0\.(4|3999)"
    with pytest.raises(ModelError, match=message):
        with_line(mean)


def test_a_spike_out_of_range_that_the_search_meets():
    def mean(t):
        return np.where(np.abs(t - 0.4) < 5e-6, 1.5, 0.12 + 0.5 * t)

    with pytest.raises(
        ModelError, match=r"arm 1 must lie in the reward range \[0, 1\], got 1.5 at"
    ):
        with_line(mean)


def test_holder_constants_are_estimated_from_checked_means():
    calls = {"n": 0}

    def mean(t):
        calls["n"] += 1
        return t if calls["n"] < calls.get("limit", 10**9) else np.where(t > 0.7, np.nan, t)

    model = with_line(mean)
    model.means(0.5)
    calls["limit"] = calls["n"] + 2  # the watch passes, the estimate meets nan
    with pytest.raises(ModelError, match="mean of arm 1 must be finite, got nan"):
        _ = model.holder


def test_every_place_that_is_looked_at_is_checked_for_steps_back():
    from globalbandits.model.analysis.checks import Recorder

    seen = Recorder(lambda a, t: np.where(t == 0.5, 0.4, t), (0.0, 1.0), ["mean of arm 7"])
    for points in ([0.1, 0.9], [0.45], [0.5], [0.55]):
        seen(np.zeros(1, int), np.array(points))
    with pytest.raises(ModelError, match=r"mean of arm 7 must be strictly monotone .* = 0\.45"):
        seen.check_monotone()


@pytest.mark.parametrize(
    ("at", "mean", "message"),
    [
        (0.5005, 0.5, r"flat from theta = 0\.5 to 0\.5005"),
        (0.5005, 0.499, r"turns at theta = 0\.5"),
        (0.5005, 0.502, r"turns at theta = 0\.5005"),
    ],
)
def test_an_evaluation_between_two_grid_points_is_compared_with_both(at, mean, message):
    from globalbandits.model.analysis.checks import Recorder

    grid = np.linspace(0.0, 1.0, 1001)
    names = ["mean of arm 0", "mean of arm 1"]

    def curves(arms, thetas):
        return np.where((thetas == at) & (arms == 1), mean, thetas)

    seen = Recorder(curves, (0.0, 1.0), names)
    seen.add_grid(grid, curves(np.arange(2)[:, None], np.tile(grid, (2, 1))), np.zeros(2, bool))
    seen(np.array([0, 0, 1]), np.array([0.2505, at, 0.2505]))
    seen.check_monotone()
    seen(np.array([1]), np.array([at]))
    with pytest.raises(ModelError, match=f"mean of arm 1 must be strictly monotone .*{message}"):
        seen.check_monotone()


def test_a_mean_is_evaluated_once_on_the_grid():
    n_points = 0

    def counted(theta, price):
        nonlocal n_points
        n_points += np.broadcast(theta, price).size
        return pricing(theta, price)

    gb.RewardModel(counted, PRICES)
    assert n_points < 1.5 * len(PRICES) * 4096


# Families that need no argument but the prices.
DEMAND = [name for name in gb.demand.__all__ if name != "anchored"]


def test_a_model_states_its_resolution():
    model = gb.RewardModel(pricing, PRICES, domain=(0.0, 0.5))
    assert model.resolution == 0.5 / 4096
    many = gb.RewardModel(pricing, np.linspace(0.4, 0.9, 2000))
    assert many.resolution == 1.0 / 2000
    for name in DEMAND:
        assert getattr(gb.demand, name)([0.5, 0.7, 0.9]).resolution == 0.0
        assert getattr(gb.demand, name)([0.5, 0.7, 0.9], cost=0.3).resolution == 0.0
    for name in gb.dose.__all__:
        assert getattr(gb.dose, name)([0.1, 0.3, 0.8], target=0.2).resolution == 0.0


@pytest.mark.parametrize(
    "model",
    [
        *[getattr(gb.demand, name)([0.5, 0.7, 0.9]) for name in DEMAND],
        *[getattr(gb.demand, name)([2.0, 7.0, 9.0], cost=1.0) for name in DEMAND],
        *[getattr(gb.dose, name)([0.1, 0.3, 0.8]) for name in gb.dose.__all__],
        gb.demand.anchored([4.0, 6.0, 7.0], today=5.0, rate=0.03, cost=1.0),
        gb.demand.exponential([2.0, 7.0, 9.0], level=0.2, cost=1.0),
        gb.demand.isoelastic([2.0, 7.0, 9.0], level=(0.1, 0.3), elasticity=1.2),
        gb.demand.linear_power([0.5, 0.9], power=0.4),
        gb.demand.linear_power([0.5, 0.9], power=3.7),
        gb.demand.linear_power([2.0, 7.0, 9.0], power=0.9),
        gb.demand.linear_power([2.0, 7.0, 9.0], power=3.7),
        gb.demand.linear_power([0.5, 0.9], power=150.0, domain=(0.0, 0.15)),
        gb.demand.log_log([1.0, 4.0 - 1e-6], reference=1.0 - 1e-6, cutoff=4.0),
        gb.demand.log_log([1.0, 2.0], cutoff=1e12, domain=(0.0, 9.0)),
        gb.dose.emax([1.0, 3.0], hill=2.5),
        gb.dose.logistic([1.0, 3.0], intercept=2.0),
    ],
)
def test_the_catalogues_slopes_are_derivatives_with_one_sign(model):
    formula = model._observed._joint
    assert isinstance(formula, Expression)
    assert model.resolution == 0.0
    low, high = model.domain
    thetas = np.linspace(low, high, 203)[1:-1, None]
    step = 1e-6 * (high - low)
    arms = np.array(model.arms)
    slope = formula.slope.run({"theta": thetas, "arm": arms})
    difference = (formula(thetas + step, arms) - formula(thetas - step, arms)) / (2 * step)
    assert slope == pytest.approx(difference, rel=2e-4, abs=1e-7 * np.abs(slope).max())
    assert ((slope > 0).all(axis=0) | (slope < 0).all(axis=0)).all()


@pytest.mark.parametrize(
    ("mean", "message"),
    [
        (lambda t, a: None, r"mean of arm 0\.3 must return a number, got None at 0\.07"),
        (lambda t, a: "x", r"mean of arm 0\.3 must return a number, got 'x' at 0\.07"),
        (lambda t, a: [t, t], r"mean of arm 0\.3 must return a number, got \[0\.07"),
        (lambda t, a: {}[a], r"mean of arm 0\.3 must return a number, but raised KeyError\(0\.3\)"),
    ],
)
def test_a_mean_that_returns_no_number_is_named(mean, message):
    with pytest.raises(ModelError, match=message):
        gb.RewardModel(mean, [0.3, 0.6])


def test_a_mean_that_raises_or_returns_none_somewhere_is_named_with_the_place():
    def raises(t, a):
        if np.any(t > 0.99):
            raise RuntimeError("too far")
        return a * t

    with pytest.raises(ModelError, match=r"arm 0\.3 must return a number, but raised Runt.* 0\.99"):
        gb.RewardModel(raises, [0.3, 0.6])
    with pytest.raises(ModelError, match=r"arm 0 must return a number, but raised Runt.* at 0\.99"):
        gb.RewardModel.from_functions([lambda t: raises(t, 0.5)])

    def nothing(t, a):
        return None if np.any(t > 0.99) else a * t

    with pytest.raises(
        ModelError, match=r"mean of arm 0\.3 must return a number, got None at 0\.99"
    ):
        gb.RewardModel(nothing, [0.3, 0.6])


def test_best_arms_together_may_cover_the_domain():
    # Arms 0 and 1 tie at 0.5 and share the domain between them: no parameter is suboptimal.
    model = gb.RewardModel.from_functions([lambda t: t, lambda t: 1.0 - t, lambda t: 0.1 * t])
    assert model.best_arms(0.5) == (0, 1)
    assert model.suboptimality_distance(0.5) == 1.0
    assert model.suboptimality_distance(0.6) == pytest.approx(0.1)
    assert math.isinf(model.tables.envelope.sub_low[2])


@pytest.mark.parametrize("place", [0.137, 0.31, 0.62, 0.955])
def test_a_steep_narrow_rise_is_in_the_tables(place):
    # It begins and ends between the points the first segments are made from.
    def mean(t):
        return 0.2 + 0.3 * t + 0.1 * np.clip((t - place) / 1e-3, 0.0, 1.0)

    model = with_line(mean)
    for theta in np.linspace(place - 2e-3, place + 3e-3, 101).tolist():
        assert evaluate(model.tables.mean, 1, theta) == pytest.approx(float(mean(theta)), abs=2e-12)
        assert model.invert(1, float(mean(theta))) == pytest.approx(theta, abs=1e-10)


def test_a_bump_that_comes_back_is_in_the_tables():
    # Steep up and down again around a point, so that nothing shows far from it.
    def mean(t):
        return 0.2 + 0.5 * t + 2e-4 * np.tanh((t - 0.31) / 1e-3) / np.cosh((t - 0.31) / 1e-3)

    model = with_line(mean)
    for theta in np.linspace(0.305, 0.315, 101).tolist():
        assert evaluate(model.tables.mean, 1, theta) == pytest.approx(float(mean(theta)), abs=2e-12)
