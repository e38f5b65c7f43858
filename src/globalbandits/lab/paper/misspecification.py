"""Experiment 4: means that differ from the model by a random bias (Table 4)."""

import time
from functools import partial

from globalbandits import plots
from globalbandits._types import FloatArray
from globalbandits.environments import BetaNoise, Environment, UniformBias
from globalbandits.lab.paper.batches import Size, gather
from globalbandits.lab.paper.experiment_spec import Spec, load_model
from globalbandits.lab.paper.measurements import differences, measured
from globalbandits.lab.paper.outcome import Chart, Grid, Outcome
from globalbandits.lab.paper.verdicts import Entry

N_SIMULATIONS = 3
_SCORINGS = {"nominal": "scored by the model's means", "true": "scored by what is really paid"}


def run(spec: Spec, size: Size) -> Outcome:
    """Simulate Experiment 4, with one environment per bias. Every run draws its own shifts."""
    started = time.perf_counter()
    model = load_model(spec.model)
    policies = {key: policy.build() for key, policy in spec.policies.items()}
    entries: dict[str, Entry] = {}
    for bias in spec.setting_list("biases"):
        world = Environment(
            model, theta=spec.setting("theta"), noise=BetaNoise(), bias=UniformBias(bias)
        )
        found = gather(world, policies, size)
        scored = {"nominal": found.final_nominal, "true": found.final}
        for scoring, regrets in scored.items():
            entries |= _entries(spec, regrets, scoring, bias)
    return Outcome(
        spec=spec,
        horizon=size.horizon,
        runs=size.runs,
        seconds=time.perf_counter() - started,
        entries=entries,
        grids=tuple(_grid(spec, scoring) for scoring in _SCORINGS),
        charts=tuple(_chart(spec, entries, scoring) for scoring in _SCORINGS),
    )


def _entries(
    spec: Spec, regrets: dict[str, FloatArray], scoring: str, bias: float
) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    suffix = f"_{scoring}_{bias:g}"
    for key, policy in spec.policies.items():
        label = f"regret of {policy.label} at λ = {bias:g}, {_SCORINGS[scoring]}"
        entries[key + suffix] = measured(spec, key + suffix, regrets[key], label=label)
    return entries | differences(spec, regrets, suffix)


def _grid(spec: Spec, scoring: str) -> Grid:
    biases = spec.setting_list("biases")
    return Grid(
        title=f"Table 4: regret {_SCORINGS[scoring]}",
        corner="policy",
        columns=tuple(f"λ = {bias:g}" for bias in biases),
        rows=tuple(
            (policy.label, tuple(f"{key}_{scoring}_{bias:g}" for bias in biases))
            for key, policy in spec.policies.items()
        ),
    )


def _chart(spec: Spec, entries: dict[str, Entry], scoring: str) -> Chart:
    cases = [
        (f"λ = {bias:g}  {policy.label}", entries[f"{key}_{scoring}_{bias:g}"])
        for bias in spec.setting_list("biases")
        for key, policy in spec.policies.items()
    ]
    values = [entry for _, entry in cases]
    return Chart(
        name=f"bias_{scoring}",
        caption=f"Regret at the horizon, {_SCORINGS[scoring]}, on a logarithmic scale, with 95 % "
        "intervals; the diamonds are the numbers of the paper's Table 4.",
        draw=partial(
            plots.interval_figure,
            [label for label, _ in cases],
            [entry.value for entry in values],
            low=[entry.low for entry in values],
            high=[entry.high for entry in values],
            xlabel="cumulative regret (revenue)",
            title=f"Experiment 4: regret {_SCORINGS[scoring]}",
            references={
                at: entry.published.value
                for at, entry in enumerate(values)
                if entry.published is not None
            },
            log_x=True,
        ),
    )
