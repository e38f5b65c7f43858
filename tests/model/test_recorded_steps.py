"""The steps of the analysis on their own, compared with recorded numbers.

A whole model forgives an error in one step, because another step repairs it or is not needed.
`recorded_steps.json` is written by ``python -m tests.model.test_recorded_steps``.
"""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import ModelError
from globalbandits.model import vector_tables
from globalbandits.model.analysis import (
    checks,
    curves,
    envelope,
    functions,
    holder,
    refinement,
    turning_points,
    values,
)
from globalbandits.model.tables import (
    choose_in_cell,
    evaluate,
    find_cell,
    find_cell_among,
    find_segment,
    is_inside,
    largest_value,
    suboptimality_distance,
    value_of,
)
from tests.model.test_recorded_models import BOXES, MODELS, Watched, differences, plain, summary

RECORD = Path(__file__).with_name("recorded_steps.json")


# Searches on many brackets together.


def bowl(index, at):
    centers = np.array([0.3, 0.71, 0.05, 0.5, 0.999])[index]
    heights = np.array([-0.01, 0.0, 0.2, 1e-3, 0.5])[index]
    return heights + (at - centers) * (at - centers) + 0.3 * np.abs(at - centers)


def valley(index, at):
    """Not convex: a narrow valley next to a wide one."""
    return 0.1 + 0.05 * index + (at - 0.6) * (at - 0.6) - 0.2 / (1.0 + 900.0 * (at - 0.2) ** 2)


def searches():
    found = []
    low, high = np.array([0.0, 0.1, -1.0, 0.4, 0.0]), np.array([1.0, 0.9, 1.0, 0.8, 1.0])
    every = np.arange(5)
    for function, floor, n_steps in itertools.product(
        (bowl, valley), (0.0, -np.inf, 0.01, 0.3), (45, 6)
    ):
        ends = function(every, low), function(every, high)
        for at_ends in (None, ends):
            watched = Watched(lambda at, index, function=function: function(index, at))
            place, best = refinement.find_minimum(
                lambda index, at, watched=watched: watched(at, index),
                low,
                high,
                n_steps,
                floor,
                at_ends,
            )
            found.append([*watched.seen, *summary(place), *summary(best)])
    for power in (1, 3, 7):
        watched = Watched(lambda at, index, power=power: np.sign(at - 0.3) * (at - 0.3) ** power)
        low, high = np.array([-1.0, 0.0, 0.299, 0.3 - 1e-9, 0.0]), np.array([1.0, 1, 4, 0.4, 0.3])
        place = refinement.find_crossing(
            lambda index, at, watched=watched: watched(at, index),
            low,
            high,
            np.full(5, -0.5),
            np.array([0.1, 2.0, 0.5, 1e-6, 1e3]),
        )
        found.append([*watched.seen, *place])
    watched = Watched(lambda at, index: (at < 0.25) == (index % 2 == 0))
    low, high = np.array([0.0, 1.0, -3.0, 0.3]), np.array([1.0, 0.0, 0.3, 0.2])
    place = refinement.bisect(lambda index, at: watched(at, index), low, high)
    return [*found, [*watched.seen, *place]]


def convex_bounds():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(4, 40)) + np.array([1.0, 0.0, 0.0, 1.0])[:, None]
    return refinement._least_if_convex(*rows).tolist()


# Checks of evaluations.

N_SCENARIOS = 60


def scenario(seed):
    """A recorder that has seen a few curves with a step back, a flat stretch, or neither."""
    rng = np.random.default_rng(seed)
    domain = [(0.0, 1.0), (2.0, 10.0)][seed % 2]
    length = domain[1] - domain[0]
    n_arms = 1 + seed % 3
    rewards = [(0.0, 1.0), (-40.0, 60.0)][seed // 2 % 2]
    size = rewards[1] - rewards[0]
    signs = rng.choice([-1.0, 1.0], n_arms)
    bad = int(rng.integers(n_arms))
    start = domain[0] + length * rng.choice([0.0, 0.2, 0.61803, 1.0 - 1e-7])
    width = length * 10.0 ** rng.uniform(-7.0, -0.5)
    fall = rng.choice([0.0, 0.0, 1e-11, 1e-9, 1e-4])

    def curve(arms, thetas):
        share = (thetas - domain[0]) / length
        kept = np.where(
            (thetas > start) & (thetas < start + width), (start - domain[0]) / length - fall, share
        )
        shape = np.where(arms == bad, kept, share)
        return rewards[0] + size * (0.5 + 0.4 * signs[arms] * (shape - 0.5))

    seen = checks.Recorder(curve, rewards, [f"mean {arm}" for arm in range(n_arms)])
    grid = checks.check_grid(domain, 64)
    every = np.arange(n_arms)
    if seed % 5:
        on_grid = curve(every[:, None], np.tile(grid, (n_arms, 1)))
        flat = (np.abs(np.diff(on_grid, axis=1)) == 0.0).any(axis=1)
        seen.add_grid(grid, on_grid, flat & (seed % 3 == 0))
    for _ in range(1 + seed % 4):
        n = int(rng.integers(1, 40))
        thetas = np.clip(
            np.where(
                rng.random(n) < 0.6,
                start + width * rng.uniform(-0.3, 1.3, n),
                domain[0] + length * rng.random(n),
            ),
            *domain,
        )
        seen(rng.integers(0, n_arms, n), thetas)
    return seen


def outcome(function, *given):
    try:
        return function(*given)
    except ModelError as error:
        return str(error)


def recorders():
    found = [outcome(scenario(seed).check_monotone) or "" for seed in range(N_SCENARIOS)]
    # An arm that was evaluated on a narrow interval only, and is flat on a part of it.
    for stop in (0.500006, 0.5000008, 0.5):

        def partly_flat(arms, thetas, stop=stop):
            flat = (thetas > 0.5) & (thetas < stop)
            return np.where((arms == 1) & flat, 0.5, thetas)

        seen = checks.Recorder(partly_flat, (0.0, 1.0), ["a", "b"])
        seen(np.zeros(9, int), np.linspace(0.0, 1.0, 9))
        seen(np.ones(101, int), np.linspace(0.5, 0.50001, 101))
        found.append(outcome(seen.check_monotone) or "")
    # So large a number of evaluations, in any order, that a few arms are checked at a time.
    rng = np.random.default_rng(6)
    for wrong in (0, 1, 2, 3):
        seen = checks.Recorder(
            lambda arms, t, wrong=wrong: np.where((arms == wrong) & (t > 0.7), 0.65, t),
            (0.0, 1.0),
            ["a", "b", "c"],
        )
        for _ in range(3):
            seen(rng.integers(0, 3, 9_000), rng.random(9_000))
        found.append(outcome(seen.check_monotone) or "")
    # Nothing is checked twice.
    seen = scenario(11)
    outcome(seen.check_monotone)
    return [*found, outcome(seen.check_monotone) or ""]


def grids():
    found = [
        summary(checks.check_grid((2.0, 10.0), 64)),
        summary(checks.check_grid((-1.0, 1e-3))),
        [checks.n_cells(n) for n in (1, 900, 977, 1_000, 5_000, 10_000)],
    ]
    grid = checks.check_grid((2.0, 10.0), 64)
    left, right = grid[:-1], grid[1:]
    found.append(np.flatnonzero(~checks._may_be_flat(left, right, grid)).tolist())
    spots = 2.0 + 8.0 * np.array([0.0, 1e-6, 4e-6, 6e-6, 0.5, 1.0 - 6e-6, 1.0 - 4e-6, 1.0])
    for width in (1e-13, 9e-12, 1.1e-11, 1e-6):
        found.append(checks._may_be_flat(spots, spots + width, grid).tolist())
    still = np.array([0, 1, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 1, 1, 1, 0], bool)
    found += [part.tolist() for part in checks._flat_runs(still, 8)]
    return found


def flat_stretches():
    grid = np.concatenate([np.linspace(0.0, 0.3, 31), np.linspace(0.3, 0.31, 41)[1:], [0.6, 1.0]])
    found = []
    for start, stop, slope in itertools.product((0, 5, 33, 69), (2, 20, 40), (1.0, 1e-4, 1e-7)):
        steps = np.diff(grid).copy()
        steps[start : start + stop] = 0.0
        around = slice(max(start - 2, 0), start + stop + 2)
        steps[around] *= slope
        means = np.concatenate([[0.1], 0.1 + np.cumsum(steps)])
        for narrowest in (1e-3, 0.05):
            found.append(checks.flat_stretch(np.diff(means) == 0.0, means, grid, narrowest))
    back = 0.1 + 0.01 * np.minimum(np.arange(grid.size), 5.0)
    back[40:] = 0.1
    found.append(checks.flat_stretch(np.diff(back) == 0.0, back, grid, 0.5))
    constant = np.full(grid.size, 0.3)
    return [*found, checks.flat_stretch(np.diff(constant) == 0.0, constant, grid, 2.0)]


def ranges():
    """Messages about means that are not in the range, and what is granted to rounding."""
    found = []
    for low, high in ((0.0, 1.0), (-20.0, 80.0)):
        size = high - low
        for wrong in (np.nan, np.inf, low - 2e-9 * size, high + 2e-9 * size, high + 9e-10 * size):
            for arms, place in ((np.array([2, 0, 1]), 1), (np.array([1]), 2)):

                def mean(arms, thetas, place=place, wrong=wrong, low=low):
                    means = low + 0.0 * thetas
                    means[place] = wrong
                    return means

                seen = checks.Recorder(mean, (low, high), ["a", "b", "c"])
                found.append(outcome(seen, arms, np.array([0.1, 0.2, 0.3])))
    mixed = checks.Recorder(lambda arms, thetas: np.array([2.0, np.nan]), (0.0, 1.0), ["a"])
    found.append(outcome(mixed, np.array([0]), np.array([0.1, 0.2])))
    found.append(checks.to_unit(np.array([-21.0, -20.0, 5.0, 80.0]), (-20.0, 80.0)).tolist())
    found.append(checks.to_unit(np.array([1.0, 1.25, 3.0]), (1.0, 2.0)).tolist())
    return found


# Limits and orders close to a point.


def limits():
    h = 0.5 ** np.arange(holder.LEVELS)[None, :]
    shapes = [
        3.0 + np.sqrt(h) + h**2,
        2.0 - h,
        1.0 + 0.1 * h + np.where(h < 1e-8, 1e-9, 0.0),
        1.0 / np.sqrt(h),
        1.0 + 0.0 * h,
        0.5 + (-1.0) ** np.arange(holder.LEVELS)[None, :] * h,
        4.0 + np.sqrt(np.sqrt(np.sqrt(np.sqrt(h)))),
        np.where(h > 1e-5, np.inf, 2.0 + h),
        5.0 + 3.0 * h**3 - h,
    ]
    found = []
    for values_ in shapes:
        for size in (1e-15, 1e-10, 1e-5):
            for errors in (size / h, size * np.ones_like(h)):
                with np.errstate(all="ignore"):
                    for method in (holder.limit_at_zero, holder.plateau):
                        limit, doubt = method(values_, errors)
                        found.append([*limit, f"{doubt[0]:.6g}"])
    rows = np.concatenate(shapes)
    with np.errstate(all="ignore"):
        together = holder.limit_at_zero(rows, 1e-12 / np.broadcast_to(h, rows.shape))
    orders = np.concatenate([np.linspace(0.05, 8.0, 120), [0.4995, 0.5005, 1.9995, 2.0005, 1.0]])
    snapped = [holder.snap(orders, np.full(orders.size, d)) for d in (0.0, 1e-6, 1e-3, 0.5)]
    return [*found, np.concatenate(together), *snapped]


def outstanding():
    """Cells that are more extreme than their neighbours, also where some are equal."""
    rng = np.random.default_rng(4)
    secants = np.round(rng.random((40, 12)) * 5.0 + 1.0) ** 2
    secants[0] = 3.0
    secants[1, 4:7] = 1.0
    found = [holder._outstanding(secants, sign) for sign in (1, -1)]
    return [part.tolist() for pair in found for part in pair]


# Curves.


def nodes_of(name, n_pieces):
    """Nodes of equal segments of a model's means."""
    each, options = MODELS[name]
    low, high = options.get("domain", (0.0, 1.0))
    edges = np.linspace(low, high, n_pieces + 1)
    arm = np.repeat(np.arange(len(each)), n_pieces)
    x = curves._sample_points(np.tile(edges[:-1], len(each)), np.tile(edges[1:], len(each)))
    y = np.array([each[k](row) for k, row in zip(arm, x, strict=True)])
    return arm, x, y


def polynomials():
    found = []
    for name, n_pieces in (("three arms", 3), ("powers", 1), ("far from 0", 2), ("any shape", 70)):
        arm, x, y = nodes_of(name, n_pieces)
        n_arms = arm[-1] + 1
        nodes = slice(0, curves.DEGREE + 1)
        built = curves.pack(arm, x[:, nodes], y[:, nodes], n_arms, name != "any shape")
        grid = np.linspace(built.low[0], built.high[0], 37)
        arms = np.arange(1, n_arms)
        found += [
            summary(x),
            summary(*built),
            summary(curves._forward_error(x, y)),
            summary(curves._forward_error(x, y, monotone=False)),
            summary(curves.evaluate_grid(built, arms, grid)),
            summary(*(curves.evaluate_many(built, k, np.append(grid, -5.0)) for k in arms)),
            summary(*curves.stretched(built, 2.0 + arms.repeat(2)[:n_arms], np.arange(n_arms))),
            summary(curves.segment_arms(built)),
            summary(curves.missed_places(built, grid, np.zeros((n_arms, 37)) + 0.3)),
        ]
        # Values at the ends that are far from the polynomials, so that every use of them shows.
        marked = built._replace(at_low=built.at_low - 7.0, at_high=built.at_high + 9.0)
        places = [-5.0, np.nan, built.low[0], *grid[:3], *built.left[:3], grid[-1], 2e3]
        found += [
            summary(curves.evaluate_grid(marked, np.arange(n_arms), grid)),
            *(curves.evaluate_many(marked, k, np.array(places)).tolist() for k in range(n_arms)),
            *([evaluate(marked, k, float(x)) for x in places] for k in range(n_arms)),
        ]
        off = curves.evaluate_grid(built, np.arange(n_arms), grid)
        for cell, error in ((0, 1e-7), (5, 1e-9), (6, 1e-7), (7, -1e-7), (20, 2e-8), (36, 1e-7)):
            off[cell % n_arms, cell] += error
        found.append(summary(curves.missed_places(built, grid, off)))
        if name != "any shape":
            found.append(
                summary(*curves.pack_inverse(arm, x[:, nodes], y[:, nodes], n_arms, (0, 3)))
            )
    found.append(summary(*curves.identity(3)))
    return found


def noisy_polynomials():
    """Segments whose nodes coincide or are equal, for monotone curves and others."""
    x = np.linspace(0.2, 0.6, curves.DEGREE + 1)[None]
    steps_ = np.array([0.0, 0.1, 0.1, 0.3, 0.35, 0.5, 0.7, 0.8])[None]
    same = x.copy()
    same[0, 3] = x[0, 2] + 1e-11
    close = x.copy()
    close[0, 3] = x[0, 2] + 1e-9
    found = []
    for places, means in ((x, steps_), (same, x * x), (close, x * x), (x[:, ::-1], x * x)):
        for monotone in (True, False):
            fitted, argument = curves.fit(places, means, monotone)
            found.append(summary(fitted, argument(x)))
    point = np.full_like(x, 0.3)
    fitted, argument = curves.fit(point, steps_)
    return [*found, summary(fitted, argument(x))]


def accuracy():
    """Whether segments count as accurate, for smaller and smaller wiggles and slopes."""
    found = []
    left, right = np.array([0.25]), np.array([0.75])
    x = curves._sample_points(left, right)
    for size, slope in itertools.product(10.0 ** np.arange(-17.0, -5.0), (1.0, 1e-3, 1e-9, 1e-14)):
        wiggle = size * np.cos(np.arange(x.size) * 2.5)
        found.append(int(curves._is_accurate(x, 0.2 + slope * x + wiggle, 1.0)[0]))
    return found


def pieces():
    cuts = np.array([[0.3, np.nan, 0.5], [0.25, 0.5 + 1e-15, 0.9999], [np.nan, np.nan, np.nan]])
    even = curves.even_pieces(3, (0.0, 1.0))
    at_knots = curves.even_pieces(2, (0.5, 4.0), np.array([0.0, 0.5, 1.0, 2.5, 4.0, 5.0]))
    return [
        summary(*even),
        summary(*at_knots),
        summary(*curves.cut_pieces(even, cuts)),
        summary(*curves.cut_pieces(at_knots, np.array([[1.0 + 1e-14], [2.5 - 1e-12]]))),
        [chunk.tolist()[::4] for chunk in curves.arm_chunks(11, 4_000)],
        [chunk.size for chunk in curves.arm_chunks(3, 20_000)],
        summary(curves.evaluate_on_grid(lambda a, t: a + t, 5, np.linspace(0.0, 1.0, 5_000))),
    ]


# Turning points, kinks, and values.


def turns():
    found = []
    rng = np.random.default_rng(3)
    y = np.cumsum(rng.normal(size=60))
    for least in (0.0, 0.5, 2.0):
        found.append(turning_points.extremes(y, np.full(60, least)))
        found.append(turning_points.extremes(-y, np.linspace(0.0, least, 60)))
    for y in ([0.0, 0.0, 1.0, 1.0, 0.0], [1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.5, 1.0, 0.0]):
        found.append(turning_points.extremes(np.array(y), np.zeros(len(y))))
    for y in ([0.0, 0.3, -1.0, -2.0, -1.0], [0.0, -0.3, 1.0, 2.0, 1.0], [0.0, 0.3, 0.0, 0.3]):
        for least in (0.1, 0.5):
            found.append(turning_points.extremes(np.array(y), np.full(len(y), least)))
    # Extrema next to the ends of a single segment, and of several.
    for n_pieces in (1, 2, 5):
        edges = np.linspace(0.0, 1.0, n_pieces + 1)
        x = curves._sample_points(edges[:-1], edges[1:])[:, : curves.DEGREE + 1]
        arm = np.zeros(n_pieces, int)
        for near, far in ((0.02, 0.5), (0.5, 0.985), (0.3, 0.6), (0.01, 0.99)):

            def cubic(arms, t, near=near, far=far):
                return t * t * t / 3.0 - (near + far) * t * t / 2.0 + near * far * t

            made = turning_points.find_turns(
                cubic, curves.Nodes(arm, x, cubic(arm, x)), lambda arms, t: np.full(t.shape, 1e-16)
            )
            found += [made.arm, np.round(made.place, 6), made.is_peak]
    for name in ("any shape", "any shape, in currency", "constants"):
        each, options = MODELS[name]
        low, high = options.get("domain", (0.0, 1.0))
        model = gb.RewardModel.from_functions(each, **options)
        for rounding in (0.0, 1e-16, 1e-3, 0.1):
            found.append(turning_points.turning_points(model.tables.mean, rounding).tolist())
        found.append([len(turning_points._candidates(model.tables.mean, 0)), low, high])
    return found


def kinks():
    """Kinks between curved sides, at round and at other places."""

    def bent(arm, t):
        place = np.array([0.3, 1.0 / 3.0, 0.7000001])[arm]
        side = np.abs(t - place)
        return 0.4 + 0.3 * side + 8.0 * side * side * np.sign(t - place) - 0.2 * (t - place)

    places = np.array([0.3, 1.0 / 3.0, 0.7000001])
    found = []
    for shift in (0.0, 3e-10, -8e-10, 1e-7):
        moved = places + shift
        met = turning_points._meeting_points(bent, np.arange(3), moved)
        # In units of the tolerance, because the place itself is known.
        found.append(np.round((met - places) * 1e12, 2).tolist())
    near = np.array([0.3, 0.3 + 4e-6])
    met = turning_points._meeting_points(bent, np.zeros(2, int), near)
    found.append(np.round((met - near) * 1e12, 2).tolist())
    edges = np.array([0.0, 0.2, 0.3 - 4e-9, 0.3 + 4e-9, 0.5, 0.7 - 2e-9, 0.7, 0.7 + 1e-9, 1.0])
    for repeated in (1, 2):
        x = np.linspace(edges[:-1], edges[1:], 8, axis=1)
        arm = np.repeat([0, repeated], len(x))
        nodes = curves.Nodes(arm, np.concatenate([x, x]), np.concatenate([x, x]))
        arms, at = turning_points.find_kinks(lambda k, t: np.abs(t - 0.3), nodes)
        found += [arms.tolist(), np.round(at, 9).tolist()]
    return found


def value_steps():
    found = []
    each = [np.sqrt, lambda m: m * m, lambda m: np.abs(m - 0.4), lambda m: 1.0 - 0.2 * m]

    def value(arms, means):
        arms, means = np.broadcast_arrays(arms, means)
        parts = [each[k](means) for k in range(4)]
        return np.choose(arms, parts)

    means = np.linspace(0.0, 1.0, 9)
    for arm in range(4):
        worth = value(np.array(arm), means)
        size = values.value_rounding(value, np.array(arm), means, worth, (0.0, 1.0))
        found.append(summary(size * 1e15))
    names = [f"value {k}" for k in range(4)]
    for rewards in ((0.0, 1.0), (0.0, 4.0)):
        analysed = values.analyse_values(value, 4, rewards, names)
        found += [
            summary(*analysed.curves),
            summary(*analysed.peaks, analysed.marks, analysed.slope, analysed.offset),
            [*analysed.range, *analysed.affine, analysed.affine_increasing, *analysed.remarks],
        ]
        unit = values.unit_value(value, rewards, analysed.range)
        found.append([values.largest_slope(unit, analysed.curves) == np.inf])
    smooth = values.analyse_values(lambda a, m: m * m * (1.0 + a) - m, 2, (0.0, 2.0), names[:2])
    unit = values.unit_value(lambda a, m: m * m * (1.0 + a) - m, (0.0, 2.0), smooth.range)
    found.append([values.largest_slope(unit, smooth.curves)])
    low = values.analyse_values(lambda a, m: 0.1 * m * m, 1, (0.0, 1.0), names[:1])
    unit = values.unit_value(lambda a, m: 0.1 * m * m, (0.0, 1.0), (0.0, 1.0))
    small = low.curves._replace(coefficients=0.1 * low.curves.coefficients)
    found.append([values.largest_slope(unit, small)])
    for n_roots in (1, 3, 4, 5, 6):

        def rooted(arms, m, n_roots=n_roots):
            root = m + 0.0 * arms
            for _ in range(n_roots):
                root = np.sqrt(root)
            return np.divide(m, root, out=np.zeros_like(root), where=root > 0.0)

        made = values.analyse_values(rooted, 1, (0.0, 1.0), names[:1])
        unit = values.unit_value(rooted, (0.0, 1.0), made.range)
        found.append([values.largest_slope(unit, made.curves)])
    marks = np.array([[0.3, np.nan], [0.5, 0.9]])
    grid = np.linspace(0.0, 1.0, 17)
    on_grid = np.array([grid * grid, 1.0 - grid])
    crossings = values.thetas_at(
        lambda arms, t: np.where(arms == 0, t * t, 1.0 - t), marks, grid, on_grid
    )
    found.append(summary(crossings))
    found.append(values.thetas_at(None, np.full((2, 3), np.nan), grid, on_grid).shape)
    rows = values.as_rows(np.array([0, 0, 2]), np.array([0.1, 0.2, 0.3]), 4)
    found += [rows.shape, summary(rows), values.as_rows(np.empty(0, int), np.empty(0), 2).shape]
    for wrong in (
        lambda a, m: np.where((a == 1) & (m > 0.5), np.nan, m),
        lambda a, m: 1e301 * m,
        lambda a, m: m + np.random.default_rng().random(np.shape(m)),
    ):
        text = outcome(values.analyse_values, wrong, 2, (0.0, 2.0), names[:2])
        found.append(text.partition(", got")[0] if "every call" in text else text)
    return found


# The envelope, and what compiled loops read.


def envelopes():
    found = []
    breakpoints = np.array([0.0, 0.2, 0.5, 0.7, 1.0])
    best = [(0,), (1, 2), (0,), (2,)]
    table = envelope.envelope_table(breakpoints, best, ((0,), (2, 3)))
    found += [summary(*table), table.starts.tolist(), table.arms.tolist()]
    rng = np.random.default_rng(0)
    for first, last in itertools.product(range(4), range(4)):
        for arms in ((0,), (1,), (2, 3)):
            sides = envelope.suboptimal_sides(breakpoints, best, arms, first, last)
            found.append(summary(sides))
    for theta in (-1.0, 0.0, 0.1, 0.2, 0.35, 0.5, 0.69, 0.7, 0.8, 1.0, 2.0, np.nan):
        cell = find_cell(table, theta)
        arms = [choose_in_cell(table, cell, rng) for _ in range(4)]
        found.append([cell, find_cell_among(breakpoints, 1, 3, theta), *arms])
    gap = rng.normal(size=(30, 9)) + 0.5
    theta = np.sort(rng.random((30, 9)), axis=1)
    found.append(np.flatnonzero(envelope._may_dip(theta, gap)).tolist())
    left = np.array([0.0, 0.3, 0.3 + 1e-14, 0.5, 0.5 + 1e-7, 0.0, 0.4])
    right = np.append(left[1:], 1.0)
    right[4] = 1.0
    pieces_ = envelope._Pieces(
        np.array([0, 0, 0, 0, 0, 1, 1]), left, right, np.array([0, 1, 2, 3, 2, 1, 1])
    )
    is_tie = np.array([False, False, False, True, False, False, True])
    found.append(summary(*envelope._compress(pieces_, is_tie, (0.0, 1.0))))
    return found


def look_ups():
    found = []
    for name in ("three arms", "steps", "targets", "value with humps", "two lines"):
        model = gb.RewardModel.from_functions(MODELS[name][0], **MODELS[name][1])
        tables = model.tables
        places = [*np.linspace(-0.2, 1.2, 57).tolist(), np.nan, *tables.mean.left[:9].tolist()]
        for arm in range(tables.n_arms):
            segments = [find_segment(tables.mean, arm, x) for x in places if x == x]
            found += [
                summary(segments),
                summary(
                    [is_inside(tables.mean, k, x) for k, x in zip(segments, places, strict=False)]
                ),
                summary([evaluate(tables.inverse, arm, x) for x in places]),
                summary([value_of(tables, arm, x) for x in places]),
                summary(
                    [largest_value(tables, arm, x, x + 0.3) for x in np.linspace(0.0, 0.7, 15)]
                ),
            ]
        found.append(summary([suboptimality_distance(tables, x) for x in places[8:48]]))
    return found


def look_ups_in_boxes():
    found = []
    rng = np.random.default_rng(2)
    for name in ("one", "shop", "three"):
        mean, arms, box, options = BOXES[name]
        tables = gb.VectorModel(mean, arms, box, **options).tables
        d = tables.n_parameters
        points = np.concatenate([rng.random((12, d)), np.zeros((1, d)), np.ones((1, d))])
        for point in points:
            means, gradients = np.zeros(len(arms)), np.zeros((d, len(arms)))
            vector_tables.means_at(tables, point, means)
            vector_tables.gradients_at(tables, point, gradients)
            found.append(summary(means, gradients))
        found.append(summary(vector_tables.means_at_many(tables.nodes, tables.n_nodes, points)))
    for x in (0.0, 0.1, 0.25, 0.5, 0.8, 0.99, 1.0):
        found.append(
            [
                vector_tables.first_node(x, 9),
                *vector_tables.node_weights(x, 9),
                *vector_tables.node_slopes(x, 9),
            ]
        )
    # Means next to 0 and 1 are moved inside.
    tables = gb.VectorModel("a", [0.5], {"a": (0.0, 1.0)}).tables
    for x in (0.0, 1e-7, 2e-6, 0.5, 1.0 - 2e-6, 1.0):
        means = np.zeros(1)
        vector_tables.means_at(tables, np.array([x]), means)
        found.append([round(float(means[0]), 8)])
    return found


# The user's functions.


def table_curves():
    found = []
    rng = np.random.default_rng(5)
    for n in (2, 3, 4, 9):
        knots = np.cumsum(rng.random(n) + 0.1)
        means = rng.random((n, 4))
        means[:, 1] = np.sort(means[:, 1])
        means[:, 2] = -np.sort(means[:, 2])
        made = functions.TableCurves(knots, means)
        thetas = np.linspace(knots[0] - 0.2, knots[-1] + 0.2, 23)
        found += [
            summary(functions.pchip_slopes(knots, means)),
            summary(made(np.arange(4), thetas[:, None]), made.of_arm(2, thetas)),
            [made.unseen_width((), (0.0, 1.0)) == np.inf],
            [functions.TableCurves(knots, means[:, 1:3]).unseen_width((), (0.0, 1.0))],
        ]
    for theta, table, n_arms, monotone in (
        ([0.0, 1.0], [[0.1, 0.9], [0.5, 0.2]], None, True),
        ([0.0, 1.0], [[0.1, 0.9], [0.5, 0.2]], 2, True),
        ([0.0, 1.0], [[0.1, 0.9], [0.5, 0.2]], 3, True),
        ([0.0], [[0.1]], None, True),
        (list(range(2_001)), [[0.1]] * 2_001, None, False),
        (list(range(2_000)), [[0.1]] * 2_000, None, False),
        ([0.0, 0.0, 1.0], [[0.1], [0.2], [0.3]], None, True),
        ([0.0, 2.0, 1.0], [[0.1], [0.2], [0.3]], None, True),
        ([0.0, np.inf], [[0.1], [0.2]], None, True),
        ([0.0, 1.0], [[0.1], [np.nan]], None, True),
        ([0.0, 1.0], [[], []], None, True),
        ([0.0, 1.0], [0.1, 0.2], None, True),
        ([0.0, 1.0], [[0.1]], None, True),
        ([0.0, 0.5, 1.0], [[0.1], [0.2], [0.15]], None, True),
        ([0.0, 0.5, 1.0], [[0.9, 0.9], [0.2, 0.2], [0.2, 0.1]], None, True),
        ([0.0, 0.5, 1.0], [[0.9], [0.2], [0.3]], None, False),
        ([[0.0], [1.0]], [[0.9], [0.2]], None, False),
    ):
        checked = outcome(functions.as_table, theta, table, n_arms, monotone)
        found.append(checked if isinstance(checked, str) else summary(*checked))
    return found


def inverses():
    """How exact a closed form must be."""
    found = []
    for error, kind in itertools.product((0.0, 5e-10, 2e-9, 1e-3), ("shift", "end", "flat")):

        def mean(t, kind=kind):
            return 0.2 + 1e-7 * t if kind == "flat" else 0.1 + 0.2 * t

        def inverse(m, error=error, kind=kind):
            exact = (m - 0.2) / 1e-7 if kind == "flat" else (m - 0.1) / 0.2
            wrong = (m > 0.499999) if kind == "end" else 1.0
            return exact + 3.0 * error * wrong

        made = outcome(
            lambda mean=mean, inverse=inverse: gb.RewardModel.from_functions(
                [mean], ["x"], (0.0, 2.0), inverses=[inverse]
            )
        )
        found.append(made if isinstance(made, str) else "accepted")
    return found


CASES = {
    function.__name__.replace("_", " "): (function,)
    for function in (
        searches,
        convex_bounds,
        recorders,
        grids,
        flat_stretches,
        ranges,
        limits,
        outstanding,
        polynomials,
        noisy_polynomials,
        accuracy,
        pieces,
        turns,
        kinks,
        value_steps,
        envelopes,
        look_ups,
        look_ups_in_boxes,
        table_curves,
        inverses,
    )
}


@pytest.mark.parametrize("case", CASES)
def test_a_step_is_as_recorded(case):
    (function,) = CASES[case]
    assert differences(plain(function()), json.loads(RECORD.read_text())[case]) == []


if __name__ == "__main__":
    rows = (f"  {json.dumps(c)}: {json.dumps(plain(CASES[c][0]()))}" for c in CASES)
    RECORD.write_text("{\n" + ",\n".join(rows) + "\n}\n")
