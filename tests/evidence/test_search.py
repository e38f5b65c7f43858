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


def test_precision_is_not_spent_where_it_is_not_asked_for():
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


def test_a_search_that_gives_up_loses_precision_and_not_validity(monkeypatch):
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
