import math

import numpy as np
import pytest

from globalbandits.evidence.contenders import model_p_values
from globalbandits.evidence.e_processes import Pooled, SpikeSlab
from globalbandits.evidence.search import find_hull, find_infima, find_infimum, likely_edges
from globalbandits.model import RewardModel
from tests.evidence.models import TRUTH, log_of, model_of
from tests.evidence.test_e_processes import counts_of

NAMES = sorted(TRUTH)
THRESHOLD = math.log(20)


class Valleys:
    """|theta - centre| * slope + depth, the smallest of several."""

    def __init__(self, *valleys):
        self._valleys = valleys  # (centre, depth, slope)

    def at(self, thetas):
        walls = [depth + slope * np.abs(thetas - centre) for centre, depth, slope in self._valleys]
        return np.min(walls, axis=0)

    def survey(self, lows, highs, floor):
        middles, widths = 0.5 * (lows + highs), highs - lows
        # As a real bound does, this one errs by a part of what happens within the cell.
        nearest = [
            depth + slope * (np.maximum(np.abs(middles - centre) - 0.5 * widths, 0) - 0.3 * widths)
            for centre, depth, slope in self._valleys
        ]
        return self.at(middles), np.min(nearest, axis=0)


def p_values_of(model, counts):
    process, edges = Pooled(model, counts), likely_edges(model, counts)
    _, bounds = process.survey(edges[:-1], edges[1:], THRESHOLD)
    return model_p_values(model, process, edges, bounds)


def test_a_valley_between_grid_points_is_found():
    # 1e-5 wide at the threshold, and far from every point of the first grid.
    process = Valleys((0.3, 4.0, 10.0), (0.7123457, 1.0, 1e6))
    certified, value, theta = find_infimum(process, np.linspace(0, 1, 9))
    assert theta == pytest.approx(0.7123457, abs=1e-7)
    assert 0.99 <= certified <= 1.0 <= value <= 1.01


def test_an_infimum_at_an_end_is_found():
    certified, value, theta = find_infimum(Valleys((1.0, 2.0, 300.0)), np.linspace(0, 1, 9))
    assert (value, theta) == (2.0, 1.0)
    assert 1.99 <= certified <= 2.0


def test_a_search_stops_at_the_requested_bound():
    certified, value, _ = find_infimum(Valleys((0.4, 9.0, 100.0)), np.linspace(0, 1, 5), enough=3.0)
    assert 3.0 <= certified <= 9.0 <= value


def test_infima_of_several_sets_at_once():
    process = Valleys((0.1, 2.0, 50.0), (0.9, 1.0, 50.0))
    found = find_infima(
        process, np.array([0.0, 0.5, 0.2]), np.array([0.5, 1.0, 0.4]), np.array([0, 1, 2])
    )
    np.testing.assert_allclose(found.values, [2.0, 1.0, 7.0], atol=0.01)
    assert np.all(found.certified <= found.values)
    np.testing.assert_allclose(found.thetas, [0.1, 0.9, 0.2], atol=1e-3)


def test_the_hull_covers_every_valley():
    process = Valleys((0.2000001, 2.9, 1e5), (0.6, 0.0, 100.0), (0.9, 5.0, 1e5))
    hull = find_hull(process, 3.0, np.linspace(0, 1, 9))
    assert hull.low <= 0.2000001 - 1e-6
    assert hull.low == pytest.approx(0.2, abs=0.002)
    assert hull.high == pytest.approx(0.63, abs=0.002)
    assert hull.high >= 0.63


def test_an_empty_set_has_no_hull():
    assert find_hull(Valleys((0.5, 3.1, 100.0)), 3.0, np.linspace(0, 1, 9)) is None


def test_a_hull_that_is_a_single_point_is_not_lost():
    hull = find_hull(Valleys((0.123456789, 2.999999, 1e4)), 3.0, np.linspace(0, 1, 9))
    assert hull.low <= 0.123456789 <= hull.high
    assert hull.high - hull.low < 1e-6


@pytest.mark.parametrize("n", [0, 1, 20, 400, 20_000])
@pytest.mark.parametrize("name", NAMES)
def test_hulls_agree_with_a_dense_grid_and_are_rounded_outward(name, n):
    model, arms, rewards = log_of(name, n, seed=n + 1)
    counts = counts_of(model, arms, rewards)
    process = Pooled(model, counts)
    hull = find_hull(process, THRESHOLD, likely_edges(model, counts))
    near = np.linspace(-1.5, 1.5, 4001) * (hull.high - hull.low) + 0.5 * (hull.low + hull.high)
    grid = np.clip(np.concatenate([np.linspace(*model.domain, 4001), near]), *model.domain)
    inside = grid[process.at(grid) < THRESHOLD]
    assert hull.low <= inside.min()
    assert hull.high >= inside.max()
    spacing = near[1] - near[0]
    assert inside.min() - hull.low <= hull.slack + spacing
    assert hull.high - inside.max() <= hull.slack + spacing
    assert hull.slack <= (hull.high - hull.low) / 250


@pytest.mark.parametrize("n", [20, 400, 20_000])
@pytest.mark.parametrize("name", NAMES)
def test_infima_agree_with_a_dense_grid_and_never_exceed_it(name, n):
    model, arms, rewards = log_of(name, n, seed=n + 2, bias=0.05)
    counts = counts_of(model, arms, rewards)
    process = SpikeSlab(model, counts)
    certified, value, theta = find_infimum(process, likely_edges(model, counts))
    grid = np.concatenate(
        [
            np.linspace(*model.domain, 4001),
            np.clip(theta + np.linspace(-1, 1, 2001) / 100, *model.domain),
        ]
    )
    smallest = process.at(grid).min()
    assert certified <= smallest + 1e-9
    tolerance = 0.01 * max(1.0, 0.1 * value) + 1e-9
    assert value - certified <= tolerance
    assert abs(value - smallest) <= tolerance


@pytest.mark.parametrize("n", [0, 40, 2000])
@pytest.mark.parametrize("name", NAMES)
def test_p_values_of_arms_are_those_of_a_dense_grid(name, n):
    model, arms, rewards = log_of(name, n, seed=n + 3)
    counts = counts_of(model, arms, rewards)
    p_values = p_values_of(model, counts)
    process = Pooled(model, counts)
    for arm in range(model.n_arms):
        dense = [np.linspace(r.low, r.high, 501) for r in model.regions if arm in r.arms]
        if not dense:
            assert p_values[arm] == 0.0
            continue
        smallest = process.at(np.concatenate(dense)).min()
        naive = max(min(1.0, math.exp(-smallest)), 1e-6)
        assert naive * (1 - 1e-9) <= p_values[arm] <= min(1.0, 1.12 * naive)


def test_many_arms_share_cells_and_their_p_values_are_rounded_up():
    touch = np.linspace(0, 1, 150)
    model = RewardModel(lambda t, at: (1 + at * at / 4 + at / 2 * (t - at) + t) / 3, touch)
    rng = np.random.default_rng(0)
    arms = rng.integers(150, size=300)
    rewards = (rng.random(300) < model.means(0.5)[arms]).astype(float)
    counts = counts_of(model, arms, rewards)
    p_values = p_values_of(model, counts)
    process = Pooled(model, counts)
    for region in model.regions:
        naive = min(1.0, math.exp(-process.at(np.linspace(region.low, region.high, 21)).min()))
        assert naive <= p_values[region.arm] <= min(1.0, 5 * naive + 1e-6)


def test_first_cells_cover_the_domain_and_are_fine_near_the_truth():
    for name in NAMES:
        model, arms, rewards = log_of(name, 5000, seed=9)
        edges = likely_edges(model, counts_of(model, arms, rewards))
        assert (edges[0], edges[-1]) == model.domain
        assert np.all(np.diff(edges) > 0)
        nearest = edges[np.abs(edges - TRUTH[name]).argmin()]
        assert abs(nearest - TRUTH[name]) < 0.02 * (model.domain[1] - model.domain[0])
    no_rewards = likely_edges(model_of("pricing"), np.zeros((12, 9)))
    assert no_rewards.tolist() == np.linspace(0, 1, 9).tolist()


def test_a_search_that_stops_early_is_valid_and_less_precise(monkeypatch):
    process = Valleys((0.3, 4.0, 1e4), (0.7123457, 1.0, 1e6))
    monkeypatch.setattr("globalbandits.evidence.search._MAX_OPEN_CELLS", 3)
    certified, value, _ = find_infimum(process, np.linspace(0, 1, 9))
    assert certified <= 1.0 <= value
    hull = find_hull(process, 4.5, np.linspace(0, 1, 9))
    assert hull.low <= 0.3 < 0.7123457 <= hull.high
    assert hull.slack > 0.01


def test_if_no_theta_is_left_every_arm_is_ruled_out():
    model = model_of("pricing")
    nowhere, edges = Valleys((0.5, 20.0, 1.0)), np.linspace(0, 1, 9)
    assert model_p_values(model, nowhere, edges, np.full(8, 19.0)).tolist() == [1e-6] * 12


class Noted:
    """A process that records the cells it evaluates."""

    def __init__(self, process):
        self._process, self.cells = process, []

    def at(self, thetas):
        return self._process.at(thetas)

    def survey(self, lows, highs, floor):
        self.cells.append((lows.tolist(), highs.tolist()))
        return self._process.survey(lows, highs, floor)


class Steps:
    """Values and bounds that are constant in cells of a fixed grid, or given for a middle."""

    def __init__(self, values, bounds):
        self._values, self._bounds = values, bounds

    def at(self, thetas):
        return np.array([self._values(theta) for theta in thetas])

    def survey(self, lows, highs, floor):
        middles = 0.5 * (lows + highs)
        cells = zip(lows, highs, strict=True)
        return self.at(middles), np.array([self._bounds(low, high) for low, high in cells])


def test_the_search_ends_at_a_value_that_is_small_enough():
    """The middle has exactly the value; a larger one would be cut again."""
    for value, n_surveys in ((2.0, 1), (2.0 + 1e-12, 2)):
        process = Noted(Steps(lambda x, v=value: v if x == 0.5 else 9.0, lambda low, high: 0.0))
        edges = np.array([0.0, 1.0])
        if n_surveys == 1:
            found = find_infimum(process, edges, least=2.0)
            assert (found.certified, found.value, found.theta) == (2.0, 2.0, 0.5)
            assert len(process.cells) == 1
        else:
            find_infimum(process, edges, least=2.0)
            assert len(process.cells) > 1
    # An end that is small enough ends the search before its first survey.
    process = Noted(Steps(lambda x: 1.0 + x, lambda low, high: 0.0))
    assert find_infimum(process, np.array([0.0, 1.0]), least=1.0) == (1.0, 1.0, 0.0)
    assert process.cells == []


@pytest.mark.parametrize(
    ("bound", "options", "n_cells"),
    [
        # The value is 3: a bound of 3 - 0.25 is close enough, and one below is not.
        (2.75, {"tolerance": 0.25}, [1]),
        (2.75 - 1e-12, {"tolerance": 0.25}, [1, 4]),
        # A bound that is large enough is not improved.
        (1.5, {"tolerance": 0.25, "enough": 1.5}, [1]),
        (1.5 - 1e-12, {"tolerance": 0.25, "enough": 1.5}, [1, 4]),
    ],
)
def test_bounds_are_improved_until_they_are_close(bound, options, n_cells):
    process = Noted(Steps(lambda x: 3.0, lambda low, high: bound if high - low == 1 else 3.0))
    found = find_infimum(process, np.array([0.0, 1.0]), **options)
    assert [len(lows) for lows, _ in process.cells] == n_cells
    assert found.certified == (bound if n_cells == [1] else 3.0)
    assert found.value == 3.0
    if n_cells != [1]:
        assert process.cells[1] == ([0.0, 0.25, 0.5, 0.75], [0.25, 0.5, 0.75, 1.0])


@pytest.mark.parametrize(("value", "slack"), [(3.0, 0.5), (10.0, 0.5), (40.0, 2.0)])
def test_large_values_are_found_less_exactly(value, slack):
    for bound, n_surveys in ((value - slack, 1), (value - slack - 1e-9, 2)):
        process = Noted(
            Steps(lambda x: value, lambda low, high, b=bound: b if high - low == 1 else value)
        )
        find_infimum(process, np.array([0.0, 1.0]), tolerance=0.5)
        assert len(process.cells) == n_surveys


def test_cells_are_cut_down_to_the_smallest_width():
    process = Noted(Steps(lambda x: 3.0, lambda low, high: 0.0 if low == 0.0 else 3.0))
    found = find_infimum(process, np.array([0.0, 1.0]))
    widths = [highs[0] - lows[0] for lows, highs in process.cells]
    assert widths == [0.25**k for k in range(19)]  # the last one is 2**-36
    assert (found.certified, found.value) == (0.0, 3.0)
    process = Noted(Steps(lambda x: 3.0, lambda low, high: 0.0 if low == 2.0 else 3.0))
    find_infimum(process, np.array([2.0, 6.0]))
    assert process.cells[-1][1][0] - 2.0 == 4.0 * 2.0**-36


def test_sets_share_a_survey_and_end_one_by_one(monkeypatch):
    """Three sets: one ends immediately, one after its middle, and one after a cut."""
    values = {0.0: 0.5, 1.0: 5.0, 2.0: 9.0, 3.0: 9.0, 1.5: 0.75}
    process = Noted(
        Steps(
            lambda x: values.get(float(x), 8.0),
            lambda low, high: 0.25 if high - low == 1.0 else 7.999,
        )
    )
    found = find_infima(
        process, np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]), np.arange(3), least=0.75
    )
    assert found.certified.tolist() == [0.5, 0.75, 7.999]
    assert found.values.tolist() == [0.5, 0.75, 8.0]
    assert found.thetas.tolist() == [0.0, 1.5, 2.5]
    assert [lows for lows, _ in process.cells] == [[1.0, 2.0], [2.0, 2.25, 2.5, 2.75]]
    # With exactly as many open cells as are allowed the search continues.
    for most, n_surveys in ((2, 2), (1, 1)):
        monkeypatch.setattr("globalbandits.evidence.search._MAX_OPEN_CELLS", most)
        process.cells.clear()
        find_infima(
            process, np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]), np.arange(3), least=0.75
        )
        assert len(process.cells) == n_surveys


def hull_of(values, bounds, threshold=3.0, edges=(0.0, 1.0, 2.0, 3.0, 4.0), survey=None):
    process = Noted(Steps(values, bounds))
    return find_hull(process, threshold, np.array(edges), survey), process.cells


def test_a_value_of_exactly_the_threshold_is_outside():
    # Bounds are below everywhere, so the hull is what cannot be excluded.
    hull, _ = hull_of(lambda x: 3.0, lambda low, high: 3.0)
    assert hull is None
    hull, cells = hull_of(lambda x: 2.0 if 1.0 < x < 2.0 else 3.0, lambda low, high: 3.0)
    assert hull == (1.5, 1.5, 0.0)
    assert len(cells) == 1
    hull, _ = hull_of(lambda x: 2.0 if x == 4.0 else 3.0, lambda low, high: 3.0)
    assert hull == (4.0, 4.0, 0.0)
    hull, _ = hull_of(lambda x: 2.0 if x in (0.0, 2.5) else 3.0, lambda low, high: 3.0)
    assert hull == (0.0, 2.5, 0.0)


def test_only_cells_beyond_the_known_points_are_cut():
    # Known points are 0.5 and 3.5; their own cells have bounds below the threshold.
    hull, cells = hull_of(
        lambda x: 2.0 if 0.5 <= x <= 3.5 else 4.0,
        lambda low, high: 2.0 if high > 0.5 and low < 3.5 else 4.0,
    )
    assert cells[1][0] == [0.0, 3.0, 0.25, 3.25, 0.5, 3.5, 0.75, 3.75]
    assert hull.low <= 0.5 <= 3.5 <= hull.high
    assert hull.slack == max(0.5 - hull.low, hull.high - 3.5) <= 4.0 / 256.0
    # The cells between are dropped after the first survey.
    assert all(
        high <= 1.0 or low >= 3.0
        for lows, highs in cells[1:]
        for low, high in zip(lows, highs, strict=True)
    )


@pytest.mark.parametrize(("end", "n_surveys"), [(1.0 + 2.0**-9, 6), (1.25, 5), (1.0 + 2.0**-20, 6)])
def test_an_end_is_cut_until_it_is_known_to_a_share_of_the_width(end, n_surveys):
    """Cells of 2, 1/2, 1/8, ...; the end is known to 1/256 of the width of the hull."""
    hull, cells = hull_of(
        lambda x: 2.0 if x < end else 4.0,
        lambda low, high: 2.0 if low < end else 4.0,
        edges=(0.0, 2.0),
    )
    assert hull.low == 0.0
    assert end <= hull.high <= end + hull.slack
    assert hull.slack <= hull.high / 256.0
    widths = [highs[0] - lows[0] for lows, highs in cells]
    assert widths == [2.0 * 0.25**k for k in range(n_surveys)]


def test_a_hull_uses_the_survey_that_it_is_given():
    def refuse(low, high):
        raise AssertionError

    survey = np.array([2.0, 4.0, 4.0, 4.0]), np.array([4.0, 4.0, 4.0, 4.0])
    hull, cells = hull_of(lambda x: 4.0, refuse, survey=survey)
    assert hull == (0.5, 0.5, 0.0)
    assert cells == []
