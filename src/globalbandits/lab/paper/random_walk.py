"""Experiment 3: a random walk of the parameter, tracked by WAGP on overlapping windows."""

import time
from functools import partial

import numpy as np

from globalbandits import plots, theory
from globalbandits.environments import BetaNoise, Environment, RandomWalk
from globalbandits.lab.paper.batches import CHECKPOINTS, Gathered, Size, gather, trace
from globalbandits.lab.paper.experiment_spec import Spec, load_model
from globalbandits.lab.paper.measurements import decrease_per_decade, known, measured
from globalbandits.lab.paper.outcome import Chart, Grid, Outcome
from globalbandits.lab.paper.verdicts import Entry
from globalbandits.model import RewardModel
from globalbandits.policies import NonStationaryWAGP
from globalbandits.policies.base import Policy

N_SIMULATIONS = 5
_PER = "per 1,000 rounds"


def run(spec: Spec, size: Size) -> Outcome:
    """Simulate Experiment 3: random walks of several speeds, one of them in detail."""
    started = time.perf_counter()
    model = load_model(spec.model)
    tracked = spec.setting("tracked_drift_time")
    found = {
        tau: gather(
            world_at(spec, model, tau),
            policies_at(spec, model, tau),
            size,
            checkpoints=size.horizon if tau == tracked else CHECKPOINTS,
        )
        for tau in spec.setting_list("drift_times")
    }
    entries = _window_entries(spec, model, size.horizon)
    entries |= _error_entries(spec, found[tracked])
    entries |= _regret_entries(spec, found, size.horizon)
    return Outcome(
        spec=spec,
        horizon=size.horizon,
        runs=size.runs,
        seconds=time.perf_counter() - started,
        entries=entries,
        grids=_grids(spec, entries),
        charts=(
            _tracking_chart(spec, model, size),
            _controls_chart(spec, found[tracked]),
            _regret_chart(found),
            _bound_chart(spec, model, entries),
        ),
    )


def world_at(spec: Spec, model: RewardModel, tau: float) -> Environment:
    """Return the environment of Experiment 3 in which theta walks at the speed 1/tau."""
    walk = RandomWalk(drift_time=tau, up=spec.setting("up"), boundary="reflect")
    return Environment(model, theta=spec.setting("theta"), noise=BetaNoise(), drift=walk)


def _half_window(model: RewardModel, tau: float) -> int:
    return NonStationaryWAGP(drift_time=tau).window(model)


def policies_at(spec: Spec, model: RewardModel, tau: float) -> dict[str, Policy]:
    """Return the policies of Experiment 3 for the speed 1/tau, which they know."""
    names = {"tau": tau, "2h": 2 * _half_window(model, tau)}
    return {key: policy.build(**names) for key, policy in spec.policies.items()}


def _switches(model: RewardModel, tau: float, horizon: int) -> list[int]:
    """Return the rounds after which the older half of the window is dropped: 2h, 3h, ..."""
    h = _half_window(model, tau)
    return list(range(2 * h, horizon, h))


def _window_entries(spec: Spec, model: RewardModel, horizon: int) -> dict[str, Entry]:
    tau = spec.setting("tracked_drift_time")
    half = float(_half_window(model, tau))
    entries = {"half_window": known(spec, "half_window", half, label="half window h")}
    switches = _switches(model, tau, horizon)
    if switches:
        label = "first change of the window"
        entries["first_switch"] = known(spec, "first_switch", float(switches[0]), label=label)
        label = "last change of the window"
        entries["last_switch"] = known(
            spec,
            "last_switch",
            float(switches[-1]),
            label=label,
            comparable=horizon == spec.horizon,
        )
    return entries


def _error_entries(spec: Spec, tracked: Gathered) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for key in ("tracking", "wagp"):
        name = f"{key}_error"
        label = f"mean distance of the estimate of {spec.policies[key].label}"
        entries[name] = measured(spec, name, tracked.error[key], label=label)
    name = "wagp_error_minus_tracking_error"
    gain = tracked.error["wagp"] - tracked.error["tracking"]
    entries[name] = measured(spec, name, gain, label="error of WAGP - error of non-stationary WAGP")
    return entries


def _regret_entries(spec: Spec, found: dict[float, Gathered], horizon: int) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    per = 1_000.0 / horizon
    for tau, runs in found.items():
        for key, policy in spec.policies.items():
            name = f"{key}_regret_{tau:g}"
            label = f"regret of {policy.label} at τ = {tau:g}"
            entries[name] = measured(spec, name, per * runs.final[key], label=label, unit=_PER)
    key = "regret_falls_with_drift_time"
    averages = np.stack([per * runs.final["tracking"] for runs in found.values()])
    falls = decrease_per_decade(averages, np.array(list(found)))
    label = "decrease when τ grows tenfold"
    entries[key] = measured(spec, key, falls, label=label, unit=_PER)
    return entries


def _grids(spec: Spec, entries: dict[str, Entry]) -> tuple[Grid, ...]:
    tracked = spec.setting("tracked_drift_time")
    labels = {key: policy.label for key, policy in spec.policies.items()}
    switching = [key for key in ("half_window", "first_switch", "last_switch") if key in entries]
    window = Grid(
        title=f"The window at τ = {tracked:g}, in rounds",
        corner="",
        columns=tuple(entries[key].label for key in switching),
        rows=(("non-stationary WAGP", tuple(switching)),),
    )
    error = Grid(
        title=f"Mean distance between estimate and parameter at τ = {tracked:g}",
        corner="",
        columns=(labels["tracking"], labels["wagp"]),
        rows=(("distance", ("tracking_error", "wagp_error")),),
    )
    regret = Grid(
        title="Regret per 1,000 rounds",
        corner="τ",
        columns=tuple(labels.values()),
        rows=tuple(
            (f"{tau:g}", tuple(f"{key}_regret_{tau:g}" for key in labels))
            for tau in spec.setting_list("drift_times")
        ),
    )
    return (window, error, regret)


def _tracking_chart(spec: Spec, model: RewardModel, size: Size) -> Chart:
    tau = spec.setting("tracked_drift_time")
    world, policies = world_at(spec, model, tau), policies_at(spec, model, tau)
    rounds, truth, estimates = trace(world, policies, size)
    lines = [
        plots.Line("true parameter", rounds, truth, reference=True),
        plots.Line(spec.policies["tracking"].label, rounds, estimates["tracking"]),
        plots.Line(spec.policies["wagp"].label, rounds, estimates["wagp"]),
    ]
    return Chart(
        name="tracking",
        caption=f"One run at τ = {tau:g}: the walking parameter and the estimates. At the dotted "
        "lines non-stationary WAGP drops the older half of its window.",
        draw=partial(
            plots.band_figure,
            lines,
            xlabel="round",
            ylabel="parameter θ",
            title="Experiment 3: following a walk",
            marks=_switches(model, tau, size.horizon),
            marks_label="window changes",
        ),
    )


def _controls_chart(spec: Spec, close: Gathered) -> Chart:
    tau = spec.setting("tracked_drift_time")
    lines = [
        plots.Line(policy.label, close.times, *close.curve(key))
        for key, policy in spec.policies.items()
    ]
    return Chart(
        name="controls",
        caption=f"Mean cumulative regret at τ = {tau:g}, with 95 % bands, logarithmic.",
        draw=partial(
            plots.band_figure,
            lines,
            xlabel="round",
            ylabel="cumulative regret (revenue)",
            title=f"Experiment 3: regret at τ = {tau:g}",
            log_y=True,
        ),
    )


def _regret_chart(found: dict[float, Gathered]) -> Chart:
    lines = [
        plots.Line(f"τ = {tau:g}", runs.times, *runs.curve("tracking"))
        for tau, runs in found.items()
    ]
    return Chart(
        name="speeds",
        caption="Mean cumulative regret of non-stationary WAGP, with 95 % bands: the slower the "
        "walk, the smaller the slope.",
        draw=partial(
            plots.band_figure,
            lines,
            xlabel="round",
            ylabel="cumulative regret (revenue)",
            title="Experiment 3: regret of non-stationary WAGP",
        ),
    )


def _bound_chart(spec: Spec, model: RewardModel, entries: dict[str, Entry]) -> Chart:
    taus = np.array(spec.setting_list("drift_times"))
    lines = []
    for key, policy in spec.policies.items():
        points = [entries[f"{key}_regret_{tau:g}"] for tau in taus]
        mean, low, high = (
            [getattr(entry, part) / 1_000.0 for entry in points]
            for part in ("value", "low", "high")
        )
        lines.append(plots.Line(policy.label, taus, mean, low, high))
    bound = theory.average_regret_under_drift(model, taus)
    lines.append(plots.Line("bound of Theorem 8", taus, bound, reference=True))
    return Chart(
        name="bound",
        caption="Average regret per round against the drift time, both logarithmic, with the bound "
        "of Theorem 8: it is four orders of magnitude above what happens, and its slope is that of "
        "the worst case, τ^(-1/3).",
        draw=partial(
            plots.band_figure,
            lines,
            xlabel="drift time τ (rounds)",
            ylabel="average regret per round",
            title="Experiment 3: average regret and the bound",
            log_x=True,
            log_y=True,
        ),
    )
