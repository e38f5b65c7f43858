"""The facts `analyze` prints, against the model and against brute force."""

import math

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.cli.model_facts import model_facts, theta_facts
from globalbandits.model.catalogue.names import three_arms

PRICES = [0.4 + 0.05 * k for k in range(12)]


@pytest.fixture(scope="module")
def pricing():
    return gb.RewardModel(lambda theta, price: price * (1 - price * theta) ** 2, PRICES)


def test_constants_of_the_pricing_model(pricing):
    facts = model_facts(pricing, "pricing", None)
    assert facts["constants"]["inverse_constant"] == pytest.approx(11.080, abs=1e-3)
    assert facts["constants"]["constant"] == pytest.approx(1.805, abs=1e-3)
    assert facts["informativeness"] == 1.0
    assert [arm["arm"] for arm in facts["arms"]] == list(pricing.arms)
    for arm, price in zip(facts["arms"], PRICES, strict=True):
        assert arm["mean_at_low"] == price
        assert arm["mean_at_high"] == pytest.approx(price * (1 - price) ** 2)
        assert arm["upper_constant"] == pytest.approx(2 * price**2, rel=1e-2)
    assert facts["at_theta"] is None


def test_the_largest_distance_of_a_region_is_the_largest(pricing):
    for model in (pricing, three_arms()):
        facts = model_facts(model, "", None)
        for region, known in zip(facts["regions"], model.regions, strict=True):
            inside = np.linspace(known.low, known.high, 203)[1:-1]
            largest = max(model.suboptimality_distance(theta) for theta in inside)
            step = (known.high - known.low) / 202
            assert largest <= region["largest_distance"] + 1e-12
            assert region["largest_distance"] <= largest + step
            assert known.low <= region["easiest"] <= known.high


def test_hardest_regions_come_first(pricing):
    hardest = model_facts(pricing, "", None)["hardest"]
    distances = [region["largest_distance"] for region in hardest["regions"]]
    assert distances == sorted(distances)
    assert hardest["edges"] == [region.low for region in pricing.regions[1:]]
    for edge in hardest["edges"]:
        assert pricing.suboptimality_distance(edge + 1e-7) < 2e-7
    for region in hardest["regions"]:
        assert region["suboptimality_gap"] == pricing.suboptimality_gap(region["easiest"])


@pytest.mark.parametrize(
    ("theta", "edge"), [(0.5, 0.430164), (0.7, 0.8), (0.1, 0.430164), (0.95, 0.8)]
)
def test_the_nearest_edge_is_where_the_best_arm_changes(theta, edge):
    model = three_arms()
    at = theta_facts(model, theta)
    assert at["nearest_edge"] == pytest.approx(edge, abs=1e-6)
    assert abs(at["nearest_edge"] - theta) == pytest.approx(at["suboptimality_distance"])
    assert at["best_mean"] == model.means(theta).max()


def test_a_model_with_one_arm_has_no_gap_and_no_edge():
    model = gb.RewardModel(lambda theta, arm: theta * arm, [1.0])
    facts = model_facts(model, "one", 0.3)
    assert facts["at_theta"]["suboptimality_gap"] is None
    assert facts["at_theta"]["nearest_edge"] is None
    assert facts["at_theta"]["suboptimality_distance"] == 1.0
    assert facts["hardest"]["edges"] == []
    assert facts["regions"][0]["largest_distance"] == 1.0


def test_dominated_arms_are_named():
    model = gb.RewardModel(lambda theta, arm: theta * arm, [1.0, 0.5])
    assert model_facts(model, "two", None)["dominated"] == [0.5]


def test_every_number_is_finite(pricing):
    def numbers(value):
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list):
            return [number for part in value for number in numbers(part)]
        return [value] if isinstance(value, float) else []

    found = numbers(model_facts(pricing, "", 0.4))
    assert len(found) > 100
    assert all(math.isfinite(number) for number in found)
