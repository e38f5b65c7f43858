"""Random worlds with two unknown numbers: demand with a level and a slope, and dose response.

The numbers are uniform on the box of the model, which is also the prior of policies. Curves are
exact, every mean has an error, or the truth is of another family.
"""

from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.environments.environment import worth_of_means
from globalbandits.model import VectorModel
from globalbandits.model.formulas import Expression

ERRORS = ("exact", "0.01", "0.02", "0.05", "family")

# Smallest distance of means with errors, and of means of another family, from 0 and 1.
MIN_MEAN = 0.003
# Points of the box at which the best arm is found, and what makes a model worth playing: the share
# of the box of each of three arms, and the largest share of one arm.
_N_POINTS = 400
_MIN_SHARE, _MAX_SHARE = 0.04, 0.8
# The best arm of another family is worth this much more than the median.
_MIN_GAIN = 0.01

_DEMAND = {
    "exponential": "level * exp(-slope*arm)",
    "logit": "expit(level - slope*arm)",
    "power": "level * arm**(-slope)",
    "linear": "max(level - slope*arm, 0)",
}
_DOSE = {
    "dose": "expit(level + exp(slope)*log(arm))",
    "emax": "level * arm**1.5 / (slope**1.5 + arm**1.5)",
    "cloglog": "1 - exp(-exp(level + exp(slope)*log(arm)))",
}
_FORMULAS = {**_DEMAND, **_DOSE}


class Curves(NamedTuple):
    """A model of two numbers, and the family of its curves."""

    family: str
    words: str
    model: VectorModel


def draw_curves(rng: np.random.Generator) -> Curves:
    """Draw prices or doses until three arms are best on 4 % of the box each, and none on 80 %."""
    while True:
        family = str(rng.choice(["exponential", "logit", "power", "dose"]))
        curves = _dose(rng) if family == "dose" else _demand(family, rng)
        worth = curves.model.worth(curves.model.from_unit(rng.random((_N_POINTS, 2))))
        best = np.argmax(worth, axis=1)
        shares = np.bincount(best, minlength=curves.model.n_arms) / _N_POINTS
        if (shares >= _MIN_SHARE).sum() >= 3 and shares.max() < _MAX_SHARE:
            return curves


def _dose(rng: np.random.Generator) -> Curves:
    n_arms = int(rng.integers(5, 9))
    top = rng.uniform(1.5, 4.0)
    doses = np.exp(np.linspace(-np.log(rng.uniform(4, 20)), 0, n_arms)) * top
    target = float(rng.uniform(0.2, 0.35))
    box = {"level": (-4.0, 0.5), "slope": (float(np.log(0.4)), float(np.log(3.0)))}
    value = f"-abs(mean - {target!r})"
    words = f"logistic dose, {n_arms} doses, target {target:.3g}"
    return Curves("dose", words, VectorModel(_DOSE["dose"], doses.tolist(), box, value=value))


def _demand(family: str, rng: np.random.Generator) -> Curves:
    """Demand with a cost. The worth is the profit in units of the largest margin."""
    n_arms = int(rng.integers(5, 13))
    top = float(rng.uniform(2.0, 5.0))
    space = np.linspace if rng.random() < 0.5 else np.geomspace
    prices = space(1.0, top, n_arms)
    cost = float(rng.uniform(0.3, 0.8) if family == "power" else rng.uniform(0.0, 0.7))
    box = {
        "power": {"level": (0.15, 0.95), "slope": (0.3, 4.0)},
        "exponential": {"level": (0.2, 1.0), "slope": (0.8 / top, 1.2)},
        "logit": {"level": (-1.0, 4.0), "slope": (1.0 / top, 3.0)},
    }[family]
    value = f"(arm - {cost!r}) / {top - cost!r} * mean"
    words = f"{family} demand, {n_arms} prices from 1 to {top:.3g}, cost {cost:.3g}"
    return Curves(family, words, VectorModel(_DEMAND[family], prices.tolist(), box, value=value))


def draw_truth(curves: Curves, error: str, rng: np.random.Generator) -> tuple[str, dict[str, Any]]:
    """Draw the truth: words about it, and the arguments of `Environment`."""
    model = curves.model
    if error == "family":
        name, means = _other_family(curves, rng)
        return f"truly of another family, {name}", {"truth": means.tolist()}
    theta = model.from_unit(rng.random(2))
    words = ", ".join(f"{name} {x:.3g}" for name, x in model.named(theta).items())
    if error == "exact":
        return f"{words}; curves exact", {"theta": model.named(theta)}
    means = model.means(theta) + float(error) * rng.standard_normal(model.n_arms)
    means = np.clip(means, MIN_MEAN, 1.0 - MIN_MEAN)
    text = f"{words}; every mean off by {error} (standard deviation)"
    return text, {"theta": model.named(theta), "truth": means.tolist()}


def _other_family(curves: Curves, rng: np.random.Generator) -> tuple[str, FloatArray]:
    """Draw means of another family on the same arms, with an arm clearly above the median."""
    arms = np.array(curves.model.arms)
    top = arms[-1]
    uniform = rng.uniform
    while True:
        if curves.family == "dose":
            kind = str(rng.choice(["emax", "cloglog"]))
            theta = (
                uniform(0.35, 0.95),
                np.exp(uniform(np.log(arms[0]), np.log(2 * top))),
            )
            if kind == "cloglog":
                theta = uniform(-4.0, 0.0), uniform(np.log(0.4), np.log(2.0))
        else:
            kind = str(rng.choice([other for other in _DEMAND if other != curves.family]))
            level = uniform(0.2, 0.98)
            theta = {
                "exponential": (uniform(0.2, 1.0), uniform(0.8 / top, 1.2)),
                "logit": (uniform(-1, 4), uniform(1 / top, 3)),
                "power": (uniform(0.15, 0.95), uniform(0.3, 4.0)),
                "linear": (level, level / (top * uniform(0.9, 2.0))),
            }[kind]
        formula = Expression(_FORMULAS[kind], ("level", "slope", "arm"))
        means = np.clip(formula(*theta, arms), MIN_MEAN, 1.0 - MIN_MEAN)
        worth = worth_of_means(curves.model, means)
        if worth.max() - np.median(worth) > _MIN_GAIN:
            return kind, means
