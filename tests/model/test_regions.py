import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import globalbandits as gb
from globalbandits.errors import ModelError
from globalbandits.model.analysis.refinement import find_crossing, find_minimum
from globalbandits.model.tables import choose_in_cell, find_cell, suboptimality_distance
from tests.model.families import PRICES, THREE_ARMS, pricing
from tests.soak import length


def brute_distance(model, theta, n=200_001):
    """Definition 3 on a dense grid."""
    grid = np.linspace(*model.domain, n)
    best = set(model.best_arms(theta))
    means = model.means(grid)
    top = means.max(axis=1)
    optimal = np.zeros(n, dtype=bool)
    for arm in best:
        optimal |= means[:, arm] >= top - 1e-15
    if optimal.all():
        return model.domain[1] - model.domain[0]
    return np.abs(grid[~optimal] - theta).min()


def test_pricing_edges_are_the_roots_of_the_cubic():
    # p(1 - p t)^2 = q(1 - q t)^2 for neighbours p < q: sqrt(p)(1 - p t) = sqrt(q)(1 - q t).
    model = gb.RewardModel(pricing, PRICES)
    found = [region.high for region in model.regions[:-1]]
    p, q = PRICES[:-1][::-1], PRICES[1:][::-1]
    expected = (np.sqrt(q) - np.sqrt(p)) / (q**1.5 - p**1.5)
    assert [region.arm for region in model.regions] == list(range(12))[::-1]
    assert np.abs(np.array(found) - expected).max() <= 1e-12


def test_regions_cover_the_domain():
    for model in (gb.RewardModel(pricing, PRICES), gb.RewardModel.from_functions(THREE_ARMS)):
        assert model.regions[0].low == model.domain[0]
        assert model.regions[-1].high == model.domain[1]
        for one, other in itertools.pairwise(model.regions):
            assert one.high == other.low
            assert one.arms != other.arms


def test_three_arm_illustration():
    model = gb.RewardModel.from_functions(THREE_ARMS)
    # 1 - s = 0.8 s^2 with s = sqrt(theta); theta^2 = 0.8 theta.
    s = (-1.0 + np.sqrt(1.0 + 3.2)) / 1.6
    edges = [region.high for region in model.regions]
    assert edges == pytest.approx([s**2, 0.8, 1.0], abs=1e-12)


def test_published_distances():
    model = gb.RewardModel(pricing, PRICES)
    expected = {0.2: 0.160, 0.1: 0.260, 0.3: 0.060, 0.8: 0.015, 0.5: 0.006}
    for theta, distance in expected.items():
        assert round(model.suboptimality_distance(theta), 3) == distance
        assert model.suboptimality_distance(theta) == pytest.approx(
            brute_distance(model, theta), abs=1e-5
        )


@pytest.mark.parametrize("width", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("place", [0.1234, 0.5, 0.98])
def test_thin_lens_is_found(width, place):
    # The second arm beats the first only within width/2 of the place.
    def lens(theta):
        return 0.3 + 0.4 * theta + 0.15 * ((width / 2) ** 2 - (theta - place) ** 2)

    model = gb.RewardModel.from_functions([lambda theta: 0.3 + 0.4 * theta, lens])
    assert [region.arm for region in model.regions] == [0, 1, 0]
    assert model.regions[1].low == pytest.approx(place - width / 2, abs=1e-9)
    assert model.regions[1].high == pytest.approx(place + width / 2, abs=1e-9)


def test_lens_at_a_kink_and_a_third_arm_over_a_crossing():
    model = gb.RewardModel.from_functions(
        [
            lambda theta: 0.2 + 0.6 * theta,
            lambda theta: 0.8 - 0.6 * theta,
            lambda theta: 0.4999 + 2e-4 + 1e-5 * theta,
        ]
    )
    assert [region.arm for region in model.regions] == [1, 2, 0]
    assert 0 < model.regions[1].high - model.regions[1].low < 1e-3


def test_identical_arms_share_a_region():
    model = gb.RewardModel.from_functions(
        [lambda t: 0.5 * t, lambda t: 0.6 - 0.5 * t, lambda t: t / 2, lambda t: 0.1 + 0.3 * t]
    )
    assert model.regions[-1].arms == (0, 2)
    assert model.regions[-1].arm == 0
    assert model.best_arms(0.99) == (0, 2)
    rng = np.random.default_rng(0)
    cell = find_cell(model.tables.envelope, 0.99)
    assert {choose_in_cell(model.tables.envelope, cell, rng) for _ in range(50)} == {0, 2}


def test_arms_that_coincide_on_a_stretch():
    model = gb.RewardModel.from_functions(
        [
            lambda t: np.interp(t, [0, 0.5, 1], [0.1, 0.5, 0.6]),
            lambda t: np.interp(t, [0, 0.5, 1], [0.1, 0.5, 0.9]),
        ]
    )
    assert [region.arms for region in model.regions] == [(0, 1), (1,)]
    assert model.regions[0].high == pytest.approx(0.5, abs=1e-12)
    # At 0.2 both are best; arm 1 is best everywhere, so nothing is suboptimal.
    assert model.suboptimality_distance(0.2) == 1.0
    assert model.suboptimality_gap(0.2) == float("inf")


def test_touching_arms_tie_at_the_point_only():
    model = gb.RewardModel.from_functions(
        [lambda t: 0.3 + 0.4 * t, lambda t: 0.3 + 0.4 * t - 0.3 * (t - 0.5) ** 2]
    )
    assert [region.arms for region in model.regions] == [(0,)]
    assert model.best_arms(0.5) == (0, 1)
    assert model.best_arms(0.51) == (0,)
    assert model.dominated == (1,)


def test_edges_tie_and_gap_is_of_the_others():
    model = gb.RewardModel(pricing, PRICES)
    edge = model.regions[0].high
    assert model.best_arms(edge) == (10, 11)
    gaps = model.gaps(edge)
    assert gaps[[10, 11]] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert model.suboptimality_gap(edge) == pytest.approx(np.delete(gaps, [10, 11]).min())
    # Both arms count: the distance reaches to the far side of arm 10's region.
    assert model.suboptimality_distance(edge) == pytest.approx(
        model.regions[1].high - edge, abs=1e-12
    )


def test_one_arm_and_dominated_arms():
    single = gb.RewardModel.from_functions([lambda t: t], domain=(0.0, 0.5))
    assert single.regions == ((0, 0.0, 0.5, (0,)),)
    assert single.suboptimality_distance(0.2) == 0.5
    pair = gb.RewardModel.from_functions([lambda t: 0.5 * t, lambda t: 0.2 + 0.5 * t])
    assert pair.dominated == (0,)
    assert pair.suboptimality_gap(0.5) == pytest.approx(0.2)


coefficient = st.floats(-1.0, 1.0, allow_nan=False, width=32)
arm_shapes = st.tuples(
    st.sampled_from(["linear", "power", "root", "exponential", "kink"]),
    st.floats(0.05, 0.6),
    st.floats(0.05, 0.4),
    st.booleans(),
    st.floats(0.2, 4.0),
)


def make_arm(shape):
    kind, start, rise, falling, bend = shape

    def unit(u):
        if kind == "linear":
            return u
        if kind == "power":
            return u ** (1.0 + bend)
        if kind == "root":
            return u ** (1.0 / (1.0 + bend))
        if kind == "exponential":
            return np.expm1(bend * u) / np.expm1(bend)
        return np.interp(u, [0.0, 0.37, 1.0], [0.0, 0.37 / (1.0 + bend), 1.0])

    def mean(theta):
        u = 1.0 - theta if falling else theta
        return start + rise * unit(u)

    return mean


@settings(max_examples=length(15, 60), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(arm_shapes, min_size=1, max_size=9), st.integers(0, 2**32 - 1))
def test_regions_agree_with_brute_force(shapes, seed):
    model = gb.RewardModel.from_functions([make_arm(shape) for shape in shapes])
    rng = np.random.default_rng(seed)
    grid = np.concatenate([rng.random(400), np.logspace(-8, -1, 60), 1 - np.logspace(-8, -1, 60)])
    means = model.means(grid)
    top = means.max(axis=1)
    edges = np.array([region.low for region in model.regions][1:])
    for theta, row, best in zip(grid, means, top, strict=True):
        here = model.best_arms(float(theta))
        assert row[list(here)].min() >= best - 1e-11, (theta, here)
        strictly = np.flatnonzero(row >= best - 1e-15)
        far = edges.size == 0 or np.abs(edges - theta).min() > 1e-9
        if far and strictly.size == 1:
            assert here == (strictly[0],)
        assert model.tables.envelope.arms[
            model.tables.envelope.starts[find_cell(model.tables.envelope, float(theta))]
        ] in set(here)
    for theta in grid[::97]:
        distance = model.suboptimality_distance(float(theta))
        assert suboptimality_distance(model.tables, float(theta)) == pytest.approx(
            distance, abs=1e-9
        )
        assert distance == pytest.approx(brute_distance(model, float(theta), 20_001), abs=1.1e-4)


def test_table_distance_agrees_at_edges():
    model = gb.RewardModel(pricing, PRICES)
    for region in model.regions[:-1]:
        assert suboptimality_distance(model.tables, region.high) == pytest.approx(
            model.suboptimality_distance(region.high), abs=1e-12
        )


def test_ties_at_the_ends_of_the_domain_count():
    # All curves start at 0: at theta = 0 every arm is best, and nothing is suboptimal.
    model = gb.RewardModel.from_functions([lambda t: t, lambda t: 0.8 * t, lambda t: 0.5 * t])
    assert model.best_arms(0.0) == (0, 1, 2)
    assert model.suboptimality_distance(0.0) == suboptimality_distance(model.tables, 0.0) == 1.0
    rng = np.random.default_rng(0)
    cell = find_cell(model.tables.envelope, 0.0)
    assert {choose_in_cell(model.tables.envelope, cell, rng) for _ in range(60)} == {0, 1, 2}
    assert find_cell(model.tables.envelope, 1.0) == 2
    assert find_cell(model.tables.envelope, 0.3) == 1


def test_many_arms_have_their_regions():
    prices = np.linspace(0.4, 0.95, 2000)
    model = gb.RewardModel(pricing, prices)
    low, high = prices[:-1][::-1], prices[1:][::-1]
    expected = (np.sqrt(high) - np.sqrt(low)) / (high**1.5 - low**1.5)
    expected = expected[expected < 1.0]
    edges = np.array([region.high for region in model.regions[:-1]])
    # Neighbours differ by 1e-7 near their crossing: rounding of the means moves it by ~1e-12.
    assert edges.size == expected.size
    assert np.abs(edges - expected).max() <= 1e-11


@pytest.mark.parametrize("theta", [-0.1, 1.5, float("nan"), "x", True])
def test_theta_outside_the_domain(theta):
    model = gb.RewardModel(pricing, PRICES)
    with pytest.raises(ModelError, match="theta must"):
        model.best_arms(theta)


def test_means_and_gaps_take_arrays():
    model = gb.RewardModel(pricing, PRICES)
    thetas = np.linspace(0.0, 1.0, 6).reshape(2, 3)
    assert model.means(thetas).shape == (2, 3, 12)
    assert model.gaps(thetas).min() == 0.0
    assert np.array_equal(model.means(0.4), PRICES * (1 - PRICES * 0.4) ** 2)
    with pytest.raises(ModelError, match=r"theta must lie in \[0, 1\], got 1.5"):
        model.means([0.5, 1.5])


def counted(function):
    def call(index, places):
        call.n += 1
        return function(index, places)

    call.n = 0
    return call


def test_a_search_stops_where_a_convex_function_stays_above_zero():
    low, high = np.zeros(3), np.ones(3)
    lift = np.array([0.1, 1e-3, 2.0])
    bowl = counted(lambda index, x: lift[index] + (x - 0.6) ** 2)
    ends = lift + 0.36, lift + 0.16
    _, slow = find_minimum(bowl, low, high)
    n_slow, bowl.n = bowl.n, 0
    _, fast = find_minimum(bowl, low, high, at_ends=ends)
    assert n_slow == 47
    assert bowl.n < 20
    assert (fast > 0.0).all()
    assert (slow > 0.0).all()


def test_a_search_finds_every_dip_below_zero():
    """Dips of all depths and places, some narrower than a thousandth of the bracket."""
    rng = np.random.default_rng(3)
    bottom, depth = rng.uniform(0.02, 0.98, 300), 10.0 ** rng.uniform(-13, -2, 300)
    ends = bottom**2 - depth, (1 - bottom) ** 2 - depth
    wanted = (ends[0] > 0) & (ends[1] > 0)
    _, found = find_minimum(
        lambda index, x: (x - bottom[index]) ** 2 - depth[index],
        np.zeros(300),
        np.ones(300),
        at_ends=ends,
    )
    assert wanted.sum() > 250
    assert (found[wanted] <= 0.0).all()


def test_few_evaluations_build_a_model():
    """The number of calls of the mean decides how long a cold bandit takes."""
    calls = []

    def mean(theta, price):
        calls.append(1)
        return 1.0 / (1.0 + np.exp(theta * price - 2.0))

    prices = [2.0 + 0.37 * place for place in range(12)]
    model = gb.RewardModel(
        mean, prices, (0.05, 3.0), value=lambda sold, price: (price - 1.5) * sold
    )
    assert len(model.regions) > 3
    assert len(calls) < 400


@pytest.mark.parametrize("kind", ["smooth", "cubic", "cube root", "jump"])
def test_crossings_are_found_to_the_last_digits(kind):
    functions = {
        "smooth": (lambda x: x * (2 + x), 12),
        "cubic": (lambda x: x**3, 64),
        "cube root": (np.cbrt, 64),
        "jump": (lambda x: np.where(x < 0, -1.0, 1.0), 64),
    }
    function, most = functions[kind]
    roots = np.random.default_rng(0).uniform(0.01, 0.99, 50)
    calls = []

    def value(index, place):
        calls.append(index.size)
        return function(place - roots[index])

    index, low, high = np.arange(50), np.zeros(50), np.ones(50)
    found = find_crossing(value, low, high, value(index, low), value(index, high))
    np.testing.assert_allclose(found, roots, rtol=0, atol=5e-16)
    assert len(calls) - 2 <= most
