"""Demand models: the arms are prices, and one parameter of the market is unknown.

Each function returns a `RewardModel` built from d(theta, price), the probability that a customer
buys, or the share of the market that buys.

With ``cost`` the rewards are sales (0 or 1 for each customer, or a share) in [0, 1], and the
worth of a decision is its profit, (price - cost) * d. This is the usual case: a shop records
sales and wants profit.

Without ``cost`` the worth is the mean reward. By default the reward is revenue, price * d, in
[0, 1], or in [0, highest price] if a price is above 1. With ``observe="sales"`` the reward is d
itself; the best price is then the lowest one, which sells most.

Huang, Leng & Parlar (2013), "Demand functions in decision modeling: a comprehensive survey and
research directions", Decision Sciences 44(3), survey these forms.
"""

from collections.abc import Iterable
from functools import partial

from globalbandits._validation import as_float, as_interval, as_positive, require
from globalbandits.errors import ModelError
from globalbandits.model.catalogue.family import formula_model
from globalbandits.model.catalogue.objectives import Profit
from globalbandits.model.inputs import as_levels
from globalbandits.model.reward_model import RewardModel

__all__ = ["exponential", "isoelastic", "linear", "linear_power", "log_log", "logit"]

Domain = tuple[float, float]


def linear(
    prices: Iterable[float],
    *,
    domain: Domain | None = None,
    cost: float | None = None,
    observe: str | None = None,
) -> RewardModel:
    """Demand that falls in a straight line: d = 1 - theta * price.

    ``theta`` is the price sensitivity; 1 / theta is the price at which demand is 0.
    The revenue price * (1 - theta * price) is largest at half that price.

    Args:
        prices: Positive, distinct prices.
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
    return linear_power(prices, power=1.0, domain=domain, cost=cost, observe=observe)


def linear_power(
    prices: Iterable[float],
    power: float = 2.0,
    *,
    domain: Domain | None = None,
    cost: float | None = None,
    observe: str | None = None,
) -> RewardModel:
    """Demand that falls as a power of a straight line: d = (1 - theta * price)**power.

    ``theta`` is the price sensitivity (the paper calls it the market size); 1 / theta is the
    price at which demand is 0. With power 2 and prices 0.40, 0.45, ..., 0.95 this is
    the model of the paper's experiments.

    Args:
        prices: Positive, distinct prices.
        power: Above 1, few customers accept high prices; below 1, most do.
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
    levels = as_levels("prices", prices)
    power = as_positive("power", power, ModelError)
    last = 1.0 / max(levels)
    chosen = as_interval("domain", (0.0, min(1.0, last)) if domain is None else domain, ModelError)
    rule = f"lie in [0, 1 / max(prices)] = [0, {last:.6g}], where demand ends"
    require(
        chosen[0] >= 0.0 and chosen[1] <= last * (1 + 1e-12), "domain", rule, domain, ModelError
    )
    return _build(
        "linear_power",
        # Rounding can make the base negative where demand ends.
        "max(1 - theta*arm, 0)**power",
        "(1 - mean**(1 / power)) / arm",
        levels,
        chosen,
        cost,
        observe,
        power=power,
    )


def exponential(
    prices: Iterable[float],
    *,
    domain: Domain | None = None,
    cost: float | None = None,
    observe: str | None = None,
) -> RewardModel:
    """Demand that falls at a constant rate: d = exp(-theta * price).

    ``theta`` is the price sensitivity: a price rise by 1 / theta leaves 37 % of the customers,
    and 1 / theta is also the price of the largest revenue.

    Args:
        prices: Positive, distinct prices.
        domain: The interval of theta, at least 0. By default it starts at 0, where demand is 1.
            It ends at 1 / min(prices), where the lowest price is best, or at 20 / max(prices),
            where demand at the highest price is almost 0, whichever is smaller.
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
    last = min(1.0 / min(levels), 20.0 / max(levels))
    chosen = as_interval("domain", (0.0, last) if domain is None else domain, ModelError)
    require(chosen[0] >= 0.0, "domain", "start at 0 or above", domain, ModelError)
    return _build(
        "exponential", "exp(-theta*arm)", "-log(mean) / arm", levels, chosen, cost, observe
    )


def logit(
    prices: Iterable[float],
    sensitivity: float | None = None,
    *,
    domain: Domain | None = None,
    cost: float | None = None,
    observe: str | None = None,
) -> RewardModel:
    """Logistic demand: d = 1 / (1 + exp(sensitivity*price - theta)).

    ``theta`` is the attractiveness of the product: the log-odds of a sale at price 0. At the
    price theta / sensitivity half of the customers buy.

    Args:
        prices: Positive, distinct prices.
        sensitivity: The known decrease of the log-odds per unit of price. By default
            6 / max(prices): the log-odds differ by 6 between price 0 and the highest price.
        domain: The interval of theta. By default it starts where 1 in 20 customers buys at the
            lowest price (3 below sensitivity * min(prices)) and ends where 19 in 20 buy at the
            highest price.
        cost: The cost of one sold unit. Sales are observed, and the worth is the profit.
        observe: "revenue" or "sales", if no cost is given.

    References: McFadden (1974), "Conditional logit analysis of qualitative choice behavior";
    Huang, Leng & Parlar (2013).

    >>> model = logit([1.0, 2.0, 3.0], sensitivity=1.0)
    >>> model.domain, model.means(2.0).round(4)
    ((-2.0, 6.0), array([0.7311, 1.    , 0.8068]))
    """
    levels = as_levels("prices", prices)
    usual = 6.0 / max(levels)
    known = as_positive("sensitivity", usual if sensitivity is None else sensitivity, ModelError)
    span = known * min(levels) - 3.0, known * max(levels) + 3.0
    chosen = as_interval("domain", span if domain is None else domain, ModelError)
    return _build(
        "logit",
        "1 / (1 + exp(sensitivity*arm - theta))",
        "sensitivity*arm + log(mean) - log1p(-mean)",
        levels,
        chosen,
        cost,
        observe,
        sensitivity=known,
    )


def isoelastic(
    prices: Iterable[float],
    reference: float | None = None,
    *,
    domain: Domain = (0.0, 3.0),
    cost: float | None = None,
    observe: str | None = None,
) -> RewardModel:
    """Demand of constant elasticity: d = (price / reference)**-theta.

    ``theta`` is the elasticity: a price rise by 1 % costs theta % of the customers. The highest
    price earns most where theta < 1 and the lowest where theta > 1. Prices between
    them are best only at theta = 1, where all prices tie. In `log_log`, which has a cut-off,
    they can be best elsewhere too.

    Args:
        prices: Positive, distinct prices.
        reference: The price at which demand is 1; below all prices, by default half the
            lowest one.
        domain: The interval of theta, at least 0.
        cost: The cost of one sold unit. Sales are observed, and the worth is the profit.
        observe: "revenue" or "sales", if no cost is given.

    Reference: Huang, Leng & Parlar (2013), who call it the power model.

    >>> model = isoelastic([1.0, 2.0, 4.0])
    >>> [(model.arms[region.arm], round(region.high, 4)) for region in model.regions]
    [(4.0, 1.0), (1.0, 3.0)]
    """
    levels = as_levels("prices", prices)
    reference = _as_reference(reference, levels)
    chosen = as_interval("domain", domain, ModelError)
    require(chosen[0] >= 0.0, "domain", "start at 0 or above", domain, ModelError)
    return _build(
        "isoelastic",
        "(arm / reference)**-theta",
        "-log(mean) / log(arm / reference)",
        levels,
        chosen,
        cost,
        observe,
        reference=reference,
    )


def log_log(
    prices: Iterable[float],
    reference: float | None = None,
    cutoff: float | None = None,
    *,
    domain: Domain = (0.0, 3.0),
    cost: float | None = None,
    observe: str | None = None,
) -> RewardModel:
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
        domain: The interval of theta, at least 0.
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
    chosen = as_interval("domain", domain, ModelError)
    require(chosen[0] >= 0.0, "domain", "start at 0 or above", domain, ModelError)
    return _build(
        "log_log",
        # Willingness to pay has the density exp(-theta * s) for s = log(price / reference) below
        # log(cutoff / reference). The second term of the sum is the ratio of customers who do not
        # buy to customers who do. exprel makes it defined at theta = 0 and provably rising.
        "1 / (1 + log(arm / reference) * exprel(theta * log(arm / reference))"
        " / (log(cutoff / arm) * exprel(-theta * log(cutoff / arm))))",
        None,
        levels,
        chosen,
        cost,
        observe,
        reference=reference,
        cutoff=cutoff,
    )


def _build(
    family: str,
    demand: str,
    inverse: str | None,
    prices: tuple[float, ...],
    domain: Domain,
    cost: float | None,
    observe: str | None,
    **constants: float,
) -> RewardModel:
    """Build the model of the rewards, revenue or sales, from the formula of demand."""
    known = observe in (None, "revenue", "sales")
    require(known, "observe", "be 'revenue' or 'sales'", observe, ModelError)
    build = partial(formula_model, f"demand.{family}", constants=constants)
    if cost is not None:
        cost = as_float("cost", cost, ModelError)
        require(cost >= 0.0, "cost", "be at least 0", cost, ModelError)
        rule = "be 'sales' where a cost is given"
        require(observe in (None, "sales"), "observe", rule, observe, ModelError)
        worth = {"cost": cost}
        return build(demand, inverse, prices, domain, worth=worth, value=Profit(cost))
    if observe == "sales":
        return build(demand, inverse, prices, domain, worth={"observe": "sales"})
    return build(
        f"arm * ({demand})",
        None if inverse is None else inverse.replace("mean", "(mean / arm)"),
        prices,
        domain,
        worth={"observe": "revenue"},
        reward_range=(0.0, max(1.0, *prices)),
    )


def _as_reference(reference: float | None, prices: tuple[float, ...]) -> float:
    if reference is None:
        return min(prices) / 2.0
    reference = as_positive("reference", reference, ModelError)
    rule = f"be below all prices, the lowest of which is {min(prices):g}"
    require(reference < min(prices), "reference", rule, reference, ModelError)
    return reference
