"""The whole analysis of many small models, compared with recorded numbers.

`recorded_models.json` holds a few numbers for each part of each model: its tables, regions and
constants, and how often and where its functions were evaluated. Long arrays are summarised by
weighted sums. The other tests of this room check what is right; this one finds any change. A change
that is meant to change a table records the numbers again: ``python -m
tests.model.test_recorded_models``. The git diff then shows which models are concerned.

The functions use only arithmetic that is rounded in the same way on every machine.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import ModelError
from globalbandits.model.analysis.holder import (
    estimate_holder,
    extreme_ratios,
    extreme_secants,
    tabulate,
)
from globalbandits.model.regional import RegionalModel
from globalbandits.model.vector import graves_lai, identification, tabulation
from tests.model.families import PRICES, pricing

RECORD = Path(__file__).with_name("recorded_models.json")

GOLDEN = 0.6180339887498949


def summary(*parts):
    """The length and two weighted sums of all numbers, which are compressed so that all count."""
    numbers = np.concatenate([np.ravel(np.asarray(part, dtype=float)) for part in parts])
    numbers = np.arcsinh(np.nan_to_num(numbers, nan=7.7, posinf=1e300, neginf=-1e300))
    weights = 0.5 + np.arange(1, numbers.size + 1) * GOLDEN % 1.0
    return [numbers.size, float((weights * numbers).sum()), float((weights**3 * numbers).sum())]


def logarithms(*parts):
    """A summary in which small numbers count as much as large ones."""
    with np.errstate(divide="ignore"):
        return summary(*(np.log10(np.abs(np.asarray(part, dtype=float))) for part in parts))


class Watched:
    """A function that remembers how often and where it was evaluated."""

    def __init__(self, function):
        self.function = function
        self.seen = np.zeros(4)

    def __call__(self, first, *others):
        x = np.asarray(first, dtype=float)
        shape = np.broadcast(x, *(other for other in others if np.ndim(other))).shape
        x = np.broadcast_to(x, shape)
        self.seen += [1, x.size, x.sum(), np.sqrt(np.abs(x)).sum()]
        return self.function(first, *others)


def facts_of(model, watched):
    """What the analysis finds out about a model with one unknown number."""
    tables = model.tables
    facts = {
        "evaluations": [number for each in watched for number in each.seen.tolist()],
        **{name: summary(*getattr(tables, name)) for name in ("mean", "inverse", "worth", "value")},
        "envelope": summary(*tables.envelope),
        "peaks": summary(*tables.peaks),
        "lines": summary(tables.value_slope, tables.value_offset),
        "flags": [tables.n_arms, tables.low, tables.high, tables.invertible, tables.valued],
        "rising": [tables.affine_increasing, tables.n_contexts],
        "regions": [[*region.arms, region.low, region.high] for region in model.regions[:6]],
        "dominated": list(model.dominated),
        "resolution": [model.resolution],
        "ranges": [*model.worth_range, model.worth_lipschitz],
        "turning points": model.turning_points.tolist()[:9],
        "remarks": " | ".join(model.remarks),
        "repr": repr(model),
        "html": summary([ord(letter) for letter in model._repr_html_()]),
    }
    low, high = model.domain
    shares = (0.0, 0.01, 0.3333, 0.5, 0.77, 0.995)
    places = [*(low + share * (high - low) for share in shares), high]
    facts["questions"] = summary(
        *(
            [
                model.suboptimality_gap(theta),
                model.suboptimality_distance(theta),
                model.nearest_edge(theta) or 0.5,
                len(model.end_of_domain(theta)),
                *model.best_arms(theta),
            ]
            for theta in places
        )
    )
    if model.monotone:
        for each in watched:
            each.seen[:] = 0.0
        holder = model.holder
        facts["holder"] = [
            *holder.lower_constant[:3],
            *holder.lower_exponent[:3],
            *holder.upper_constant[:3],
            *holder.upper_exponent[:3],
        ]
        facts["evaluations for it"] = [number for each in watched for number in each.seen.tolist()]
    return facts


def kink(t):
    return 0.2 + 0.5 * np.abs(t - 0.3) + 0.1 * t


def hump(t):
    return 0.1 + 0.8 / (1.0 + 25.0 * (t - 0.43) * (t - 0.43))


def wave(t):
    # Rises, falls and rises again.
    return 0.3 + 2.0 * (t - 0.2) * (t - 0.55) * (t - 0.9) + 0.1 * t


def flat_inside(t):
    return 0.2 + 0.3 * np.maximum(0.0, t - 0.6) + 0.4 * np.minimum(t, 0.35)


def inflection(t):
    return 0.5 + 4.0 * (t - 0.5) * (t - 0.5) * (t - 0.5)


def cusp(t):
    return 0.5 + np.sign(t - 0.3) * np.sqrt(np.abs(t - 0.3)) / 2.0


def narrow_rise(t):
    return 0.2 + 0.3 * t + 0.1 * np.clip((t - 0.31) / 1e-3, 0.0, 1.0)


def narrow_bump(t):
    x = (t - 0.31) / 1e-2
    return 0.2 + 0.5 * t + 2e-3 * x / (1.0 + x * x * x * x)


def steps(t):
    return np.interp(t, [0.0, 0.13, 0.3, 0.30001, 0.7, 1.0], [0.0, 0.02, 0.1, 0.2, 0.25, 1.0])


LINES = [lambda t, k=k: 0.05 + 0.02 * k + t * (0.9 - 0.035 * k) / 2.0 for k in range(25)]

# Functions, and the options of `RewardModel.from_functions`.
MODELS = {
    "one line": ([lambda t: 0.2 + 0.5 * t], {}),
    "two lines": ([lambda t: 0.2 + 0.5 * t, lambda t: 0.6 - 0.3 * t], {}),
    "three arms": (
        [lambda t: 1.0 - np.sqrt(t), lambda t: 0.8 * t, lambda t: t * t],
        {"arms": ["a", "b", "c"]},
    ),
    "prices": ([lambda t, p=p: pricing(t, p) for p in PRICES], {"arms": PRICES.tolist()}),
    "lines that cross": (LINES, {}),
    "far from 0": (
        [
            lambda t: (t - 1000.0) * (t - 1000.0),
            lambda t: 0.5 + 0.1 * (t - 1000.0),
            lambda t: (1001.0 - t) * 0.8,
        ],
        {"domain": (1000.0, 1001.0)},
    ),
    "wide and negative": (
        [
            lambda t: 0.5 + t / 20.0,
            lambda t: 0.45 - 0.0125 * t * np.abs(t) / 2.0,
        ],
        {"domain": (-3.0, 5.0)},
    ),
    "currency": (
        [lambda t: 40.0 * t - 5.0, lambda t: 20.0 - 12.0 * np.sqrt(t), lambda t: 9.0 + t * t],
        {"reward_range": (-10.0, 50.0), "arms": [1, 2, 3]},
    ),
    "inflection and cusp": ([inflection, cusp], {}),
    "powers": (
        [
            lambda t: t * t * t,
            lambda t: 1.0 - t * t * t * t * t * t * t,
            lambda t: np.sqrt(np.sqrt(t)),
            lambda t: 0.3 + 0.3 * t * np.sqrt(t),
        ],
        {},
    ),
    "steps": ([steps, lambda t: 0.6 - 0.3 * t], {}),
    "narrow rise": ([lambda t: 0.25 + 0.3 * t, narrow_rise], {}),
    "narrow bump": ([lambda t: 0.205 + 0.5 * t, narrow_bump], {}),
    "touching": (
        [lambda t: 0.25 + 0.5 * t, lambda t: 0.25 + 0.5 * t - 0.4 * (t - 0.4) * (t - 0.4)],
        {},
    ),
    "equal in part": (
        [
            lambda t: 0.1 + 0.5 * t,
            lambda t: 0.1 + 0.5 * t - 0.2 * np.maximum(0.0, t - 0.5),
            lambda t: 0.1 + 0.5 * t,
        ],
        {},
    ),
    "two crossings in one cell": (
        [
            lambda t: 0.2 + 0.3 * t,
            lambda t: 0.2 + 0.3 * t + 1e-5 - 0.2 * (t - 0.3712) * (t - 0.3712),
        ],
        {},
    ),
    "any shape": ([kink, hump, wave, flat_inside], {"monotone": False}),
    "any shape, in currency": (
        [lambda t: 30.0 * kink(t / 4.0 - 0.5), lambda t: 25.0 * hump(t / 4.0 - 0.5)],
        {"monotone": False, "domain": (2.0, 6.0), "reward_range": (0.0, 30.0)},
    ),
    "parabolas": (
        [lambda t: 0.4 + t * (0.73 - t), lambda t: 0.3 - 0.9 * t * (0.91 - t), lambda t: t * t],
        {"monotone": False},
    ),
    "lines in currency": (
        [lambda t: 10.0 + 63.0 * t, lambda t: 80.0 - 41.0 * t],
        {"reward_range": (0.0, 100.0), "value": lambda m, k: 3.1 * m - 7.7 * (1.0 + k)},
    ),
    "constants": ([lambda t: 0.3 + 0.0 * t, lambda t: 0.2 + 0.3 * t], {"monotone": False}),
    "kinked value": (
        [lambda t: t * t, lambda t: 0.9 - 0.8 * t, lambda t: 0.2 + 0.3 * t],
        {"value": lambda m, k: np.minimum(m, 0.3) - 0.1 * m * (1.0 + k)},
    ),
    "targets": (
        [lambda t: t * t, lambda t: 0.9 - 0.8 * t, lambda t: 0.2 + 0.3 * t],
        {"value": lambda m, k: -np.abs(m - 0.35) - 0.02 * k},
    ),
    "profit": (
        [lambda t, p=p: (1.0 - p * t) * (1.0 - p * t) for p in (0.4, 0.5, 0.7, 0.9)],
        {"value": lambda m, k: (0.1 + 0.2 * k) * m - 0.05, "domain": (0.1, 1.0)},
    ),
    "loss": (
        [lambda t: t, lambda t: 1.0 - t],
        {"values": [lambda m: 0.7 - m, lambda m: -2.0 * m]},
    ),
    "one value for all": ([lambda t: t, lambda t: 1.0 - t], {"value": lambda m, k: 3.0 + 0.0 * m}),
    "value with humps": (
        [lambda t: 0.05 + 0.9 * t, lambda t: 0.95 - 0.9 * t * t],
        {"value": lambda m, k: hump(m) - 0.2 * wave(m) + 0.01 * k},
    ),
    "value that is steep": (
        [lambda t: t * t, lambda t: 0.3 + 0.3 * t],
        {"value": lambda m, k: np.sqrt(m) - 0.2 * k * m},
    ),
    "valued, any shape, in currency": (
        [lambda t: 30.0 * kink(t), lambda t: 25.0 * hump(t), lambda t: 4.0 + 8.0 * t],
        {
            "monotone": False,
            "reward_range": (0.0, 30.0),
            "value": lambda m, k: np.minimum(m, 9.0 + k) * 2.0 - 1.1 * m,
        },
    ),
}

TABLES = {
    "rising": ([0.0, 0.4, 1.0], [[0.1, 0.9], [0.2, 0.7], [0.8, 0.6]], {}),
    "uneven": (
        [2.0, 2.5, 2.75, 4.0, 6.0],
        [[0.1, 0.9, 0.5], [0.3, 0.8, 0.55], [0.31, 0.4, 0.6], [0.6, 0.3, 0.61], [0.7, 0.05, 0.7]],
        {"domain": (2.25, 5.0)},
    ),
    "any shape": (
        [0.0, 0.2, 0.5, 0.6, 1.0],
        [[0.1, 0.5], [0.6, 0.2], [0.5, 0.2], [0.55, 0.3], [0.0, 0.9]],
        {"monotone": False},
    ),
    "valued": (
        [0.0, 0.3, 1.0],
        [[0.1, 0.9], [0.2, 0.5], [0.8, 0.1]],
        {"value": lambda m, k: -np.abs(m - 0.3)},
    ),
    "two rows": ([0.0, 1.0], [[0.1, 0.5], [0.7, 0.4]], {}),
}


def build(name):
    functions, options = MODELS[name]
    watched = [Watched(function) for function in functions]
    options = dict(options)
    if "value" in options:
        watched.append(Watched(options["value"]))
        options["value"] = watched[-1]
    return gb.RewardModel.from_functions(watched[: len(functions)], **options), watched


def facts_of_model(name):
    model, watched = build(name)
    return facts_of(model, watched)


def facts_of_table(name):
    theta, means, options = TABLES[name]
    model = gb.RewardModel.from_table(theta, means, **options)
    places = np.linspace(*model.domain, 11)
    again = model.to_table(9) if model._sources[1] is None else model
    return facts_of(model, []) | {
        "means": summary(model.means(places), model.worth(places), again.means(places)),
    }


# Models with two and three numbers, without functions of the mathematical library.
BOXES = {
    "line": ("a + b*arm", [0.5, 1.0, 2.0, 3.0], {"a": (0.0, 0.3), "b": (0.02, 0.2)}, {}),
    "shop": (
        "a / (1 + b*arm)**2",
        [1.0, 2.0, 3.0, 4.0, 5.0],
        {"a": (0.2, 1.0), "b": (0.1, 1.5)},
        {"value": "(arm - 0.5) * mean"},
    ),
    "target": (
        "a*arm / (b + arm)",
        [0.5, 1.0, 2.0, 4.0],
        {"a": (0.3, 1.0), "b": (0.2, 3.0)},
        {"value": "-abs(mean - 0.3)"},
    ),
    "turning": ("0.3 + a*(arm - b)**2", [0.1, 0.5, 0.9], {"a": (-0.3, 0.5), "b": (0.0, 1.0)}, {}),
    "three": (
        "c*a / (1 + b*arm)",
        [0.5, 1.0, 2.0, 4.0],
        {"a": (0.3, 1.0), "b": (0.1, 2.0), "c": (0.2, 0.9)},
        {"value": "arm*mean"},
    ),
    "one": ("1 / (1 + a*arm)", [1.0, 2.0, 4.0], {"a": (0.1, 2.0)}, {"value": "arm*mean"}),
    "many arms": (
        "0.1 + a*(0.2 + arm) / (1 + arm) + b*arm",
        np.linspace(0.1, 1.0, 30).tolist(),
        {"a": (0.0, 0.3), "b": (0.02, 0.4)},
        {"value": "mean - 0.3*arm"},
    ),
    "kinked": ("abs(a - 0.3)*arm", [1.0, 0.5], {"a": (0.0, 1.0)}, {}),
    "kinked twice": (
        "0.5*abs(a - 0.3)*arm + 0.4*abs(b - 1)",
        [1.0, 0.5],
        {"a": (0.0, 1.0), "b": (0.5, 2.0)},
        {"value": "mean - 0.3*arm"},
    ),
    "currency": (
        "20*a + 30*b*arm",
        [0.25, 0.5, 1.0],
        {"a": (0.0, 1.0), "b": (0.0, 0.9)},
        {"reward_range": (-5.0, 60.0), "value": "mean - 18*arm"},
    ),
}


def facts_of_box(name):
    mean, arms, box, options = BOXES[name]
    model = gb.VectorModel(mean, arms, box, **options)
    tables = model.tables
    d = model.n_parameters
    inner = model.from_unit([[0.31, 0.62, 0.47][:d], [0.77, 0.21, 0.9][:d], [0.0, 1.0, 0.5][:d]])
    found, traps = model.identification(), model.traps()
    bounds = [model.lower_bound(theta) for theta in inner]
    unit = model._unit_model
    level = graves_lai._LevelSet(unit, 0, float(unit.means(model.to_unit(inner[:1]))[0, 0]))
    points = tabulation.spread_points(d, 9)
    line = model.along(inner[0], [0.1, 0.2, 0.05][:d])
    fixed = model.fixed(**dict(list(zip(model.parameters, inner[0].tolist(), strict=True))[1:]))
    return {
        "tables": summary(tables.n_nodes, tables.nodes[:: 1 + len(tables.nodes) // 5_000]),
        "directions": summary(tables.direction, tables.monotone, tables.low, tables.high),
        "resolution": [round(model.resolution, 7)],
        "questions": summary(
            model.means(inner), model.worth(inner), *map(model.best_arms, inner), model.gaps(inner)
        ),
        "gap": [model.suboptimality_gap(inner[0])],
        "regions": summary(model.regions(12).labels, *model.regions(12)[1:]),
        "shares": model.regions().shares.tolist(),
        "identification": summary(found.sets, found.plays, found.plays_95, found.by_parameter),
        "traps": [traps.absorbing, traps.possible, traps.mean_loss, traps.scale],
        "losses": summary(traps.losses),
        "example": "" if traps.example is None else str(traps.example),
        "bounds": [[bound.constant, bound.gap, bound.horizon] for bound in bounds],
        "level": [summary(level.points()), summary(level.edges())],
        "information": summary(identification.reward_information(unit, points)),
        "line": facts_of(line, []),
        "fixed": facts_of(fixed, []),
        "remarks": " | ".join(model.remarks),
        "texts": f"{model!r} {traps}",
        "html": summary([ord(letter) for letter in model._repr_html_()]),
    }


def in_contexts():
    model = gb.RewardModel(
        lambda t, x, c: 0.1 + x * t / c,
        [0.3, 0.6],
        contexts={"weekday": 1.0, "weekend": 2.0},
        value=lambda m, x, c: m - 0.2 * x * c,
    )
    return facts_of(model.cells, []) | {
        "means": summary(model.means(0.4), model.worth(0.7), model.gaps(0.2)),
        "one": summary(model.means(0.4, "weekend"), model.worth(0.7, "weekday")),
        "texts": f"{model!r} {model.contexts} {model.remarks} {model.arms} {model.n_cells}",
    }


def in_groups():
    groups = [
        gb.RewardModel.from_functions(MODELS[name][0], value=lambda m, k: 2.0 * m - 0.1 * k)
        for name in ("three arms", "two lines")
    ]
    groups.append(
        gb.RewardModel.from_functions(
            [lambda t: 0.1 + 0.8 * t * t], value=lambda m, k: -np.abs(m - 0.5)
        )
    )
    model = RegionalModel(groups)
    joint = model.joint_tables
    points = [[0.2, 0.7, 0.5], [0.9, 0.1, 0.4]]
    return {
        **{
            name: summary(*getattr(joint, name))
            for name in ("mean", "inverse", "worth", "value", "envelope", "peaks")
        },
        "lines": summary(joint.value_slope, joint.value_offset),
        "flags": [joint.n_arms, joint.invertible, joint.valued, joint.affine_increasing],
        "questions": summary(model.means(points), model.worth(points), model.gaps(points)),
        "best": [list(model.best_arms(point)) for point in points],
        "worths": [model.worth_of(arm, 0.4) for arm in range(model.n_arms)],
        "arms": f"{model!r} {model.arms} {model.group_of.tolist()} {model.worth_range}",
    }


def dip(t):
    return 0.3 + 0.4 * t - 2.0 * np.maximum(5e-4 - np.abs(t - 0.5003), 0.0)


def between_grid_points(t):
    """Falls only at one point that lies between those of the grid."""
    return np.where(np.abs(t - 0.123456) < 1e-6, 0.1, 0.2 + 0.3 * t)


def steep(n_roots, size, place=0.4):
    """Steeper and steeper towards a point: the distance to the power 2**-n_roots."""

    def mean(t):
        distance = np.abs(t - place)
        for _ in range(n_roots):
            distance = np.sqrt(distance)
        return 0.5 + size * np.sign(t - place) * distance

    return mean


# Means that are refused, the domain, and the reward range.
REFUSED = {
    **{
        f"steep {n_roots} {size}": (steep(n_roots, size), (0.0, 1.0), (0.0, 1.0))
        for n_roots, sizes in {3: (0.4,), 4: (0.05, 0.3), 5: (0.01,), 6: (0.001, 0.01)}.items()
        for size in sizes
    },
    **{
        f"a jump of {size}": (
            lambda t, size=size: 0.2 + 0.5 * t + size * (t > 0.77),
            (0.0, 1.0),
            (0.0, 1.0),
        )
        for size in (5e-9, 1.1e-8, 1e-2, 1.1e-2)
    },
    "a parabola": (lambda t: 0.1 + t * (1.0 - t), (0.0, 1.0), (0.0, 1.0)),
    "a valley": (lambda t: 0.9 - t * (1.3 - t), (0.0, 1.0), (0.0, 1.0)),
    "a wave": (wave, (0.0, 1.0), (0.0, 1.0)),
    "a dip": (dip, (0.0, 1.0), (0.0, 1.0)),
    "a falling dip": (lambda t: 1.0 - dip(t), (0.0, 1.0), (0.0, 1.0)),
    "a constant": (lambda t: 0.3 + 0.0 * t, (0.0, 1.0), (0.0, 1.0)),
    "flat inside": (flat_inside, (0.0, 1.0), (0.0, 1.0)),
    "flat at the start": (lambda t: np.maximum(t, 0.0117), (0.0, 1.0), (0.0, 1.0)),
    "flat at the end": (lambda t: 1.0 - np.minimum(t, 0.7), (0.0, 1.0), (0.0, 1.0)),
    "shortly flat": (
        lambda t: np.interp(t, [2.0, 3.4, 3.4021, 4.0], [0.1, 0.5, 0.5, 0.9]),
        (2.0, 4.0),
        (0.0, 1.0),
    ),
    "flat on two cells of the grid": (
        lambda t: np.interp(t, np.array([0.0, 1679.9, 1682.1, 4096.0]) / 4096, [0, 0.4, 0.4, 1]),
        (0.0, 1.0),
        (0.0, 1.0),
    ),
    "flat on one cell of the grid": (
        lambda t: np.interp(t, np.array([0.0, 1679.9, 1681.1, 4096.0]) / 4096, [0, 0.4, 0.4, 1]),
        (0.0, 1.0),
        (0.0, 1.0),
    ),
    "very shortly flat": (
        lambda t: np.interp(t, [0.0, 0.5, 0.50003, 1.0], [0.1, 0.5, 0.5, 0.9]),
        (0.0, 1.0),
        (0.0, 1.0),
    ),
    "a jump": (lambda t: 0.2 + 0.5 * t + 0.1 * (t > 1.0 / 3.0), (0.0, 1.0), (0.0, 1.0)),
    "a small jump": (lambda t: 0.2 + 0.5 * t + 1e-6 * (t > 0.77), (0.0, 1.0), (0.0, 1.0)),
    "a jump far from 0": (
        lambda t: 0.2 + 1e-3 * t + 1e-7 * (t > 103.0),
        (100.0, 200.0),
        (0.0, 1.0),
    ),
    "too large": (lambda t: 30.0 + 40.0 * t, (0.0, 1.0), (0.0, 60.0)),
    "too small": (lambda t: 30.0 - 40.0 * t, (0.0, 1.0), (0.0, 60.0)),
    "a little too large": (lambda t: t * (1.0 + 2e-9), (0.0, 1.0), (0.0, 1.0)),
    "within rounding": (lambda t: t * (1.0 + 5e-10), (0.0, 1.0), (0.0, 1.0)),
    "not a number": (lambda t: np.where(t > 0.9, np.nan, 2.0 * t), (0.0, 1.0), (0.0, 1.0)),
    "infinite": (lambda t: 1.0 / t, (0.0, 1.0), (0.0, 1.0)),
    "rounding only": (lambda t: 0.5 + 1e-14 * t, (0.0, 1.0), (0.0, 1.0)),
    "hardly more than rounding": (lambda t: 0.5 + 1e-12 * t, (0.0, 1.0), (0.0, 1.0)),
    "a range that is too wide": (lambda t: 0.5 + t, (0.0, 1.0), (0.0, 1e15)),
    "a missed point": (between_grid_points, (0.0, 1.0), (0.0, 1.0)),
}


def refusal(name):
    mean, domain, rewards = REFUSED[name]
    found = []
    # The message names the arm, wherever it is.
    for n_others in (0, 2, 40):
        others = [
            lambda t, k=k: (
                rewards[0] + (0.4 + 0.01 * k) * (t - domain[0] + 0.1) / (domain[1] - domain[0])
            )
            for k in range(n_others)
        ]
        try:
            model = gb.RewardModel.from_functions(
                [*others, mean], domain=domain, reward_range=rewards
            )
        except ModelError as error:
            found.append(str(error))
        else:
            found.append(repr(model))
    return found


# Curves on domains and scales that make the search for Hölder constants hard.
HARD = {
    "small change": (lambda t: 0.5 + 1e-9 * t * t, (0.0, 1.0)),
    "large values": (lambda t: 1e6 * t * t, (0.0, 1.0)),
    "far": (lambda t: (t - 1000.0) * (t - 1000.0), (1000.0, 1001.0)),
    "two cusps": (
        lambda t: (
            t
            + np.sign(t - 0.2) * np.sqrt(np.abs(t - 0.2))
            + np.sign(t - 0.7) * np.sqrt(np.abs(t - 0.7))
        ),
        (0.0, 1.0),
    ),
    "flat at two points": (
        lambda t: t * t * t * (10.0 - 15.0 * t + 6.0 * t * t) + (t - 0.5) ** 2 * t**2 * 0.01,
        (0.0, 1.0),
    ),
    "flat inside": (lambda t: (t - 1.0 / 3.0) * (t - 1.0 / 3.0) * (t - 1.0 / 3.0), (0.0, 1.0)),
    "flat on one side": (
        lambda t: np.where(t < 0.4, -((t - 0.4) * (t - 0.4)), (t - 0.4) * (t - 0.4) * (t - 0.4)),
        (0.0, 1.0),
    ),
    "flat on the other side": (
        lambda t: np.where(t > 0.4, (t - 0.4) * (t - 0.4), (t - 0.4) * (t - 0.4) * (t - 0.4)),
        (0.0, 1.0),
    ),
    "steep on one side": (
        lambda t: np.where(t > 0.3, np.sqrt(np.maximum(t - 0.3, 0.0)), 0.1 * (t - 0.3)),
        (-1.0, 2.0),
    ),
    "steep kinks": (steps, (0.0, 1.0)),
    "rational": (lambda t: t / (1.0 + 9.0 * t), (0.0, 5.0)),
    "steep in the middle": (
        lambda t: (t - 2.0) / np.sqrt(1e-4 + (t - 2.0) * (t - 2.0)),
        (0.0, 5.0),
    ),
}


def facts_of_holder(name):
    mean, domain = HARD[name]
    watched = Watched(mean)
    holder = estimate_holder(lambda arms, thetas: watched(thetas), 1, domain)
    facts = {
        "holder": [array.item() for array in vars(holder).values()],
        "evaluations": watched.seen.tolist(),
    }
    family = tabulate(lambda arms, thetas: mean(thetas), np.arange(1), domain, 64)
    facts["noise"] = logarithms(family.noise)
    for sign in (1, -1):
        secants, spots = extreme_secants(family, sign)
        facts[f"secants {sign}"] = [summary(*secants), summary(spots.rows, spots.center)]
        facts[f"resolution {sign}"] = logarithms(spots.resolution)
        for side in (-1, 0, 1):
            near = family.approach(spots, side)
            facts[f"approach {sign} {side}"] = logarithms(
                near.distance, near.difference, near.error
            )
        for exponent in (0.5, 1.0, 2.0):
            best = extreme_ratios(family, secants, spots, np.array([exponent]), sign)
            facts[f"ratios {sign} {exponent}"] = [part.item() for part in best]
    return facts


def horizons():
    cases = ((0.0, 0.1), (0.1, np.inf), (0.2718, 0.1), (0.2719, 0.1), (0.5, 0.1), (40.0, 0.01))
    grids = [graves_lai._line_grid(n, d) for n, d in ((1, 0), (4, 1), (3, 2))]
    return [[graves_lai._horizon(*case) for case in cases], *grids]


CASES = {
    **{f"model: {name}": (facts_of_model, name) for name in MODELS},
    **{f"table: {name}": (facts_of_table, name) for name in TABLES},
    **{f"box: {name}": (facts_of_box, name) for name in BOXES},
    **{f"holder: {name}": (facts_of_holder, name) for name in HARD},
    **{f"refused: {name}": (refusal, name) for name in REFUSED},
    "horizons": (horizons,),
    "contexts": (in_contexts,),
    "groups": (in_groups,),
}


def plain(facts):
    """The facts as they come back from JSON."""
    return json.loads(json.dumps(facts, default=lambda array: array.tolist()))


def differences(found, recorded, path=""):
    """The places at which nested facts differ."""
    if isinstance(recorded, dict):
        assert found.keys() == recorded.keys()
        return [x for key in recorded for x in differences(found[key], recorded[key], path + key)]
    if isinstance(recorded, list):
        if len(found) != len(recorded):
            return [f"{path}: {len(found)} instead of {len(recorded)} numbers"]
        pairs = enumerate(zip(found, recorded, strict=True))
        return [x for k, (one, other) in pairs for x in differences(one, other, f"{path}[{k}]")]
    if isinstance(recorded, str):
        same = found == recorded
    else:
        same = found == recorded or math.isclose(found, recorded, rel_tol=1e-8, abs_tol=1e-9)
        same = same or (math.isnan(found) and math.isnan(recorded))
    return [] if same else [f"{path}: {found!r} instead of {recorded!r}"]


@pytest.mark.parametrize("case", CASES)
def test_everything_is_as_recorded(case):
    function, *given = CASES[case]
    recorded = json.loads(RECORD.read_text())[case]
    assert differences(plain(function(*given)), recorded) == []


if __name__ == "__main__":
    rows = (
        f"  {json.dumps(case)}: {json.dumps(plain(function(*given)))}"
        for case, (function, *given) in CASES.items()
    )
    RECORD.write_text("{\n" + ",\n".join(rows) + "\n}\n")
