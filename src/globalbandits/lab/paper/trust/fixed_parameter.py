"""Experiment 1: the interval for a fixed theta, and the arms that can still be best."""

from functools import partial

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.environments import BetaNoise, Environment
from globalbandits.evidence.inference import Findings, infer_many
from globalbandits.lab.paper.batches import Size
from globalbandits.lab.paper.experiment_spec import Spec, load_spec
from globalbandits.lab.paper.measurements import measured
from globalbandits.lab.paper.outcome import Chart, Grid
from globalbandits.lab.paper.trust.recorded_rewards import (
    Part,
    RewardRecords,
    decade_thirds,
    median_of_runs,
    one_run_figure,
    record_rewards,
    share_of_runs,
)
from globalbandits.lab.paper.verdicts import Entry
from globalbandits.model import RewardModel

N_SIMULATIONS = 1


def run(spec: Spec, model: RewardModel, size: Size) -> Part:
    """Run WAGP in the world of Experiment 1."""
    world = Environment(model, theta=load_spec("comparison").setting("theta"), noise=BetaNoise())
    policies = {"wagp": spec.policies["wagp"].build()}
    seen = record_rewards(world, policies, size, decade_thirds(size.horizon))
    confidence = spec.setting("confidence")
    found = []
    for run_histograms in seen.histograms[0]:
        found.append(infer_many(model, run_histograms, confidence))
        size.tick(1)
    everything = Findings(*(np.stack(parts) for parts in zip(*found, strict=True)))
    entries = _entries(spec, seen, everything)
    return Part(entries, (_grid(seen),), (_chart(model, seen, found[0], confidence),))


def _decades(seen: RewardRecords) -> list[int]:
    """Return the indices of the powers of ten, from 10 on, and of the horizon."""
    last = len(seen.times) - 1
    return [
        at
        for at, time in enumerate(seen.times.tolist())
        if time >= 10 and (str(time).strip("0") == "1" or at == last)
    ]


def _entries(spec: Spec, seen: RewardRecords, found: Findings) -> dict[str, Entry]:
    inside = (found.low <= seen.theta) & (seen.theta <= found.high)
    widths: FloatArray = found.high - found.low
    entries: dict[str, Entry] = {}
    for at in _decades(seen):
        time = int(seen.times[at])
        # An empty interval has width 0 here and counts as a miss below.
        width = np.nan_to_num(widths[:, at])
        entries[f"width_{time}"] = median_of_runs(width, label=f"median width at {time:,}")
        key, left = f"contenders_{time}", found.contenders[:, at].sum(axis=1)
        label = f"prices in the race at {time:,}"
        entries[key] = measured(spec, key, left.astype(np.float64), label=label)
        label = f"runs whose interval holds θ at every look up to {time:,}"
        always = np.all(inside[:, : at + 1], axis=1)
        entries[f"coverage_{time}"] = share_of_runs(always, label=label)
    return entries


def _grid(seen: RewardRecords) -> Grid:
    times = [int(seen.times[at]) for at in _decades(seen)]
    parts = ("width", "contenders", "coverage")
    return Grid(
        title="How sure, after how many rounds (WAGP in the world of Experiment 1)",
        corner="round",
        columns=("median width", "prices in the race", "runs that always held θ, %"),
        rows=tuple((f"{time:,}", tuple(f"{part}_{time}" for part in parts)) for time in times),
        below="closing",
    )


def _chart(model: RewardModel, seen: RewardRecords, first: Findings, confidence: float) -> Chart:
    return Chart(
        name="closing",
        caption="One run of WAGP in the world of Experiment 1. Above: the interval closes around "
        "the true parameter. Middle: the evidence against the curve stays below its threshold. "
        "Below: the prices that can still be best; one that leaves the race may come back.",
        draw=partial(
            one_run_figure,
            model,
            seen.times,
            first,
            confidence,
            truth=seen.theta[0],
            title="Experiment 1: what one run knows",
        ),
    )
