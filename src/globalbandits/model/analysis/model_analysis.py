"""The analysis of a model: from the user's functions to curves, values and regions."""

from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.analysis.checks import (
    Recorder,
    check_grid,
    check_means,
    n_cells,
    to_unit,
    unit_means,
)
from globalbandits.model.analysis.curves import (
    Evaluate,
    Nodes,
    Pieces,
    build_curves,
    build_plain,
    cut_pieces,
    evaluate_on_grid,
    even_pieces,
    identity,
    stretched,
)
from globalbandits.model.analysis.envelope import upper_envelope
from globalbandits.model.analysis.functions import ArmFunctions
from globalbandits.model.analysis.turning_points import find_kinks, find_turns
from globalbandits.model.analysis.values import (
    Values,
    Worth,
    analyse_values,
    as_rows,
    plain_values,
    thetas_at,
    worth_curves,
)
from globalbandits.model.tables import Curves

_EPS = float(np.finfo(float).eps)


class Analysis(NamedTuple):
    """The curves of a model, its values and its regions."""

    mean: Curves
    inverse: Curves
    worth: Curves
    values: Values
    breakpoints: FloatArray
    best: list[tuple[int, ...]]
    # The widest gap between two parameters at which all arms were evaluated.
    resolution: float


def analyse(
    observed: ArmFunctions,
    value: ArmFunctions | None,
    arms: tuple[Any, ...],
    domain: tuple[float, float],
    reward_range: tuple[float, float],
    monotone: bool,
    knots: FloatArray | None,
    proved: bool = False,
) -> Analysis:
    """Check and tabulate the functions; errors name the arm and the parameter.

    ``knots`` are the parameters at which the pieces of piecewise means meet. ``proved`` is whether
    the means are proved monotone; evaluations are then not stored to look for a step back.
    """
    n_arms = len(arms)
    names = [f"mean of arm {arm!r}" for arm in arms]
    n_even = n_cells(n_arms)
    grid = check_grid(domain, n_even)
    pieces = even_pieces(n_arms, domain, knots)
    seen = Recorder(observed, reward_range, names, monotone and not proved)
    unit_mean = unit_means(seen, reward_range)
    # Every step below uses these means, so that each mean is evaluated once on the grid.
    checked = Recorder(observed, reward_range, names, monotone=False)
    means = evaluate_on_grid(checked, n_arms, grid)
    on_grid = to_unit(means, reward_range)
    if monotone:
        has_flat = check_means(checked, names, grid, means)
        mean, inverse = build_curves(unit_mean, pieces, domain, names, grid, on_grid)
        seen.add_grid(grid, means, has_flat)
        cuts = np.empty((n_arms, 0))
    else:
        mean, cuts = _any_means(unit_mean, pieces, domain, reward_range, names, grid, on_grid)
        # Policies do not read the inverse, because `Tables.invertible` is False. The straight
        # line is a placeholder that returns parameters in the domain.
        length = np.full(n_arms, domain[1] - domain[0])
        inverse = stretched(identity(n_arms), length, np.full(n_arms, domain[0]))
    values = plain_values(n_arms, reward_range)
    worth = mean
    looked_at = Worth(seen, value, reward_range)
    worth_on_grid = means
    if value is not None:
        value_names = [f"value of arm {arm!r}" for arm in arms]
        values = analyse_values(value, n_arms, reward_range, value_names)
        places = thetas_at(unit_mean, values.marks, grid, on_grid)
        cuts = np.concatenate([cuts, places], axis=1)
        worth_on_grid = evaluate_on_grid(
            lambda arms, _: looked_at.of_means(arms, means[arms[:, 0]]), n_arms, grid
        )
        first = cut_pieces(pieces, cuts)
        worth = worth_curves(
            looked_at, mean, values, domain, first, value_names, grid, worth_on_grid
        )
    breakpoints, best = upper_envelope(looked_at, n_arms, domain, cuts, grid, means, worth_on_grid)
    if monotone:
        seen.check_monotone()
    return Analysis(
        mean, inverse, worth, values, breakpoints, best, (domain[1] - domain[0]) / n_even
    )


def _any_means(
    unit_mean: Evaluate,
    pieces: Pieces,
    domain: tuple[float, float],
    reward_range: tuple[float, float],
    names: list[str],
    grid: FloatArray,
    on_grid: FloatArray,
) -> tuple[Curves, FloatArray]:
    """Return curves of means of any shape, and the parameters of their extrema and kinks."""
    low, high = domain
    size = max(abs(end) for end in reward_range) / (reward_range[1] - reward_range[0])

    def rounding(arms: IntArray, thetas: FloatArray) -> FloatArray:
        return np.full(np.broadcast_shapes(arms.shape, thetas.shape), 4.0 * _EPS * size)

    def from_unit(arms: IntArray, places: FloatArray) -> FloatArray:
        return unit_mean(arms, np.clip(low + (high - low) * places, low, high))

    def on_unit(nodes: Nodes) -> Nodes:
        return nodes._replace(x=np.clip((nodes.x - low) / (high - low), 0.0, 1.0))

    def tabulate(pieces: Pieces) -> tuple[Curves, Nodes]:
        return build_plain(unit_mean, pieces, domain, rounding, names, "theta", grid, on_grid)

    curves, nodes = tabulate(pieces)
    kinks = as_rows(*find_kinks(from_unit, on_unit(nodes)), len(names))
    if kinks.size:
        curves, nodes = tabulate(cut_pieces(pieces, low + (high - low) * kinks))
    turns = find_turns(from_unit, on_unit(nodes), rounding)
    marks = np.concatenate([kinks, as_rows(turns.arm, turns.place, len(names))], axis=1)
    return curves, low + (high - low) * marks
