"""Experiment 4: how often the evidence refutes a wrong curve."""

import math
from functools import partial

import numpy as np

from globalbandits import plots
from globalbandits._types import BoolArray
from globalbandits.environments import BetaNoise, Environment, UniformBias
from globalbandits.evidence.inference import infer_many
from globalbandits.lab.paper.batches import Size
from globalbandits.lab.paper.experiment_spec import Spec, load_spec
from globalbandits.lab.paper.measurements import measured
from globalbandits.lab.paper.outcome import Chart, Grid
from globalbandits.lab.paper.trust.recorded_rewards import (
    Part,
    RewardRecords,
    decade_thirds,
    log_e_value,
    one_run_figure,
    record_rewards,
    share_of_runs,
)
from globalbandits.lab.paper.verdicts import Entry
from globalbandits.model import RewardModel

N_SIMULATIONS = 4
_SHOWN_BIAS = 0.05
_SHOWN_POLICY = "guarded"
# A run has settled on a price if its share since the second-to-last look is at least this.
_SETTLED_SHARE = 0.99


def run(spec: Spec, model: RewardModel, size: Size) -> Part:
    """Run policies in the worlds of Experiment 4, and in one without a bias."""
    policies = {key: policy.build() for key, policy in spec.policies.items()}
    looks = [int(time) for time in spec.setting_list("looks") if time < size.horizon]
    entries: dict[str, Entry] = {}
    for bias in spec.setting_list("biases"):
        seen = record_rewards(_world(model, bias), policies, size, [*looks, size.horizon])
        alarms = _alarms(model, seen, spec.setting("confidence"), size)
        entries |= _settled_entries(bias, seen, alarms)
        for number, key in enumerate(policies):
            entries |= _entries(spec, key, bias, seen.times.tolist(), alarms[number])
            name = f"regret_{key}_{bias:g}"
            label = f"regret of {spec.policies[key].label} at λ = {bias:g}"
            entries[name] = measured(spec, name, seen.regret[number], label=label)
    times = [*looks, size.horizon]
    charts = (_alarm_chart(spec, entries, times[-1]), _one_run_chart(spec, model, size))
    return Part(entries, _grids(spec, times), charts)


def _world(model: RewardModel, bias: float) -> Environment:
    theta = load_spec("misspecification").setting("theta")
    shift = UniformBias(bias) if bias > 0.0 else None
    return Environment(model, theta=theta, noise=BetaNoise(), bias=shift)


def _alarms(model: RewardModel, seen: RewardRecords, confidence: float, size: Size) -> BoolArray:
    """Return whether the model was refuted by each time, shape (policy, run, time)."""
    alarms = np.zeros(seen.histograms.shape[:3], np.bool_)
    for place in range(size.runs):
        for policy in range(len(alarms)):
            for at in range(len(seen.times)):
                found = log_e_value(model, seen.histograms[policy, place, at])
                # An e-process needs to exceed the threshold only once, so a model stays refuted.
                if found >= -math.log(1.0 - confidence):
                    alarms[policy, place, at:] = True
        size.tick(1)
    return alarms


def _entries(
    spec: Spec, key: str, bias: float, times: list[int], alarms: BoolArray
) -> dict[str, Entry]:
    label = f"runs of {spec.policies[key].label} that refute the curve at λ = {bias:g}"
    return {
        f"alarm_{key}_{bias:g}_{time}": share_of_runs(
            alarms[:, at], label=f"{label} by round {time:,}"
        )
        for at, time in enumerate(times)
    }


def _settled_entries(bias: float, seen: RewardRecords, alarms: BoolArray) -> dict[str, Entry]:
    """Return the shares of WAGP's runs that settle on one price and that refute the curve."""
    plays = seen.histograms[0].sum(axis=3)
    late = plays[:, -1] - plays[:, -2] if len(seen.times) > 1 else plays[:, -1]
    settled = late.max(axis=1) >= _SETTLED_SHARE * late.sum(axis=1)
    at = f"at λ = {bias:g}"
    label = f"runs of WAGP that settle on one price {at}"
    refuted = alarms[0, :, -1]
    return {
        f"settled_{bias:g}": share_of_runs(settled, label=label),
        f"settled_alarm_{bias:g}": share_of_runs(
            settled & refuted, label=f"{label} and refute the curve"
        ),
        f"wavering_alarm_{bias:g}": share_of_runs(
            ~settled & refuted, label=f"runs of WAGP that waver and refute the curve {at}"
        ),
    }


def _grids(spec: Spec, times: list[int]) -> tuple[Grid, ...]:
    biases = spec.setting_list("biases")
    columns = tuple(f"λ = {bias:g}" for bias in biases)
    alarms = Grid(
        title="Runs in which the curve was refuted, in the worlds of Experiment 4, %",
        corner="policy",
        columns=columns,
        rows=tuple(
            (
                f"{policy.label}, by round {time:,}",
                tuple(f"alarm_{key}_{bias:g}_{time}" for bias in biases),
            )
            for key, policy in spec.policies.items()
            for time in times
        ),
        below="refuting",
    )
    regret = Grid(
        title="Regret, scored by what is really paid",
        below="one_refutation",
        corner="policy",
        columns=columns,
        rows=tuple(
            (policy.label, tuple(f"regret_{key}_{bias:g}" for bias in biases))
            for key, policy in spec.policies.items()
        ),
    )
    kinds = {
        "settles on one price": "settled",
        "settles, and the curve is refuted": "settled_alarm",
        "wavers between prices, and the curve is refuted": "wavering_alarm",
    }
    wavering = Grid(
        title="Plain WAGP: runs with one price in 99 % of the rounds after the first look, %",
        corner="the run",
        columns=columns,
        rows=tuple(
            (text, tuple(f"{kind}_{bias:g}" for bias in biases)) for text, kind in kinds.items()
        ),
        below="refuting",
    )
    return alarms, wavering, regret


def _alarm_chart(spec: Spec, entries: dict[str, Entry], time: int) -> Chart:
    cases = [
        (f"λ = {bias:g}  {policy.label}", entries[f"alarm_{key}_{bias:g}_{time}"])
        for bias in spec.setting_list("biases")
        for key, policy in spec.policies.items()
    ]
    found = [entry for _, entry in cases]
    return Chart(
        name="refuting",
        caption=f"Runs in which the curve is refuted by round {time:,}, with 95 % intervals. At "
        "λ = 0 the curve is right and every alarm would be a false one, of which 5 % are allowed. "
        "Once plain WAGP has settled on one price, nothing can refute the curve any more, however "
        "wrong it is: the rewards of one price fit some θ, and that there is no alarm says "
        "nothing. Only runs that waver between prices notice (see the table). A price drawn at "
        "random in 5 % of the rounds keeps the curve testable in every run.",
        draw=partial(
            plots.interval_figure,
            [label for label, _ in cases],
            [entry.value for entry in found],
            low=[max(entry.low, 0.0) for entry in found],
            high=[min(entry.high, 100.0) for entry in found],
            xlabel="runs with an alarm, %",
            title="Experiment 4: is a wrong curve noticed?",
        ),
    )


def _one_run_chart(spec: Spec, model: RewardModel, size: Size) -> Chart:
    confidence = spec.setting("confidence")
    policies = {_SHOWN_POLICY: spec.policies[_SHOWN_POLICY].build()}
    one = Size(runs=1, horizon=size.horizon, seed=size.seed)
    seen = record_rewards(_world(model, _SHOWN_BIAS), policies, one, decade_thirds(size.horizon))
    found = infer_many(model, seen.histograms[0, 0], confidence)
    return Chart(
        name="one_refutation",
        caption=f"One run of guarded WAGP at λ = {_SHOWN_BIAS:g}. An interval for the θ of a curve "
        "that is wrong means little; the e-value says when to stop believing it. Beyond the "
        "threshold, prices are compared without the curve, and more of them can be best.",
        draw=partial(
            one_run_figure,
            model,
            seen.times,
            found,
            confidence,
            title="Experiment 4: one run with a wrong curve",
        ),
    )
