"""Experiment 3: intervals for a changing theta, and the alarm for a change."""

import math
from functools import partial

import numpy as np

from globalbandits import plots
from globalbandits._types import FloatArray, IntArray
from globalbandits.evidence.drift_test import EVERY, constant_log_e, no_snapshots, record
from globalbandits.lab.paper.batches import Size
from globalbandits.lab.paper.experiment_spec import Spec, load_spec
from globalbandits.lab.paper.measurements import measured
from globalbandits.lab.paper.outcome import Chart, Grid
from globalbandits.lab.paper.random_walk import policies_at, world_at
from globalbandits.lab.paper.trust.recorded_rewards import (
    Part,
    RewardRecords,
    find_interval,
    record_rewards,
    share_of_runs,
)
from globalbandits.lab.paper.verdicts import Entry
from globalbandits.model import RewardModel

N_SIMULATIONS = 4
_ROUNDS_BETWEEN_LOOKS = 25  # divides the distance of the alarm's snapshots
_WINDOW = 200  # rewards; twice the half window of the policy at the paper's drift time
_NAMES = {"all": "from all rewards", "window": f"from the last {_WINDOW} rewards"}


def run(spec: Spec, model: RewardModel, size: Size) -> Part:
    """Run non-stationary WAGP in the worlds of Experiment 3."""
    walk = load_spec("random_walk")
    tracked = walk.setting("tracked_drift_time")
    fastest = min(spec.setting_list("drift_times"))
    horizon = min(size.horizon, walk.horizon)
    times = sorted({*range(_ROUNDS_BETWEEN_LOOKS, horizon + 1, _ROUNDS_BETWEEN_LOOKS), horizon})
    entries: dict[str, Entry] = {}
    charts: tuple[Chart, ...] = ()
    for tau in spec.setting_list("drift_times"):
        policies = {"tracking": policies_at(walk, model, tau)["tracking"]}
        seen = record_rewards(world_at(walk, model, tau), policies, size, times)
        entries |= _alarm_entries(spec, model, seen, tau, size)
        if tau == tracked:
            entries |= _interval_entries(spec, model, seen)
        if tau in (tracked, fastest):
            charts += (_chart(spec, model, seen, tau),)
    return Part(entries, _grids(spec, tracked, horizon), charts)


def change_log_e(model: RewardModel, times: IntArray, histograms: FloatArray, at: int) -> float:
    """Return the log e-value of `Evidence.drift` at one of the times.

    Every multiple of 100 rounds up to that time must be among the times.
    """
    snapshots = no_snapshots(model.n_arms, histograms.shape[-1] - 1)
    for before in range(at + 1):
        record(snapshots, histograms[before], int(times[before]), EVERY)
    return constant_log_e(model, histograms[at], snapshots, int(times[at]), EVERY)


def window_counts(times: IntArray, histograms: FloatArray, at: int) -> FloatArray:
    """Return the histograms of the last rewards."""
    before = int(times[at]) - _WINDOW
    if before <= 0:
        return np.asarray(histograms[at])
    return np.asarray(histograms[at] - histograms[int(np.searchsorted(times, before))])


def _alarm_entries(
    spec: Spec, model: RewardModel, seen: RewardRecords, tau: float, size: Size
) -> dict[str, Entry]:
    threshold = -math.log(1.0 - spec.setting("confidence"))
    last = len(seen.times) - 1
    alarms = np.zeros(size.runs, np.bool_)
    for place, histograms in enumerate(seen.histograms[0]):
        alarms[place] = change_log_e(model, seen.times, histograms, last) >= threshold
        size.tick(1)
    alarm, walked = f"change_alarm_{tau:g}", f"walked_{tau:g}"
    at = f"at τ = {tau:g}"
    reach = np.ptp(seen.theta, axis=1)
    return {
        alarm: share_of_runs(alarms, label=f"runs with an alarm for change {at}"),
        walked: measured(spec, walked, reach, label=f"range of θ within a run {at}"),
    }


def _interval_entries(spec: Spec, model: RewardModel, seen: RewardRecords) -> dict[str, Entry]:
    confidence = spec.setting("confidence")
    looks = np.flatnonzero((seen.times % _WINDOW == 0) & (seen.times > _WINDOW))
    if looks.size == 0:
        looks = np.array([len(seen.times) - 1])
    held = {"all": np.ones(len(seen.theta), np.bool_), "window": np.ones(len(seen.theta), np.bool_)}
    for place, (histograms, theta) in enumerate(zip(seen.histograms[0], seen.theta, strict=True)):
        for key, inside in held.items():
            for at in looks.tolist():
                low, high = _ends(model, seen.times, histograms, at, key, confidence)
                inside[place] &= low <= theta[at] <= high
    rounds = ", ".join(f"{time:,}" for time in seen.times[looks].tolist())
    return {
        f"walking_coverage_{key}": share_of_runs(
            inside, label=f"runs whose interval {_NAMES[key]} holds θ in the rounds {rounds}"
        )
        for key, inside in held.items()
    }


def _ends(
    model: RewardModel,
    times: IntArray,
    histograms: FloatArray,
    at: int,
    key: str,
    confidence: float,
) -> tuple[float, float]:
    counts = window_counts(times, histograms, at) if key == "window" else histograms[at]
    return find_interval(model, counts, confidence)


def _grids(spec: Spec, tracked: float, horizon: int) -> tuple[Grid, ...]:
    alarms = Grid(
        title=f"Is change found in {horizon:,} rounds of the worlds of Experiment 3?",
        corner="τ",
        columns=("runs with an alarm, %", "range of θ within a run"),
        rows=tuple(
            (f"{tau:g}", (f"change_alarm_{tau:g}", f"walked_{tau:g}"))
            for tau in spec.setting_list("drift_times")
        ),
        below=f"walking_{tracked:g}",
    )
    coverage = Grid(
        title=f"Runs whose interval holds θ after each {_WINDOW} rounds at τ = {tracked:g}, %",
        corner="interval",
        columns=tuple(_NAMES.values()),
        rows=(("runs", ("walking_coverage_all", "walking_coverage_window")),),
        below=f"walking_{tracked:g}",
    )
    return alarms, coverage


def _chart(spec: Spec, model: RewardModel, seen: RewardRecords, tau: float) -> Chart:
    confidence = spec.setting("confidence")
    histograms = seen.histograms[0, 0]
    places = range(len(seen.times))
    lines = [plots.Line("true parameter", seen.times, seen.theta[0], reference=True)]
    for key, name in _NAMES.items():
        ends = [_ends(model, seen.times, histograms, at, key, confidence) for at in places]
        low, high = np.array(ends).T
        lines.append(plots.Line(f"interval {name}", seen.times, 0.5 * (low + high), low, high))
    alarms = [
        int(time)
        for at, time in enumerate(seen.times.tolist())
        if time % EVERY == 0
        and change_log_e(model, seen.times, histograms, at) >= -math.log(1.0 - confidence)
    ]
    return Chart(
        name=f"walking_{tau:g}",
        caption=f"One run of non-stationary WAGP at τ = {tau:g}. The interval from all rewards "
        "takes θ for constant, and falls behind; the one from the last rewards takes it for "
        "constant over those only, and follows with a lag, as wide as these few rewards allow. "
        f"{_alarm_text(alarms)} The alarm takes a while: until it comes, an interval that takes θ "
        "for constant may be wrong unnoticed.",
        draw=partial(
            plots.band_figure,
            lines,
            xlabel="round",
            ylabel="parameter θ",
            title=f"Experiment 3: a parameter that walks, τ = {tau:g}",
            marks=alarms[:1],
            marks_label="alarm for change",
        ),
    )


def _alarm_text(alarms: list[int]) -> str:
    if not alarms:
        return "In this run the walk is too slow for the alarm."
    return (
        f"The dotted line: from round {alarms[0]:,} on, no constant θ explains the rewards, and "
        "the alarm says so."
    )
