"""Demand models: the arms are prices, and one or two numbers of the market are unknown.

Each function returns a model built from the demand at a price: the probability that a customer
buys, or the share of the market that buys. Demand is a level, the share that buys at price 0 (at
the reference price for constant elasticity), times a curve whose shape has one number, theta. By
default the level is 1, and theta is unknown: the result is a `RewardModel`. Each of the two may be
a number, which is known, or a pair (low, high), which is unknown. With two unknown numbers the
result is a `VectorModel`. ``level="unknown"`` is the pair (0.005, 1).

With ``cost`` the rewards are sales (0 or 1 for each customer, or a share) in [0, 1], and the
worth of a decision is its profit, (price - cost) * d. This is the usual case: a shop records
sales and wants profit.

Without ``cost`` the worth is the mean reward. By default the reward is revenue, price * d, in
[0, 1], or in [0, highest price] if a price is above 1. With ``observe="sales"`` the reward is d
itself; the best price is then the lowest one, which sells most.

Huang, Leng & Parlar (2013), "Demand functions in decision modeling: a comprehensive survey and
research directions", Decision Sciences 44(3), survey these forms.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, Unpack, overload

from globalbandits._validation import as_float, as_fraction, as_positive, require
from globalbandits.errors import ModelError
from globalbandits.model.catalogue.family import (
    SMALLEST_POSITIVE,
    Interval,
    Number,
    as_number,
    as_theta,
    ends,
    formula_model,
    named_model,
)
from globalbandits.model.inputs import as_levels
from globalbandits.model.objectives import Profit
from globalbandits.model.reward_model import RewardModel
from globalbandits.model.vector_model import AnyModel, VectorModel

__all__ = ["anchored", "exponential", "isoelastic", "linear", "linear_power", "log_log", "logit"]

# The level of ``level="unknown"``: shops of which 0.5 % or more of the customers buy.
_UNKNOWN_LEVEL = 0.005, 1.0

# Elasticities at the highest and at the lowest price, between which the slope of exponential demand
# lies by default if the level is unknown.
_SLOPE_ELASTICITIES = 0.1, 2.0
# The default interval of a constant elasticity.
_DEFAULT_ELASTICITY = 0.0, 3.0

# A remark says that more than this share of the customers is assumed to buy at the lowest price.
_REMARKED_BUYER_SHARE = 0.1

# Log-odds of a demand of 1 in 200.
_LOW_DEMAND_LOG_ODDS = 5.3


class Options(TypedDict, total=False):
    """The arguments that do not decide between a `RewardModel` and a `VectorModel`."""

    domain: Interval | None
    cost: float | None
    observe: str | None


@overload
def linear(
    prices: Iterable[float],
    *,
    level: float = 1.0,
    slope: Interval | None = None,
    **options: Unpack[Options],
) -> RewardModel: ...
@overload
def linear(
    prices: Iterable[float],
    *,
    level: Interval | str,
    slope: Interval | None = None,
    **options: Unpack[Options],
) -> VectorModel: ...
@overload
def linear(
    prices: Iterable[float],
    *,
    level: Interval | str,
    slope: float,
    **options: Unpack[Options],
) -> RewardModel: ...
def linear(
    prices: Iterable[float],
    *,
    level: Number | str = 1.0,
    slope: Number | None = None,
    domain: Interval | None = None,
    cost: float | None = None,
    observe: str | None = None,
) -> AnyModel:
    """Demand that falls in a straight line: d = 1 - theta * price.

    ``theta`` is the price sensitivity; 1 / theta is the price at which demand is 0.
    The revenue price * (1 - theta * price) is largest at half that price.

    Args:
        prices: Positive, distinct prices.
        level: The share that buys at price 0: a number, a pair (low, high), or "unknown".
        slope: Theta, the price sensitivity: a number or a pair, instead of ``domain``.
        domain: The interval of theta, at most 1 / max(prices), where demand is 0. By default
            [0, 1], or [0, 1 / max(prices)] if that is shorter.
        cost: The cost of one sold unit. Sales are observed, and the worth is the profit.
        observe: "revenue" or "sales", if no cost is given.

    Reference: Huang, Leng & Parlar (2013).

    >>> model = linear([0.4, 0.6, 0.8])
    >>> model.means(0.5)
    array([0.32, 0.42, 0.48])
    >>> [(model.arms[region.arm], round(region.high, 4)) for region in model.regions]
    [(0.8, 0.7143), (0.6, 1.0)]
    """
    return _linear_power(prices, 1.0, level, slope, domain, cost, observe)


@overload
def linear_power(
    prices: Iterable[float],
    power: float = 2.0,
    *,
    level: float = 1.0,
    slope: Interval | None = None,
    **options: Unpack[Options],
) -> RewardModel: ...
@overload
def linear_power(
    prices: Iterable[float],
    power: float = 2.0,
    *,
    level: Interval | str,
    slope: Interval | None = None,
    **options: Unpack[Options],
) -> VectorModel: ...
@overload
def linear_power(
    prices: Iterable[float],
    power: float = 2.0,
    *,
    level: Interval | str,
    slope: float,
    **options: Unpack[Options],
) -> RewardModel: ...
def linear_power(
    prices: Iterable[float],
    power: float = 2.0,
    *,
    level: Number | str = 1.0,
    slope: Number | None = None,
    domain: Interval | None = None,
    cost: float | None = None,
    observe: str | None = None,
) -> AnyModel:
    """Demand that falls as a power of a straight line: d = (1 - theta * price)**power.

    ``theta`` is the price sensitivity (the paper calls it the market size); 1 / theta is the
    price at which demand is 0. With power 2 and prices 0.40, 0.45, ..., 0.95 this is
    the model of the paper's experiments.

    Args:
        prices: Positive, distinct prices.
        power: Above 1, few customers accept high prices; below 1, most do.
        level: The share that buys at price 0: a number, a pair (low, high), or "unknown".
        slope: Theta, the price sensitivity: a number or a pair, instead of ``domain``.
        domain: The interval of theta, at most 1 / max(prices), where demand is 0. By default
            [0, 1], or [0, 1 / max(prices)] if that is shorter.
        cost: The cost of one sold unit. Sales are observed, and the worth is the profit.
        observe: "revenue" or "sales", if no cost is given.

    References: Song, Ray & Li (2008), "Structural properties of buyback contracts for
    price-setting newsvendors"; Huang, Leng & Parlar (2013).

    >>> model = linear_power([0.4, 0.6, 0.8])
    >>> model.means(0.5)
    array([0.256, 0.294, 0.288])
    >>> round(model.invert(1, 0.294), 12)
    0.5
    """
    return _linear_power(prices, power, level, slope, domain, cost, observe)


def _linear_power(
    prices: Iterable[float],
    power: float,
    level: Number | str,
    slope: Number | None,
    domain: Interval | None,
    cost: float | None,
    observe: str | None,
) -> AnyModel:
    levels = as_levels("prices", prices)
    power = as_positive("power", power, ModelError)
    last = 1.0 / max(levels)
    rule = f"lie in [0, 1 / max(prices)] = [0, {last:.6g}], where demand ends"
    default = 0.0, min(1.0, last)
    theta = as_theta("slope", slope, domain, default, 0.0, last * (1 + 1e-12), rule)
    return _build(
        "linear_power",
        # Rounding can make the base negative where demand ends.
        "max(1 - theta*arm, 0)**power",
        "(1 - mean**(1 / power)) / arm",
        levels,
        _as_level(level),
        ("slope", theta),
        cost,
        observe,
        power=power,
    )


@overload
def exponential(
    prices: Iterable[float],
    *,
    level: float = 1.0,
    slope: Interval | None = None,
    **options: Unpack[Options],
) -> RewardModel: ...
@overload
def exponential(
    prices: Iterable[float],
    *,
    level: Interval | str,
    slope: Interval | None = None,
    **options: Unpack[Options],
) -> VectorModel: ...
@overload
def exponential(
    prices: Iterable[float],
    *,
    level: Interval | str,
    slope: float,
    **options: Unpack[Options],
) -> RewardModel: ...
def exponential(
    prices: Iterable[float],
    *,
    level: Number | str = 1.0,
    slope: Number | None = None,
    domain: Interval | None = None,
    cost: float | None = None,
    observe: str | None = None,
) -> AnyModel:
    """Demand that falls at a constant rate: d = exp(-theta * price).

    ``theta`` is the price sensitivity: a price rise by 1 / theta leaves 37 % of the customers,
    and 1 / theta is also the price of the largest revenue.

    Args:
        prices: Positive, distinct prices.
        level: The share that buys at price 0: a number, a pair (low, high), or "unknown".
        slope: Theta, the price sensitivity: a number or a pair, instead of ``domain``.
        domain: The interval of theta, at least 0. By default it starts at 0, where demand is 1.
            It ends at 1 / min(prices), where the lowest price is best if there is no cost, or at
            20 / max(prices), where demand at the highest price is almost 0, whichever is smaller.
            With an unknown level, elasticities from 0.1 at the highest to 2 at the lowest price,
            and with a cost up to 1 / (lowest price above it - cost), where that price is best.
        cost: The cost of one sold unit. Sales are observed, and the worth is the profit.
        observe: "revenue" or "sales", if no cost is given.

    References: Gallego & van Ryzin (1994), "Optimal dynamic pricing of inventories with
    stochastic demand over finite horizons"; Huang, Leng & Parlar (2013).

    >>> model = exponential([1.0, 2.0, 4.0], cost=0.5)
    >>> model.means(0.3).round(3), model.worth(0.3).round(3)
    (array([0.741, 0.549, 0.301]), array([0.37 , 0.823, 1.054]))
    >>> model = exponential([1.0, 2.0, 4.0])
    >>> [(model.arms[region.arm], round(region.high, 4)) for region in model.regions]
    [(4.0, 0.3466), (2.0, 0.6931), (1.0, 1.0)]
    """
    levels = as_levels("prices", prices)
    share = _as_level(level)
    default = 0.0, min(1.0 / min(levels), 20.0 / max(levels))
    if isinstance(share, tuple):
        default = _default_slope(levels, cost)
    theta = as_theta("slope", slope, domain, default, 0.0, rule="start at 0 or above")
    return _build(
        "exponential",
        "exp(-theta*arm)",
        "-log(mean) / arm",
        levels,
        share,
        ("slope", theta),
        cost,
        observe,
    )


@overload
def logit(
    prices: Iterable[float],
    sensitivity: float | None = None,
    *,
    level: Interval | None = None,
    **options: Unpack[Options],
) -> RewardModel: ...
@overload
def logit(
    prices: Iterable[float],
    sensitivity: Interval,
    *,
    level: float,
    **options: Unpack[Options],
) -> RewardModel: ...
@overload
def logit(
    prices: Iterable[float],
    sensitivity: Interval,
    *,
    level: Interval | str | None = None,
    **options: Unpack[Options],
) -> VectorModel: ...
@overload
def logit(
    prices: Iterable[float],
    *,
    level: str,
    **options: Unpack[Options],
) -> VectorModel: ...
def logit(
    prices: Iterable[float],
    sensitivity: Number | None = None,
    *,
    level: Number | str | None = None,
    domain: Interval | None = None,
    cost: float | None = None,
    observe: str | None = None,
) -> AnyModel:
    """Logistic demand: d = 1 / (1 + exp(sensitivity*price - theta)).

    ``theta`` is the attractiveness of the product: the log-odds of a sale at price 0. At the
    price theta / sensitivity half of the customers buy.

    Args:
        prices: Positive, distinct prices.
        sensitivity: The decrease of the log-odds per unit of price: a number, or a pair if it is
            unknown. By default 6 / max(prices): the log-odds differ by 6 between price 0 and the
            highest price.
        level: Theta, the log-odds of a sale at price 0: a number or a pair, instead of
            ``domain``. "unknown" makes the sensitivity unknown too, with the interval that the
            slope of `exponential` has.
        domain: The interval of theta. By default it starts where 1 in 200 customers buys at the
            lowest price (5.3 below sensitivity * min(prices)) and ends where 19 in 20 buy at the
            highest price.
        cost: The cost of one sold unit. Sales are observed, and the worth is the profit.
        observe: "revenue" or "sales", if no cost is given.

    References: McFadden (1974), "Conditional logit analysis of qualitative choice behavior";
    Huang, Leng & Parlar (2013).

    >>> model = logit([1.0, 2.0, 3.0], sensitivity=1.0)
    >>> model.domain, model.means(2.0).round(4)
    ((-4.3, 6.0), array([0.7311, 1.    , 0.8068]))
    """
    levels = as_levels("prices", prices)
    known = 6.0 / max(levels) if sensitivity is None else sensitivity
    if isinstance(level, str):
        _as_level(level)
        known = _default_slope(levels, cost) if sensitivity is None else sensitivity
        level = None
    weight = as_number("sensitivity", known, SMALLEST_POSITIVE, math.inf, "be positive")
    low, high = ends(weight)
    span = low * min(levels) - _LOW_DEMAND_LOG_ODDS, high * max(levels) + 3.0
    theta = as_theta("level", level, domain, span)
    if isinstance(weight, tuple) or not isinstance(theta, tuple):
        return _named(
            "logit",
            "1 / (1 + exp(sensitivity*arm - level))",
            levels,
            {"level": theta, "sensitivity": weight},
            cost,
            observe,
            {},
        )
    return _build(
        "logit",
        "1 / (1 + exp(sensitivity*arm - theta))",
        "sensitivity*arm + log(mean) - log1p(-mean)",
        levels,
        1.0,
        ("level", theta),
        cost,
        observe,
        sensitivity=weight,
    )


@overload
def isoelastic(
    prices: Iterable[float],
    reference: float | None = None,
    *,
    level: float = 1.0,
    elasticity: Interval | None = None,
    **options: Unpack[Options],
) -> RewardModel: ...
@overload
def isoelastic(
    prices: Iterable[float],
    reference: float | None = None,
    *,
    level: Interval | str,
    elasticity: Interval | None = None,
    **options: Unpack[Options],
) -> VectorModel: ...
@overload
def isoelastic(
    prices: Iterable[float],
    reference: float | None = None,
    *,
    level: Interval | str,
    elasticity: float,
    **options: Unpack[Options],
) -> RewardModel: ...
def isoelastic(
    prices: Iterable[float],
    reference: float | None = None,
    *,
    level: Number | str = 1.0,
    elasticity: Number | None = None,
    domain: Interval | None = None,
    cost: float | None = None,
    observe: str | None = None,
) -> AnyModel:
    """Demand of constant elasticity: d = (price / reference)**-theta.

    ``theta`` is the elasticity: a price rise by 1 % costs theta % of the customers. The highest
    price earns most where theta < 1 and the lowest where theta > 1. Prices between
    them are best only at theta = 1, where all prices tie. In `log_log`, which has a cut-off,
    they can be best elsewhere too.

    Args:
        prices: Positive, distinct prices.
        reference: The price at which demand is 1; below all prices, by default half the
            lowest one.
        level: The share that buys at the reference price: a number, a pair (low, high), or
            "unknown".
        elasticity: Theta: a number or a pair, instead of ``domain``.
        domain: The interval of theta, at least 0. By default [0, 3].
        cost: The cost of one sold unit. Sales are observed, and the worth is the profit.
        observe: "revenue" or "sales", if no cost is given.

    Reference: Huang, Leng & Parlar (2013), who call it the power model.

    >>> model = isoelastic([1.0, 2.0, 4.0])
    >>> [(model.arms[region.arm], round(region.high, 4)) for region in model.regions]
    [(4.0, 1.0), (1.0, 3.0)]
    """
    levels = as_levels("prices", prices)
    reference = _as_reference(reference, levels)
    theta = as_theta(
        "elasticity", elasticity, domain, _DEFAULT_ELASTICITY, 0.0, rule="start at 0 or above"
    )
    return _build(
        "isoelastic",
        "(arm / reference)**-theta",
        "-log(mean) / log(arm / reference)",
        levels,
        _as_level(level),
        ("elasticity", theta),
        cost,
        observe,
        reference=reference,
    )


@overload
def log_log(
    prices: Iterable[float],
    reference: float | None = None,
    cutoff: float | None = None,
    *,
    level: float = 1.0,
    elasticity: Interval | None = None,
    **options: Unpack[Options],
) -> RewardModel: ...
@overload
def log_log(
    prices: Iterable[float],
    reference: float | None = None,
    cutoff: float | None = None,
    *,
    level: Interval | str,
    elasticity: Interval | None = None,
    **options: Unpack[Options],
) -> VectorModel: ...
@overload
def log_log(
    prices: Iterable[float],
    reference: float | None = None,
    cutoff: float | None = None,
    *,
    level: Interval | str,
    elasticity: float,
    **options: Unpack[Options],
) -> RewardModel: ...
def log_log(
    prices: Iterable[float],
    reference: float | None = None,
    cutoff: float | None = None,
    *,
    level: Number | str = 1.0,
    elasticity: Number | None = None,
    domain: Interval | None = None,
    cost: float | None = None,
    observe: str | None = None,
) -> AnyModel:
    """Constant elasticity with a cut-off: d = (x**-theta - c**-theta) / (1 - c**-theta).

    Here x = price / reference and c = cutoff / reference. The customers' willingness to pay
    follows a power law between the reference price, which all customers accept, and the cut-off,
    which no customer accepts. The logarithm of demand is a straight line in the logarithm of the
    price that bends down near the cut-off. ``theta`` is the exponent of the power law, the
    elasticity far below the cut-off. At theta = 0 demand is
    log(cutoff / price) / log(cutoff / reference).

    Args:
        prices: Positive, distinct prices.
        reference: The price at which demand is 1; below all prices, by default half the
            lowest one.
        cutoff: The price at which demand is 0; above all prices, by default twice the highest.
        level: The share that buys at the reference price: a number, a pair (low, high), or
            "unknown".
        elasticity: Theta: a number or a pair, instead of ``domain``.
        domain: The interval of theta, at least 0. By default [0, 3].
        cost: The cost of one sold unit. Sales are observed, and the worth is the profit.
        observe: "revenue" or "sales", if no cost is given.

    References: Aban, Meerschaert & Panorska (2006), "Parameter estimation for the truncated
    Pareto distribution"; Huang, Leng & Parlar (2013) for the form without a cut-off.

    >>> model = log_log([1.0, 2.0, 4.0], reference=0.5, cutoff=8.0)
    >>> model.means(0.0)
    array([0.75, 1.  , 1.  ])
    >>> [(model.arms[region.arm], round(region.high, 4)) for region in model.regions]
    [(2.0, 0.6942), (1.0, 3.0)]
    """
    levels = as_levels("prices", prices)
    reference = _as_reference(reference, levels)
    cutoff = 2.0 * max(levels) if cutoff is None else as_float("cutoff", cutoff, ModelError)
    rule = f"be above all prices, the highest of which is {max(levels):g}"
    require(cutoff > max(levels), "cutoff", rule, cutoff, ModelError)
    theta = as_theta(
        "elasticity", elasticity, domain, _DEFAULT_ELASTICITY, 0.0, rule="start at 0 or above"
    )
    return _build(
        "log_log",
        # Willingness to pay has the density exp(-theta * s) for s = log(price / reference) below
        # log(cutoff / reference). The second term of the sum is the ratio of customers who do not
        # buy to customers who do. exprel makes it defined at theta = 0 and provably rising.
        "1 / (1 + log(arm / reference) * exprel(theta * log(arm / reference))"
        " / (log(cutoff / arm) * exprel(-theta * log(cutoff / arm))))",
        None,
        levels,
        _as_level(level),
        ("elasticity", theta),
        cost,
        observe,
        reference=reference,
        cutoff=cutoff,
    )


def anchored(
    prices: Iterable[float],
    *,
    today: float | None = None,
    rate: Number | None = None,
    elasticity: Number | None = None,
    cost: float | None = None,
    observe: str | None = None,
) -> Any:
    """Demand of constant elasticity through today's sales: d = rate * (price / today)**-theta.

    The share of customers who buy at today's price is known, or lies in an interval; ``theta`` is
    the elasticity. Sales at today's price carry no information about the elasticity.

    Args:
        prices: Positive, distinct prices. Today's price may be one of them.
        today: Today's price; it must be given.
        rate: The share that buys at today's price: a number, or a pair (low, high) if it is
            unknown. It must be given.
        elasticity: The interval of the elasticity, at least 0. By default [0, 4], or shorter if
            more than all customers would buy at the lowest price. A number if it is known and
            the rate is not.
        cost: The cost of one sold unit. Sales are observed, and the worth is the profit.
        observe: "revenue" or "sales", if no cost is given.

    Reference: Huang, Leng & Parlar (2013), who call it the power model.

    >>> model = anchored([4.0, 5.0, 6.0], today=5.0, rate=0.03, cost=2.0)
    >>> model.means(2.0).round(4), model.arms[model.best_arms(2.0)[0]]
    (array([0.0469, 0.03  , 0.0208]), 4.0)
    >>> model.remarks[0]
    'arm 5 teaches nothing about the elasticity: its mean does not depend on it'
    """
    levels = as_levels("prices", prices)
    require(today is not None, "today", "be today's price", today, ModelError)
    require(rate is not None, "rate", "be the share that buys at today's price", rate, ModelError)
    today = as_positive("today", today, ModelError)
    share = as_number("rate", rate, 0.0, 1.0, "lie strictly between 0 and 1")
    for end in ends(share):
        as_fraction("rate", end, ModelError)
    most = 4.0
    if min(levels) < today:
        most = min(most, -math.log(ends(share)[1]) / math.log(today / min(levels)))
    given = (0.0, most) if elasticity is None else elasticity
    theta = as_number("elasticity", given, 0.0, math.inf, "be at least 0")
    return _named(
        "anchored",
        "rate * (arm / today)**-elasticity",
        levels,
        {"rate": share, "elasticity": theta},
        cost,
        observe,
        {"today": today},
        uninformative=tuple(price for price in levels if price == today),
    )


def _build(
    family: str,
    demand: str,
    inverse: str | None,
    prices: tuple[float, ...],
    level: Number,
    shape: tuple[str, Number],
    cost: float | None,
    observe: str | None,
    **constants: float,
) -> AnyModel:
    """Build the model of the rewards from the formula of demand at level 1, in theta."""
    name, theta = shape
    if level != 1.0 or not isinstance(theta, tuple):
        curve = f"level * ({demand.replace('theta', name)})"
        numbers = {"level": level, name: theta}
        return _named(family, curve, prices, numbers, cost, observe, constants)
    value, worth = _as_worth(cost, observe)
    full = f"demand.{family}"
    if worth.get("observe") != "revenue":
        model = formula_model(
            full, demand, inverse, prices, theta, constants=constants, worth=worth, value=value
        )
        if name != "level":
            model.add_remarks(_level_remarks(model))
        return model
    return formula_model(
        full,
        f"arm * ({demand})",
        None if inverse is None else inverse.replace("mean", "(mean / arm)"),
        prices,
        theta,
        constants=constants,
        worth=worth,
        reward_range=(0.0, max(1.0, *prices)),
    )


def _level_remarks(model: RewardModel) -> tuple[str, ...]:
    """Say what a level of 1 assumes about sales at the lowest price."""
    lowest = min(range(model.n_arms), key=lambda arm: model.arms[arm])
    least = float(model.means(model.domain[1])[lowest])
    if least < _REMARKED_BUYER_SHARE:
        return ()
    return (
        f"at least {100.0 * least:.0f} % are assumed to buy at price {model.arms[lowest]:g}, "
        "because the level is 1; if fewer may buy, give level=(low, high)",
    )


def _named(
    family: str,
    demand: str,
    prices: tuple[float, ...],
    numbers: dict[str, Number],
    cost: float | None,
    observe: str | None,
    constants: Mapping[str, float],
    uninformative: tuple[float, ...] = (),
) -> AnyModel:
    """Build the model of the rewards from the formula of demand in its numbers by name."""
    value, worth = _as_worth(cost, observe)
    revenue = worth.get("observe") == "revenue"
    return named_model(
        f"demand.{family}",
        f"arm * ({demand})" if revenue else demand,
        prices,
        numbers,
        constants=constants,
        worth=worth,
        value=value,
        reward_range=(0.0, max(1.0, *prices)) if revenue else (0.0, 1.0),
        shape="elasticity",
        uninformative=uninformative,
    )


def _as_worth(cost: float | None, observe: str | None) -> tuple[Profit | None, dict[str, Any]]:
    """Return the value of a decision and the parameters that determine it."""
    known = observe in (None, "revenue", "sales")
    require(known, "observe", "be 'revenue' or 'sales'", observe, ModelError)
    if cost is None:
        return None, {"observe": observe or "revenue"}
    cost = as_float("cost", cost, ModelError)
    require(cost >= 0.0, "cost", "be at least 0", cost, ModelError)
    rule = "be 'sales' where a cost is given"
    require(observe in (None, "sales"), "observe", rule, observe, ModelError)
    return Profit(cost), {"cost": cost}


def _default_slope(prices: tuple[float, ...], cost: float | None) -> Interval:
    """Return the default interval of a slope if the level is unknown.

    The price of the largest profit is cost + 1 / slope. So with a cost the interval contains the
    slope at which the lowest price above the cost is best.
    """
    low, high = _SLOPE_ELASTICITIES
    steepest = high / min(prices)
    if cost is not None:
        least = as_float("cost", cost, ModelError)
        margins = [price - least for price in prices if price > least]
        steepest = max([steepest, *(1.0 / margin for margin in margins)])
    return low / max(prices), min(steepest, 20.0 / max(prices))


def _as_level(level: Number | str) -> Number:
    if isinstance(level, str):
        rule = "be a number, a pair (low, high) or 'unknown'"
        require(level == "unknown", "level", rule, level, ModelError)
        return _UNKNOWN_LEVEL
    return as_number("level", level, SMALLEST_POSITIVE, 1.0, "lie in (0, 1]")


def _as_reference(reference: float | None, prices: tuple[float, ...]) -> float:
    if reference is None:
        return min(prices) / 2.0
    reference = as_positive("reference", reference, ModelError)
    rule = f"be below all prices, the lowest of which is {min(prices):g}"
    require(reference < min(prices), "reference", rule, reference, ModelError)
    return reference
