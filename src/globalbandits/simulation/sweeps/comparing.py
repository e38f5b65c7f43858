"""Compare two sweeps run by run: paired differences with intervals."""

from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._means import mean_interval
from globalbandits._types import FloatArray
from globalbandits._validation import as_fraction, require, require_known
from globalbandits.errors import ResultError
from globalbandits.simulation.result import SimulationResult
from globalbandits.simulation.summary import check_regret
from globalbandits.simulation.sweeps.result import SweepResult

if TYPE_CHECKING:
    import pandas as pd


def compare(
    first: SweepResult,
    second: SweepResult,
    *,
    policies: tuple[str, str] | None = None,
    variable: str = "regret",
    confidence: float = 0.95,
) -> "pd.DataFrame":
    """One row for each common point and policy: the second's regret less the first's, paired.

    Runs with the same number and seed share their random numbers, so the difference has a much
    smaller error than the two means. Columns are the axes, ``policy``, ``first_mean``,
    ``second_mean``, ``difference_mean``, ``_sem``, ``_low``, ``_high`` and ``runs``.

    Args:
        first: results.
        second: results with the same axes; points that only one has are left out.
        policies: a policy of the first and one of the second to compare; by default those that
            both have, or the only ones there are.
        variable: "regret" or "nominal_regret", at the last checkpoint.
        confidence: of the intervals (Student's t).
    """
    import pandas as pd

    confidence = as_fraction("confidence", confidence, ResultError)
    check_regret(variable)
    names = list(first.axes), list(second.axes)
    rule = f"have the axes of the first, {', '.join(names[0]) or 'none'}"
    require(names[0] == names[1], "the second sweep", rule, names[1], ResultError)
    tasks = second.index["tasks"]
    places = {tuple(second.where(key).values()): name for key, name in enumerate(tasks)}
    rows: list[dict[str, Any]] = []
    for where, mine in first.results():
        name = places.get(tuple(where.values()))
        if name is not None and second.folder.has(name):
            other = second.folder.load(name)
            for pair in _pairs(mine, other, policies):
                rows.append(where | _row(mine, other, pair, variable, confidence))
    rule = "have a finished point in common with the first"
    require(len(rows) > 0, "the second sweep", rule, str(second.folder.path), ResultError)
    return pd.DataFrame(rows)


def _pairs(
    first: SimulationResult, second: SimulationResult, policies: tuple[str, str] | None
) -> list[tuple[str, str]]:
    if policies is not None:
        for name, result in zip(policies, (first, second), strict=True):
            require_known("policy", name, result.policies, ResultError)
        return [policies]
    common = [(name, name) for name in first.policies if name in second.policies]
    if common:
        return common
    one_each = len(first.policies) == len(second.policies) == 1
    rule = f"share a policy with the first, which has {', '.join(first.policies)}"
    require(one_each, "the second sweep", rule, second.policies, ResultError)
    return [(first.policies[0], second.policies[0])]


def _row(
    first: SimulationResult,
    second: SimulationResult,
    pair: tuple[str, str],
    variable: str,
    confidence: float,
) -> dict[str, Any]:
    runs = np.intersect1d(first.dataset["run"].values, second.dataset["run"].values)
    require(runs.size > 0, "the second sweep", "have runs of the first", 0, ResultError)
    seeds = first.spec["seed"], second.spec["seed"]
    rule = f"have the first's seed {seeds[0]}, so that runs are pairs"
    require(seeds[0] == seeds[1], "the second sweep", rule, seeds[1], ResultError)
    mine, other = (
        _final(result, name, runs, variable)
        for result, name in zip((first, second), pair, strict=True)
    )
    mean, sem, low, high = (float(v) for v in mean_interval(other - mine, confidence))
    return {
        "policy": pair[0] if pair[0] == pair[1] else f"{pair[1]} against {pair[0]}",
        "first_mean": float(mine.mean()),
        "second_mean": float(other.mean()),
        "difference_mean": mean,
        "difference_sem": sem,
        "difference_low": low,
        "difference_high": high,
        "runs": int(runs.size),
    }


def _final(result: SimulationResult, name: str, runs: Any, variable: str) -> FloatArray:
    chosen = result.dataset[variable].sel(policy=name, run=runs).isel(time=-1)
    return np.ascontiguousarray(chosen.values)
