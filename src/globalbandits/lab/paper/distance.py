"""Experiment 2: WAGP's regret against the suboptimality distance (Table 3)."""

import time
from functools import partial

import numpy as np

from globalbandits import plots
from globalbandits.environments import BetaNoise, Environment
from globalbandits.lab.paper.batches import Gathered, Size, gather
from globalbandits.lab.paper.experiment_spec import Spec, load_model
from globalbandits.lab.paper.measurements import decrease_per_decade, known, measured
from globalbandits.lab.paper.outcome import Chart, Grid, Outcome
from globalbandits.lab.paper.verdicts import Entry
from globalbandits.model import RewardModel

N_SIMULATIONS = 5


def run(spec: Spec, size: Size) -> Outcome:
    """Simulate Experiment 2."""
    started = time.perf_counter()
    model = load_model(spec.model)
    policies = {key: policy.build() for key, policy in spec.policies.items()}
    found = {
        theta: gather(
            Environment(model, theta=theta, noise=BetaNoise()), policies, size, spacing="log"
        )
        for theta in spec.setting_list("thetas")
    }
    return Outcome(
        spec=spec,
        horizon=size.horizon,
        runs=size.runs,
        seconds=time.perf_counter() - started,
        entries=_entries(spec, model, found),
        grids=_grids(spec),
        charts=_charts(spec, model, found),
    )


def _entries(spec: Spec, model: RewardModel, found: dict[float, Gathered]) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    distances = {theta: model.suboptimality_distance(theta) for theta in found}
    for theta, runs in found.items():
        at = f"at θ = {theta:g}"
        name = f"distance_{theta:g}"
        entries[name] = known(spec, name, distances[theta], label=f"Δ {at}")
        name = f"regret_{theta:g}"
        entries[name] = measured(spec, name, runs.final["wagp"], label=f"regret {at}")
        name = f"last_wrong_round_{theta:g}"
        label = f"round of the last wrong decision {at}"
        entries[name] = measured(
            spec, name, runs.last_suboptimal["wagp"].astype(np.float64), label=label
        )
    key = "regret_falls_with_distance"
    finals = np.stack([runs.final["wagp"] for runs in found.values()])
    falls = decrease_per_decade(finals, np.array(list(distances.values())))
    entries[key] = measured(spec, key, falls, label="decrease when Δ grows tenfold")
    return entries


def _grids(spec: Spec) -> tuple[Grid, ...]:
    rows = tuple(
        (f"{theta:g}", (f"distance_{theta:g}", f"regret_{theta:g}", f"last_wrong_round_{theta:g}"))
        for theta in spec.setting_list("thetas")
    )
    columns = ("Δ", "regret", "last wrong decision (round)")
    title = "Table 3: distance and regret"
    return (Grid(title=title, corner="θ", columns=columns, rows=rows),)


def _charts(spec: Spec, model: RewardModel, found: dict[float, Gathered]) -> tuple[Chart, ...]:
    by_distance = sorted(found, key=model.suboptimality_distance, reverse=True)
    labels = [f"θ = {x:g}  (Δ = {model.suboptimality_distance(x):.3f})" for x in by_distance]
    curves = [found[theta].curve("wagp") for theta in by_distance]
    claims = [spec.claim(f"regret_{theta:g}").published for theta in by_distance]
    references = {at: claim.value for at, claim in enumerate(claims) if claim is not None}
    # Quantiles keep the size of the figure independent of the number of runs.
    shares = np.linspace(0.0, 1.0, 201)
    # Rounds start at 1, also for runs without a wrong decision.
    settled = [
        plots.Line(label, np.maximum(np.quantile(rounds, shares, method="inverted_cdf"), 1), shares)
        for label, rounds in zip(
            labels, (found[theta].last_suboptimal["wagp"] for theta in by_distance), strict=True
        )
    ]
    return (
        Chart(
            name="distance",
            caption="WAGP's regret at the horizon, the easiest parameter first, with 95 % "
            "intervals; the diamonds are the numbers of the paper's Table 3.",
            draw=partial(
                plots.interval_figure,
                labels,
                [mean[-1] for mean, _, _ in curves],
                low=[low[-1] for _, low, _ in curves],
                high=[high[-1] for _, _, high in curves],
                xlabel="cumulative regret (revenue)",
                title="Experiment 2: regret grows as the distance Δ falls",
                references=references,
            ),
        ),
        Chart(
            name="growth",
            caption="Mean cumulative regret over time, with 95 % bands: the curves flatten, the "
            "sooner the larger the distance (Theorem 4).",
            draw=partial(
                plots.band_figure,
                [
                    plots.Line(label, found[theta].times, *curve)
                    for label, theta, curve in zip(labels, by_distance, curves, strict=True)
                ],
                xlabel="round",
                ylabel="cumulative regret (revenue)",
                title="Experiment 2: regret over time",
                log_x=True,
            ),
        ),
        Chart(
            name="settled",
            caption="Theorem 5: almost surely WAGP plays a suboptimal arm only finitely often. "
            "Shown is the share of runs whose last wrong decision within the horizon has passed.",
            draw=partial(
                plots.band_figure,
                settled,
                xlabel="round",
                ylabel="share of runs",
                title="Experiment 2: the last wrong decision",
                log_x=True,
            ),
        ),
    )
