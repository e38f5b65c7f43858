"""Analysis before playing: regions, identification, traps and the lower bound."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import expit

import globalbandits as gb
from globalbandits.errors import ModelError
from globalbandits.model.objectives import Benefit

PRICES = np.linspace(1.0, 4.0, 12)
LOGIT_BOX = {"level": (-1.0, 4.0), "slope": (0.25, 3.0)}


@pytest.fixture(scope="module")
def logit():
    return gb.VectorModel(
        "expit(level - slope*arm)", PRICES, LOGIT_BOX, value="(arm - 0.5) / 3.5 * mean"
    )


@pytest.fixture(scope="module")
def exponential():
    return gb.VectorModel(
        "level*exp(-slope*arm)",
        PRICES,
        {"level": (0.2, 1.0), "slope": (0.2, 1.2)},
        value="(arm - 0.5) / 3.5 * mean",
    )


# Regions.


def test_regions_are_the_best_arms_of_the_middles(logit):
    found = logit.regions(cells=16)
    assert found.labels.shape == (16, 16)
    for i, j in itertools.product(range(16), repeat=2):
        theta = logit.from_unit([(i + 0.5) / 16, (j + 0.5) / 16])
        assert found.labels[i, j] in logit.best_arms(theta)
    assert found.shares == pytest.approx(np.bincount(found.labels.ravel(), minlength=12) / 256)


def test_shares_of_exponential_demand_are_those_of_the_slope(exponential):
    # The best price does not depend on the level. The edges follow from
    # (p - c) exp(-s p) = (q - c) exp(-s q) for neighbouring prices.
    slopes = np.log((PRICES[1:] - 0.5) / (PRICES[:-1] - 0.5)) / np.diff(PRICES)
    ends = np.clip(np.concatenate([[1.2], slopes, [0.2]]), 0.2, 1.2)
    shares = exponential.regions().shares
    assert shares == pytest.approx(-np.diff(ends), abs=1 / 128)
    assert exponential.regions().dominated == (0,)


def test_cells_are_checked(logit):
    with pytest.raises(ModelError, match="cells must be at least 2, got 1"):
        logit.regions(cells=1)


# Identification.


def test_two_points_identify_a_straight_line():
    # mean = 0.4 + a + b x with x = -1 and 1: the variance of both is m (1 - m) / 2 per play.
    model = gb.VectorModel("0.4 + a + b*arm", [-1.0, 1.0], {"a": (0, 0.1), "b": (-0.05, 0.05)})
    found = model.identification()
    assert found.sets == ((0, 1),)
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0, 0.1, 20_000), rng.uniform(-0.05, 0.05, 20_000)
    low, high = 0.4 + a - b, 0.4 + a + b
    variance = (low * (1 - low) + high * (1 - high)) / 4
    # Both ranges are 0.1 long, so a tenth of the range is 0.01.
    assert found.plays[0] == pytest.approx(np.median(variance) / 0.01**2, rel=0.01)
    assert found.plays_95[0] == pytest.approx(np.quantile(variance, 0.95) / 0.01**2, rel=0.01)
    assert found.by_parameter == pytest.approx([found.plays[0]] * 2, rel=1e-6)


def test_the_pairs_of_the_method_page(logit, exponential):
    # First and last price identify exponential demand; neighbours at the end do not.
    found = exponential.identification()
    assert found.sets[0] == (0, 11)
    assert found.sets[-1] == (10, 11)
    assert found.plays[0] == pytest.approx(486, rel=0.05)
    assert found.plays[-1] == pytest.approx(488_373, rel=0.05)
    logit_sets = logit.identification()
    assert len(logit_sets.sets) == 66
    assert logit_sets.sets[-1] == (10, 11)
    assert logit_sets.plays[0] == pytest.approx(152, rel=0.1)


def test_three_numbers_of_one_curve_are_hardly_learned():
    model = gb.VectorModel(
        "top * expit(level - slope*arm)", PRICES, {**LOGIT_BOX, "top": (0.3, 1.0)}
    )
    assert model.identification().plays[0] > 20_000
    assert any(
        remark.startswith("three numbers of one curve are hardly ever learned")
        for remark in model.remarks
    )


def test_a_parameter_that_hardly_matters_gets_a_remark():
    model = gb.VectorModel(
        "0.4*a + 0.2*arm + 0.0005*b*arm", [0.5, 1.0, 2.0], {"a": (0, 1), "b": (0, 1)}
    )
    assert len(model.remarks) == 2
    assert model.remarks[1].startswith("b can hardly be learned: every arm must be played about ")


def test_indistinguishable_numbers_get_a_remark():
    model = gb.VectorModel("a*b*arm", [0.5, 1.0], {"a": (0.2, 1), "b": (0.2, 1)})
    assert np.isinf(model.identification().plays).all()
    assert [remark.partition(" ")[0] for remark in model.remarks] == ["arm", "a", "b"]
    assert "must be played without end" in model.remarks[1]


def test_fewer_arms_than_numbers_identify_nothing():
    model = gb.VectorModel("a + b*arm", [0.5], {"a": (0, 0.3), "b": (0.1, 0.7)})
    found = model.identification()
    assert found.sets == ()
    assert np.isinf(found.by_parameter).all()
    assert len(model.remarks) == 2
    assert model.traps().example is None


def test_an_arm_that_is_best_everywhere_gets_a_remark():
    model = gb.VectorModel("a + b*arm", [0.5, 1.0], {"a": (0, 0.3), "b": (0.1, 0.7)})
    assert model.remarks == ("arm 1 is best everywhere in the box: there is nothing to learn",)


# Traps.


def naive_traps(model, n, bins=96):
    """The definition, cell by cell."""
    points = [((i + 0.5) / n, (j + 0.5) / n) for i in range(n) for j in range(n)]
    thetas = model.from_unit(np.array(points))
    means, worth = model.means(thetas), model.worth(thetas)
    best = worth.argmax(axis=1)
    losses = np.zeros(len(points))
    for arm in range(model.n_arms):
        low, high = means[:, arm].min(), means[:, arm].max()
        place = [min(int((m - low) / (high - low) * bins), bins - 1) for m in means[:, arm]]
        members = {b: [c for c, p in enumerate(place) if p == b] for b in set(place)}
        for b, cells in members.items():
            stays = worth[cells].mean(axis=0).argmax() == arm
            believed = any(best[c] == arm for c in cells)
            for c in cells:
                if stays and believed and best[c] != arm:
                    losses[c] = max(losses[c], worth[c].max() - worth[c, arm])
            assert b < bins
    return losses


def test_traps_agree_with_the_definition(exponential):
    found = exponential.traps()
    expected = naive_traps(exponential, 64)
    assert found.losses.ravel() * found.scale == pytest.approx(expected, abs=1e-12)
    assert found.absorbing == pytest.approx((expected > 0.01 * found.scale).mean())


def test_the_shares_of_the_method_page(logit, exponential):
    assert logit.traps().absorbing == pytest.approx(0.20, abs=0.01)
    assert exponential.traps().absorbing == pytest.approx(0.19, abs=0.01)
    assert logit.traps().possible == pytest.approx(0.67, abs=0.02)


def test_the_example_is_a_trap(logit):
    found = logit.traps().example
    truth, belief = logit.means(found.truth), logit.means(found.belief)
    arm = logit.arms.index(found.arm)
    assert truth[arm] == pytest.approx(belief[arm], abs=0.01)
    assert logit.best_arms(found.belief) == (arm,)
    assert logit.arms[logit.best_arms(found.truth)[0]] == found.best_arm
    assert logit.gaps(found.truth)[arm] == pytest.approx(found.loss)
    assert "On 20% of the box a greedy policy can stay with a wrong arm" in str(logit.traps())


def test_one_number_with_monotone_means_has_no_traps():
    model = gb.VectorModel(
        "exp(-slope*arm)", [1.0, 2.0, 4.0], {"slope": (0.0, 1.0)}, value="arm*mean"
    )
    found = model.traps()
    # A bin of the mean holds two cells of the grid, so an edge may fall into it.
    assert found.absorbing < 0.01
    assert found.example is None
    assert str(found) == "No greedy policy stays with a wrong arm."


# The lower bound.


def test_the_constant_of_the_method_page(logit):
    theta = logit.from_unit([0.6369616873, 0.2697867138])
    found = logit.lower_bound(theta)
    assert found.constant == pytest.approx(39.866, abs=2e-3)
    best = logit.best_arms(theta)[0]
    assert found.rates[best] == 0.0
    assert found.rates @ logit.gaps(theta) == pytest.approx(found.constant)
    # From the horizon on the bound is below the regret of the second-best arm.
    assert found.constant * math.log(found.horizon) == pytest.approx(found.gap * found.horizon)


def test_the_bound_agrees_with_a_dense_level_set(exponential):
    # level = m exp(slope * p) on the level set, so it has one free number.
    theta = {"level": 0.5, "slope": 0.47}
    means, gaps = exponential.means(theta), exponential.gaps(theta)
    best = exponential.best_arms(theta)[0]
    slopes = np.linspace(0.2, 1.2, 200_001)
    levels = means[best] * np.exp(slopes * PRICES[best])
    inside = (levels >= 0.2) & (levels <= 1.0)
    others = np.stack([levels[inside], slopes[inside]], axis=1)
    worth = exponential.worth(others)
    others = others[worth.max(axis=1) > worth[:, best] + 1e-12]
    q = exponential.means(others)
    divergence = means * np.log(means / q) + (1 - means) * np.log((1 - means) / (1 - q))
    divergence[:, best] = 0.0
    rows = divergence[:: max(1, len(divergence) // 4_000)]
    # The binding rows are the nearest ones on both sides of the truth.
    near = np.argsort(np.abs(others[:, 1] - 0.47))[:50]
    rows = np.concatenate([rows, divergence[near]])
    cost = np.maximum(gaps, 1e-12)
    exact = linprog(cost, A_ub=-rows, b_ub=-np.ones(len(rows)), method="highs")
    assert exponential.lower_bound(theta).constant == pytest.approx(exact.x @ gaps, rel=2e-3)


def test_bounded_regret_is_possible_where_the_best_arm_identifies_the_numbers():
    # With one number and a monotone mean no other theta agrees with the best arm.
    model = gb.VectorModel(
        "exp(-slope*arm)", [1.0, 2.0, 4.0], {"slope": (0.0, 1.0)}, value="arm*mean"
    )
    assert model.lower_bound([0.5])[::3] == (0.0, 1.0)  # no cost, from the first round on


def test_a_level_set_with_two_arms_by_hand():
    # Arm 0 has mean a, arm 1 has mean b. At a = 0.6, b = 0.4 the level set of arm 0 is b > 0.6
    # where arm 1 is best: one constraint, kl(0.4, 0.6), so c = 0.2 / kl.
    model = gb.VectorModel(
        lambda a, b, arm: np.where(arm == 0, a, b), [0.0, 1.0], {"a": (0.1, 0.9), "b": (0.1, 0.9)}
    )
    found = model.lower_bound([0.6, 0.4])
    kl = 0.4 * math.log(0.4 / 0.6) + 0.6 * math.log(0.6 / 0.4)
    assert found.constant == pytest.approx(0.2 / kl, rel=1e-4)
    assert found.rates == pytest.approx([0.0, 1.0 / kl], rel=1e-4)


def test_three_numbers():
    # The third number scales everything and is known from arm 0, which is never best.
    model = gb.VectorModel(
        lambda a, b, c, arm: np.select([arm == 0, arm == 1], [c * 0.1, a], b),
        [0.0, 1.0, 2.0],
        {"a": (0.2, 0.9), "b": (0.2, 0.9), "c": (0.1, 1.0)},
    )
    found = model.lower_bound([0.6, 0.4, 0.5])
    kl = 0.4 * math.log(0.4 / 0.6) + 0.6 * math.log(0.6 / 0.4)
    assert found.constant == pytest.approx(0.2 / kl, rel=1e-4)


def test_a_target_can_be_analysed():
    doses = np.exp(np.linspace(-math.log(10), 0, 6)) * 2.5
    model = gb.VectorModel(
        "expit(a + exp(b)*log(arm))",
        doses,
        {"a": (-4, 0.5), "b": (math.log(0.4), math.log(3))},
        value=Benefit(0.25),
    )
    assert model.traps().absorbing == pytest.approx(0.10, abs=0.01)
    assert model.identification().plays[0] == pytest.approx(198, rel=0.05)
    # The dose whose rate is nearest to the target, by hand.
    theta = {"a": -1.0, "b": 0.0}
    rates = expit(-1.0 + np.log(doses))
    assert model.best_arms(theta) == (int(np.abs(rates - 0.25).argmin()),)
