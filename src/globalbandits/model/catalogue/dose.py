"""Dose-response models: the arms are doses, and one or two numbers of the drug are unknown.

Each function returns a model of f(theta, dose), the probability of a response or the expected
share of the largest possible effect. The rewards are responses, in [0, 1]. Some families have two
numbers, such as an intercept and a slope. Each may be a number, which is known, or a pair
(low, high), which is unknown. One unknown number gives a `RewardModel`, two give a `VectorModel`.

By default a larger response is better. It grows with the dose, so the largest dose is best for
every theta. With ``penalty``, the cost of one unit of dose, the worth of a dose is
f - penalty * dose. With ``target``, the desired response, such as the accepted rate of a side
effect, the worth is -abs(f - target) - penalty * dose.

With a target, the default domain reaches from parameters at which the smallest dose is far above
the target to parameters at which the largest dose is far below it. It ends earlier where curves
become flat in double precision. A wider domain is allowed for ``power``, ``skeleton_logistic`` and
``logistic``: curves that are flat at its ends cannot be inverted, but a posterior on a grid works.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, Unpack, overload

from globalbandits._validation import as_float, as_fraction, as_interval, as_positive, require
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
from globalbandits.model.objectives import Benefit
from globalbandits.model.reward_model import RewardModel
from globalbandits.model.vector_model import AnyModel, VectorModel

__all__ = ["emax", "hyperbolic_tangent", "linear", "logistic", "power", "skeleton_logistic"]

# Half the width of the default domain of a log-parameter with a target: more than four standard
# deviations of the usual prior, whose variance is 1.34.
_LOG_REACH = 5.0
# Where curves are flat, or cannot be inverted, in double precision: numbers near 1 have larger
# rounding errors than numbers near 0.
_MIN_MEAN = 1e-12
_FLAT_LOG_ODDS = -math.log(_MIN_MEAN)
_NEAR_ONE_LOG_ODDS = math.log(1e9)
# A response far above every target.
_HIGH_RESPONSE = 0.95
_HIGH_LOG_ODDS = math.log(0.99 / 0.01)


class Options(TypedDict, total=False):
    """The arguments that do not decide between a `RewardModel` and a `VectorModel`."""

    domain: Interval | None
    penalty: float
    target: float | None


@overload
def linear(
    doses: Iterable[float],
    *,
    intercept: float = 0.0,
    slope: Interval | None = None,
    **options: Unpack[Options],
) -> RewardModel: ...
@overload
def linear(
    doses: Iterable[float],
    *,
    intercept: Interval,
    slope: Interval | None = None,
    **options: Unpack[Options],
) -> VectorModel: ...
@overload
def linear(
    doses: Iterable[float],
    *,
    intercept: Interval,
    slope: float,
    **options: Unpack[Options],
) -> RewardModel: ...
def linear(
    doses: Iterable[float],
    *,
    intercept: Number = 0.0,
    slope: Number | None = None,
    domain: Interval | None = None,
    penalty: float = 0.0,
    target: float | None = None,
) -> AnyModel:
    """A response that rises in a straight line: f = intercept + theta * dose.

    ``theta`` is the slope, the response to one unit of dose.

    Args:
        doses: Positive, distinct doses. A response to dose 0 does not depend on theta.
        intercept: The response without a dose: a number, or a pair (low, high) if it is unknown.
        slope: Theta: a number or a pair, instead of ``domain``.
        domain: The interval of theta, within [0, (1 - intercept) / max(doses)] so that f is at
            most 1. By default the whole interval.
        penalty: The cost of one unit of dose, in units of the response.
        target: The best response, strictly between 0 and 1.

    Reference: Lai & Robbins (1978), "Adaptive design in regression and control".

    >>> model = linear([1.0, 2.0, 4.0], penalty=0.1)
    >>> [(model.arms[region.arm], round(region.high, 4)) for region in model.regions]
    [(1.0, 0.1), (4.0, 0.25)]
    """
    levels = as_levels("doses", doses)
    start = as_number("intercept", intercept, 0.0, math.nextafter(1.0, 0.0), "lie in [0, 1)")
    last = (1.0 - ends(start)[1]) / max(levels)
    shown = "1" if start == 0.0 else "(1 - intercept)"
    rule = f"lie in [0, {shown} / max(doses)] = [0, {last:.6g}], where the response is 1"
    theta = as_theta("slope", slope, domain, (0.0, last), 0.0, last * (1 + 1e-12), rule)
    if start == 0.0 and isinstance(theta, tuple):
        return _build("linear", "theta * arm", "mean / arm", levels, theta, penalty, target)
    # Rounding can raise the response above 1 at the end of the slope's interval.
    formula = "min(intercept + slope*arm, 1)"
    return _named("linear", formula, levels, {"intercept": start, "slope": theta}, penalty, target)


@overload
def logistic(
    doses: Iterable[float],
    intercept: float = -3.0,
    *,
    slope: Interval | None = None,
    reference: float | None = None,
    **options: Unpack[Options],
) -> RewardModel: ...
@overload
def logistic(
    doses: Iterable[float],
    intercept: Interval,
    *,
    slope: Interval | None = None,
    reference: float | None = None,
    **options: Unpack[Options],
) -> VectorModel: ...
@overload
def logistic(
    doses: Iterable[float],
    intercept: Interval,
    *,
    slope: float,
    reference: float | None = None,
    **options: Unpack[Options],
) -> RewardModel: ...
def logistic(
    doses: Iterable[float],
    intercept: Number = -3.0,
    *,
    slope: Number | None = None,
    reference: float | None = None,
    domain: Interval | None = None,
    penalty: float = 0.0,
    target: float | None = None,
) -> AnyModel:
    """Log-odds that are linear in the dose: f = 1 / (1 + exp(-intercept - theta*dose)).

    ``theta`` is the slope: the increase of the log-odds per unit of dose. With ``reference`` the
    log-odds are linear in log(dose / reference). With intercept and slope unknown this is the
    logistic regression of dose finding (BLRM).

    Args:
        doses: Positive, distinct doses. A response to dose 0 does not depend on theta.
        intercept: The log-odds without a dose, or at the reference dose: a number, or a pair
            (low, high) if it is unknown. -3 is a response of 1 in 20.
        slope: Theta: a number or a pair, instead of ``domain``.
        reference: The dose at which the log-odds are the intercept. By default the log-odds are
            linear in the dose itself.
        domain: The interval of theta. By default from 0 to 6 / max(doses), where, with the
            default intercept, 19 in 20 respond to the largest dose; with ``reference`` from 0.2
            to 5. With a target and a known intercept, to where 99 in 100 respond to the smallest
            dose, if the curve of the largest dose is not flat there.
        penalty: The cost of one unit of dose, in units of the response.
        target: The best response, strictly between 0 and 1.

    References: Lai & Robbins (1978); O'Quigley & Shen (1996), "Continual reassessment method: a
    likelihood approach"; Neuenschwander, Branson & Gsponer (2008), "Critical aspects of the
    Bayesian approach to phase I cancer trials", for the form with a reference dose.

    >>> model = logistic([1.0, 2.0, 4.0], penalty=0.1)
    >>> [model.arms[region.arm] for region in model.regions]
    [1.0, 4.0]
    """
    levels = as_levels("doses", doses)
    start = as_number("intercept", intercept, -math.inf, math.inf, "be finite")
    if reference is not None:
        reference = as_positive("reference", reference, ModelError)
        default = 0.2, 5.0
        theta = as_theta("slope", slope, domain, default, SMALLEST_POSITIVE, rule="be positive")
        return _named(
            "logistic",
            "expit(intercept + slope*log(arm / reference))",
            levels,
            {"intercept": start, "slope": theta},
            penalty,
            target,
            {"reference": reference},
            tuple(dose for dose in levels if dose == reference),
        )
    default = 0.0, 6.0 / max(levels)
    flat_from = math.inf
    if not isinstance(start, tuple):
        flat_from = (_NEAR_ONE_LOG_ODDS - start) / max(levels)
        if target is not None and min(levels) > 0.0:
            high = min((_HIGH_LOG_ODDS - start) / min(levels), flat_from)
            default = 0.0, max(default[1], high)
    theta = as_theta("slope", slope, domain, default)
    if isinstance(start, tuple) or not isinstance(theta, tuple):
        numbers = {"intercept": start, "slope": theta}
        formula = "expit(intercept + slope*arm)"
        return _named("logistic", formula, levels, numbers, penalty, target)
    return _build(
        "logistic",
        "1 / (1 + exp(-intercept - theta*arm))",
        "(log(mean) - log1p(-mean) - intercept) / arm",
        levels,
        theta,
        penalty,
        target,
        monotone=target is None or theta[1] <= flat_from * (1 + 1e-12),
        intercept=start,
    )


@overload
def emax(
    doses: Iterable[float],
    hill: float = 1.0,
    *,
    level: float = 1.0,
    ed50: Interval | None = None,
    **options: Unpack[Options],
) -> RewardModel: ...
@overload
def emax(
    doses: Iterable[float],
    hill: float = 1.0,
    *,
    level: Interval,
    ed50: Interval | None = None,
    **options: Unpack[Options],
) -> VectorModel: ...
@overload
def emax(
    doses: Iterable[float],
    hill: float = 1.0,
    *,
    level: Interval,
    ed50: float,
    **options: Unpack[Options],
) -> RewardModel: ...
def emax(
    doses: Iterable[float],
    hill: float = 1.0,
    *,
    level: Number = 1.0,
    ed50: Number | None = None,
    domain: Interval | None = None,
    penalty: float = 0.0,
    target: float | None = None,
) -> AnyModel:
    """A response that saturates: f = level * dose**hill / (theta**hill + dose**hill).

    ``theta`` is the ED50, the dose of half the largest effect. A potent drug has a small ED50.
    Rewards are shares of the largest effect. With ``hill`` other than 1 this is the sigmoid Emax
    model.

    Args:
        doses: Positive, distinct doses. A response to dose 0 does not depend on theta.
        hill: The known steepness of the curve in the logarithm of the dose.
        level: The largest response: a number, or a pair (low, high) if it is unknown.
        ed50: Theta: a number or a pair, instead of ``domain``.
        domain: The interval of theta, above 0. By default from half the smallest dose to twice
            the largest. With a target, from where the smallest dose has a response of 0.95 to
            where the largest has half of the target.
        penalty: The cost of one unit of dose, in units of the response.
        target: The best response, strictly between 0 and 1.

    References: MacDougall (2006), "Analysis of dose-response studies: Emax model", in Ting (ed.),
    Dose Finding in Drug Development; Pinheiro, Bretz & Branson (2006) in the same book.

    >>> model = emax([1.0, 2.0, 4.0], penalty=0.1)
    >>> model.means(2.0).round(4), model.worth(2.0).round(4)
    (array([0.3333, 0.5   , 0.6667]), array([0.2333, 0.3   , 0.2667]))
    >>> model.arms[model.best_arms(2.0)[0]]
    2.0
    """
    levels = as_levels("doses", doses)
    hill = as_positive("hill", hill, ModelError)
    largest = as_number("level", level, SMALLEST_POSITIVE, 1.0, "lie in (0, 1]")
    default = 0.5 * min(levels), 2.0 * max(levels)
    if target is not None and min(levels) > 0.0:
        aim = as_fraction("target", target, ModelError)
        low = min(levels) * (1.0 / _HIGH_RESPONSE - 1.0) ** (1.0 / hill)
        default = min(low, default[0]), max(levels) * (2.0 / aim - 1.0) ** (1.0 / hill)
    theta = as_theta("ed50", ed50, domain, default, SMALLEST_POSITIVE, rule="start above 0")
    if largest != 1.0 or not isinstance(theta, tuple):
        formula = "level / (1 + (ed50 / arm)**hill)"
        numbers = {"level": largest, "ed50": theta}
        return _named("emax", formula, levels, numbers, penalty, target, {"hill": hill})
    return _build(
        "emax",
        "1 / (1 + (theta / arm)**hill)",
        "arm * (1 / mean - 1)**(1 / hill)",
        levels,
        theta,
        penalty,
        target,
        hill=hill,
    )


def power(
    skeleton: Iterable[float],
    *,
    domain: Interval | None = None,
    penalty: float = 0.0,
    target: float | None = None,
) -> RewardModel:
    """The empiric model of continual reassessment: f = skeleton**exp(theta).

    The skeleton holds a first guess of the response probability at each dose. The arms are these
    guesses. ``theta`` is their error: at 0 they are right, below 0 responses are more likely,
    above 0 less likely. (Some texts write skeleton**a with a = exp(theta) > 0. The logarithm
    treats errors in both directions alike.)

    Args:
        skeleton: Distinct probabilities, strictly between 0 and 1.
        domain: The interval of theta; (-1.5, 1.5) by default. With a target, from -5 to 5, or to
            where the smallest response is 1e-12.
        penalty: The cost of one unit of the skeleton, in units of the response.
        target: The best response, strictly between 0 and 1.

    Reference: O'Quigley, Pepe & Fisher (1990), "Continual reassessment method: a practical
    design for phase 1 clinical trials in cancer"; O'Quigley & Shen (1996) for this form.

    >>> model = power([0.05, 0.1, 0.2, 0.4])
    >>> model.means(0.0)
    array([0.05, 0.1 , 0.2 , 0.4 ])
    >>> round(model.invert(2, 0.04), 6)
    0.693147

    The dose whose rate of side effects is closest to 25 %:

    >>> model = power([0.05, 0.1, 0.2, 0.4], target=0.25)
    >>> [(model.arms[region.arm], round(region.high, 3)) for region in model.regions]
    [(0.05, -0.636), (0.1, -0.322), (0.2, 0.148), (0.4, 2.222)]
    """
    rule = "lie strictly between 0 and 1"
    levels = as_levels("skeleton", skeleton, 0.0, 1.0, rule)
    flat_from = math.log(math.log(_MIN_MEAN) / math.log(min(levels)))
    default = (-1.5, 1.5) if target is None else (-_LOG_REACH, min(_LOG_REACH, flat_from))
    chosen = as_interval("domain", default if domain is None else domain, ModelError)
    return _build(
        "power",
        "arm**exp(theta)",
        "log(log(mean) / log(arm))",
        levels,
        chosen,
        penalty,
        target,
        monotone=target is None or chosen[1] <= flat_from + 1e-9,
    )


def skeleton_logistic(
    skeleton: Iterable[float],
    intercept: float = 3.0,
    *,
    domain: Interval | None = None,
    penalty: float = 0.0,
    target: float | None = None,
) -> RewardModel:
    """The one-parameter logistic model of continual reassessment, with a skeleton.

    f = 1 / (1 + exp(-intercept - exp(theta) * x)), where x = logit(skeleton) - intercept is the
    scaled dose, so that f is the skeleton at theta = 0. Above 0 responses are less likely.

    Args:
        skeleton: Distinct probabilities, strictly between 0 and 1.
        intercept: The known log-odds at a scaled dose of 0, above those of every probability of the
            skeleton. dfcrm's is 3.
        domain: The interval of theta; (-1.5, 1.5) by default. With a target, from -5 to 5, or to
            where the smallest response is 1e-12.
        penalty: The cost of one unit of the skeleton, in units of the response.
        target: The best response, strictly between 0 and 1.

    Reference: Cheung (2011), "Dose Finding by the Continual Reassessment Method", section 3.2.

    >>> model = skeleton_logistic([0.05, 0.1, 0.2, 0.4], target=0.25)
    >>> model.means(0.0).round(6)
    array([0.05, 0.1 , 0.2 , 0.4 ])
    """
    rule = "lie strictly between 0 and 1"
    levels = as_levels("skeleton", skeleton, 0.0, 1.0, rule)
    intercept = as_float("intercept", intercept, ModelError)
    largest = max(math.log(level / (1.0 - level)) for level in levels)
    rule = f"be above {largest:.6g}, the log-odds of the largest probability of the skeleton"
    require(intercept > largest, "intercept", rule, intercept, ModelError)
    lowest = math.log(min(levels) / (1.0 - min(levels))) - intercept
    flat_from = math.log((-_FLAT_LOG_ODDS - intercept) / lowest)
    default = (
        (-1.5, min(1.5, flat_from)) if target is None else (-_LOG_REACH, min(_LOG_REACH, flat_from))
    )
    chosen = as_interval("domain", default if domain is None else domain, ModelError)
    dose = "(log(arm) - log1p(-arm) - intercept)"
    return _build(
        "skeleton_logistic",
        f"1 / (1 + exp(-intercept - exp(theta)*{dose}))",
        f"log((log(mean) - log1p(-mean) - intercept) / {dose})",
        levels,
        chosen,
        penalty,
        target,
        monotone=target is None or chosen[1] <= flat_from + 1e-9,
        intercept=intercept,
    )


def hyperbolic_tangent(
    doses: Iterable[float],
    *,
    domain: Interval | None = None,
    penalty: float = 0.0,
    target: float | None = None,
) -> RewardModel:
    """The first model of continual reassessment: f = ((tanh(dose) + 1) / 2)**theta.

    ``theta`` is the exponent: the larger it is, the less likely is a response at every dose. Doses
    are on a standardised scale, where dose 0 has response 0.5 at theta = 1. They may be negative.

    Args:
        doses: Distinct doses between -3 and 3. Outside this range the curve is almost flat.
        domain: The interval of theta, at least 0; (0.1, 3) by default. With a target, from where
            the smallest dose has a response of 0.95 to where the largest has a fifth of the target,
            or the smallest a response of 1e-12.
        penalty: The cost of one unit of dose, in units of the response.
        target: The best response, strictly between 0 and 1.

    Reference: O'Quigley, Pepe & Fisher (1990), "Continual reassessment method: a practical
    design for phase 1 clinical trials in cancer".

    >>> model = hyperbolic_tangent([-1.5, -0.5, 0.5])
    >>> model.means(1.0).round(4)
    array([0.0474, 0.2689, 0.7311])
    """
    rule = "lie between -3 and 3, on a standardised scale"
    levels = as_levels("doses", doses, -3.0, 3.0, rule)
    default = 0.1, 3.0
    if target is not None:
        aim = as_fraction("target", target, ModelError)
        least, most = (-math.log1p(math.exp(-2.0 * end)) for end in (min(levels), max(levels)))
        far = min(math.log(aim / 5.0) / most, math.log(_MIN_MEAN) / least)
        default = min(0.1, math.log(_HIGH_RESPONSE) / least), max(3.0, far)
    chosen = as_interval("domain", default if domain is None else domain, ModelError)
    require(chosen[0] >= 0.0, "domain", "start at 0 or above", domain, ModelError)
    return _build(
        "hyperbolic_tangent",
        # (tanh(x) + 1) / 2 = 1 / (1 + exp(-2 x)), which is accurate at negative doses.
        "(1 + exp(-2*arm))**-theta",
        "-log(mean) / log1p(exp(-2*arm))",
        levels,
        chosen,
        penalty,
        target,
    )


def _build(
    family: str,
    response: str,
    inverse: str,
    doses: tuple[float, ...],
    domain: Interval,
    penalty: float,
    target: float | None,
    monotone: bool = True,
    **constants: float,
) -> RewardModel:
    """Build the model of the response and its worth, with one unknown number."""
    value, worth = _as_worth(penalty, target)
    return formula_model(
        f"dose.{family}",
        response,
        inverse if monotone else None,
        doses,
        domain,
        constants=constants,
        worth=worth,
        value=value,
        monotone=monotone,
        remarks=_remarks(doses, penalty, target),
    )


def _named(
    family: str,
    response: str,
    doses: tuple[float, ...],
    numbers: dict[str, Number],
    penalty: float,
    target: float | None,
    constants: Mapping[str, float] | None = None,
    uninformative: tuple[float, ...] = (),
) -> AnyModel:
    """Build the model of the response in its numbers by name."""
    value, worth = _as_worth(penalty, target)
    return named_model(
        f"dose.{family}",
        response,
        doses,
        numbers,
        constants=constants or {},
        worth=worth,
        value=value,
        shape="slope",
        uninformative=uninformative,
    )


def _as_worth(penalty: float, target: float | None) -> tuple[Benefit | None, dict[str, Any]]:
    """Return the value of a decision and the parameters that determine it."""
    penalty = as_float("penalty", penalty, ModelError)
    require(penalty >= 0.0, "penalty", "be at least 0", penalty, ModelError)
    worth: dict[str, Any] = {"penalty": penalty}
    if target is not None:
        worth["target"] = target = as_fraction("target", target, ModelError)
    return Benefit(target, penalty) if penalty > 0.0 or target is not None else None, worth


def _remarks(doses: tuple[float, ...], penalty: float, target: float | None) -> tuple[str, ...]:
    """Warnings about doses that may be mistakes."""
    found = []
    if target is None and penalty == 0.0:
        found.append("no target: the dose with the largest response is best for every theta")
    return (*found, *order_remarks(doses))


def order_remarks(doses: Iterable[float]) -> tuple[str, ...]:
    """Warn of doses that are not in ascending order."""
    given = list(doses)
    if given == sorted(given):
        return ()
    order = "descending" if given == sorted(given, reverse=True) else "mixed"
    return (f"the doses are in {order} order: steps of limits follow this order",)
