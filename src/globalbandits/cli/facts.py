"""What ``analyze`` says about a model, as plain values that JSON can hold."""

import math
from typing import Any

from globalbandits._version import __version__
from globalbandits.model import RewardModel

N_HARDEST = 5


def model_facts(model: RewardModel, name: str, theta: float | None) -> dict[str, Any]:
    """Arms, regions, constants and hardest parameters; and one parameter, if one is given.

    >>> from globalbandits.model.catalogue import three_arms
    >>> facts = model_facts(three_arms(), "three-arms", 0.5)
    >>> [round(region["high"], 4) for region in facts["regions"]]
    [0.4302, 0.8, 1.0]
    >>> round(facts["at_theta"]["suboptimality_distance"], 4)
    0.0698
    """
    regions = [_region_facts(model, index) for index in range(len(model.regions))]
    inner = sorted(regions, key=lambda region: region["largest_distance"])
    return {
        "version": __version__,
        "model": name,
        "n_arms": model.n_arms,
        "domain": list(model.domain),
        "reward_range": list(model.reward_range),
        "valued": model.valued,
        "worth_range": list(model.worth_range),
        "remarks": list(model.remarks),
        "monotone": model.monotone,
        "informativeness": model.informativeness if model.monotone else None,
        "constants": _constants(model) if model.monotone else None,
        "arms": _arm_facts(model),
        "regions": regions,
        "dominated": [model.arms[arm] for arm in model.dominated],
        "hardest": {
            "edges": [region["low"] for region in regions[1:]],
            "regions": [_with_gap(model, region) for region in inner[:N_HARDEST]],
        },
        "at_theta": None if theta is None else theta_facts(model, theta),
    }


def theta_facts(model: RewardModel, theta: float) -> dict[str, Any]:
    """Who is best at a parameter, by how much, and how far away that ends.

    Best is what is worth most; where a model has no value, worth and mean are the same.
    ``nearest_edge`` is None where no other arm is ever best.
    """
    distance = model.suboptimality_distance(theta)
    best = model.best_arms(theta)
    gap = model.suboptimality_gap(theta)
    worth = model.worth(theta)
    return {
        "theta": theta,
        "best": [model.arms[arm] for arm in best],
        "best_mean": float(model.means(theta)[worth.argmax()]),
        "best_worth": float(worth.max()),
        "suboptimality_gap": gap if math.isfinite(gap) else None,
        "suboptimality_distance": distance,
        "nearest_edge": model.nearest_edge(theta),
    }


def _constants(model: RewardModel) -> dict[str, float]:
    holder = model.holder
    return {
        "inverse_constant": float(holder.inverse_constant),
        "inverse_exponent": float(holder.inverse_exponent),
        "constant": float(holder.constant),
        "exponent": float(holder.exponent),
    }


def _arm_facts(model: RewardModel) -> list[dict[str, Any]]:
    low, high = model.means(list(model.domain)).tolist()
    worths = model.worth(list(model.domain)).T.tolist()
    constants = _arm_constants(model) if model.monotone else [{} for _ in model.arms]
    columns = zip(model.arms, low, high, worths, constants, strict=True)
    return [
        {
            "arm": arm,
            "mean_at_low": at_low,
            "mean_at_high": at_high,
            **({"worth_at_low": worth[0], "worth_at_high": worth[1]} if model.valued else {}),
            **of_arm,
        }
        for arm, at_low, at_high, worth, of_arm in columns
    ]


def _arm_constants(model: RewardModel) -> list[dict[str, float]]:
    """The constants of Assumption 1, arm by arm."""
    holder = model.holder
    columns = zip(
        holder.lower_constant.tolist(),
        holder.lower_exponent.tolist(),
        holder.upper_constant.tolist(),
        holder.upper_exponent.tolist(),
        strict=True,
    )
    return [
        {
            "lower_constant": d1,
            "lower_exponent": g1,
            "upper_constant": d2,
            "upper_exponent": g2,
            "informativeness": g2 / g1,
        }
        for d1, g1, d2, g2 in columns
    ]


def _region_facts(model: RewardModel, index: int) -> dict[str, Any]:
    """A region, and where in it the suboptimality distance is largest.

    The distance is min(theta - left, right - theta), left and right being the nearest
    suboptimal parameters, which are the same for the whole of a region.
    """
    region = model.regions[index]
    envelope = model.tables.envelope
    cell = 2 * index + 1
    left, right = float(envelope.sub_low[cell]), float(envelope.sub_high[cell])
    if math.isinf(left) and math.isinf(right):
        easiest, distance = (region.low + region.high) / 2, model.domain[1] - model.domain[0]
    else:
        middle = region.low if math.isinf(left) else region.high
        if math.isfinite(left) and math.isfinite(right):
            middle = min(max((left + right) / 2, region.low), region.high)
        easiest, distance = middle, min(middle - left, right - middle)
    return {
        "arms": [model.arms[arm] for arm in region.arms],
        "low": region.low,
        "high": region.high,
        "largest_distance": distance,
        "easiest": easiest,
    }


def _with_gap(model: RewardModel, region: dict[str, Any]) -> dict[str, Any]:
    gap = model.suboptimality_gap(region["easiest"])
    return {**region, "suboptimality_gap": gap if math.isfinite(gap) else None}
