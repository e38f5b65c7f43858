"""Figures of results."""

from typing import TYPE_CHECKING

import numpy as np

from globalbandits._means import mean_interval
from globalbandits._validation import as_fraction, require
from globalbandits.errors import SimulationError
from globalbandits.plots import Line, band_figure, share_figure
from globalbandits.plots.evidence import evidence_figure
from globalbandits.plots.labels import drawn_label
from globalbandits.simulation.summary import check_regret

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from globalbandits.simulation.result import SimulationResult

_BAND_QUANTILES = (0.1, 0.5, 0.9)


def regret_figure(
    result: "SimulationResult",
    variable: str,
    log_x: bool,
    log_y: bool,
    confidence: float,
    ax: "Axes | None" = None,
) -> "Figure":
    """Mean regret over time with bands."""
    check_regret(variable)
    confidence = as_fraction("confidence", confidence, SimulationError)
    data = result.dataset
    lines = []
    for name in result.policies:
        curves = data[variable].sel(policy=name).transpose("time", "run").values
        mean, _, low, high = mean_interval(curves, confidence)
        if log_y:  # a band below zero has no logarithm
            low = np.maximum(low, mean * 1e-3)
        lines.append(Line(drawn_label(name), data["time"].values, mean, low, high))
    words = "nominal regret" if variable == "nominal_regret" else "regret"
    ylabel = f"cumulative {words}"
    return band_figure(lines, xlabel="time step", ylabel=ylabel, log_x=log_x, log_y=log_y, ax=ax)


def pulls_figure(result: "SimulationResult") -> "Figure":
    """Shares of arms, one panel per policy."""
    pulls = result.dataset["pulls"].transpose("policy", "run", "arm").values
    totals = pulls.sum(axis=1)
    shares = totals / totals.sum(axis=1, keepdims=True)
    labels = [drawn_label(arm) for arm in result.dataset["arm"].values.tolist()]
    best = result.spec["environment"]["best_arms"]  # empty where they change
    names = [drawn_label(name) for name in result.policies]
    return share_figure(dict(zip(names, shares, strict=True)), labels, best=best)


def selection_figure(result: "SimulationResult") -> "Figure":
    """Shares of runs that recommend an arm, one panel per policy."""
    shares = result.selection()
    labels = [drawn_label(arm) for arm in shares.columns]
    best = result.spec["environment"]["best_arms"]
    panels = {drawn_label(name): shares.loc[name].to_numpy() for name in shares.index}
    return share_figure(panels, labels, best=best, ylabel="% of runs")


def estimate_figure(
    result: "SimulationResult", run: int | None, log_x: bool, ax: "Axes | None" = None
) -> "Figure":
    """Estimates of the policies that have one, and the true parameter."""
    data = result.dataset
    times = data["time"].values
    if run is not None:
        data = data.sel(run=[_as_run(result, run)])
    lines = [_truth(result, run)]
    for name in result.policies:
        estimates = data["estimate"].sel(policy=name).transpose("run", "time").values
        known = ~np.isnan(estimates).all(axis=0)
        if known.any():
            low, middle, high = np.nanquantile(estimates[:, known], _BAND_QUANTILES, axis=0)
            lines.append(Line(drawn_label(name), times[known], middle, low, high))
    require(len(lines) > 1, "policies", "have an estimate", result.policies, SimulationError)
    return band_figure(lines, xlabel="time step", ylabel="parameter θ", log_x=log_x, ax=ax)


def run_evidence_figure(
    result: "SimulationResult", policy: str | None, run: int | None
) -> "Figure":
    """Interval, e-value and contenders of one run of one policy."""
    data = result.dataset
    rule = "be one with evidence (simulate with evidence=True)"
    require("log_e_value" in data, "result", rule, list(data.data_vars), SimulationError)
    policy = result.policies[0] if policy is None else policy
    rule = f"be one of {', '.join(result.policies)}"
    require(policy in result.policies, "policy", rule, policy, SimulationError)
    run = _as_run(result, run) if run is not None else int(data["run"].values[0])
    one = data.sel(policy=policy, run=run)
    return evidence_figure(
        one["time"].values,
        low=one["interval_low"].values,
        high=one["interval_high"].values,
        log_e_values=one["log_e_value"].values,
        contenders=one["contender"].transpose("time", "arm").values,
        arms=[drawn_label(arm) for arm in data["arm"].values.tolist()],
        domain=tuple(result.spec["environment"]["model"]["domain"]),
        truth=_truth(result, run).y,
        title=drawn_label(policy),
        xlabel="time step",
    )


def _as_run(result: "SimulationResult", run: int) -> int:
    runs = result.dataset["run"].values.tolist()
    rule = f"be one of the runs {runs[0]} to {runs[-1]}"
    require(run in runs, "run", rule, run, SimulationError)
    return run


def _truth(result: "SimulationResult", run: int | None) -> Line:
    times = result.dataset["time"].values
    if "theta" not in result.dataset:
        # None, drawn as nan, if only the true means were given.
        theta = np.full(len(times), np.array(result.spec["environment"]["theta"], np.float64))
    elif run is not None:
        theta = np.broadcast_to(result.dataset["theta"].sel(run=run).values, len(times))
    else:
        theta = np.broadcast_to(result.dataset["theta"].median("run").values, len(times))
    return Line("true parameter", times, theta, reference=True)
