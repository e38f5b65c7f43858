"""Experiment 1: WAGP, UCB1, the Uncertainty Ellipsoid and BUW at one parameter."""

import time
from functools import partial

from globalbandits import plots, theory
from globalbandits.environments import BetaNoise, Environment
from globalbandits.lab.paper.batches import Gathered, Size, gather
from globalbandits.lab.paper.experiment_spec import Spec, load_model
from globalbandits.lab.paper.measurements import differences, known, measured
from globalbandits.lab.paper.outcome import Chart, Grid, Outcome
from globalbandits.lab.paper.verdicts import Entry
from globalbandits.model import RewardModel

N_SIMULATIONS = 1
_BEST, _SECOND = 9, 8  # the paper's arms 10 and 9


def run(spec: Spec, size: Size) -> Outcome:
    """Simulate Experiment 1."""
    started = time.perf_counter()
    model = load_model(spec.model)
    theta = spec.setting("theta")
    world = Environment(model, theta=theta, noise=BetaNoise())
    policies = {key: policy.build() for key, policy in spec.policies.items()}
    others = [arm for arm in range(model.n_arms) if arm not in (_BEST, _SECOND)]
    groups = [*([arm] for arm in range(model.n_arms)), others]
    found = gather(world, policies, size, groups=groups)
    entries = _entries(spec, found)
    entries |= differences(spec, found.final)
    regime_text = str(theory.regimes(model, theta))
    worst = float(theory.worst_case_regret(model, float(size.horizon)))
    return Outcome(
        spec=spec,
        horizon=size.horizon,
        runs=size.runs,
        seconds=time.perf_counter() - started,
        entries=entries,
        grids=_grids(spec),
        charts=_charts(spec, found, model, theta),
        notes=(
            f"What the theorems promise for WAGP here\n{regime_text}\n"
            f"At T = {size.horizon:,} the bound is {worst:,.0f} (Theorem 3); "
            f"measured: {entries['wagp_regret'].value:.2f}.",
        ),
    )


def _entries(spec: Spec, found: Gathered) -> dict[str, Entry]:
    entries = {
        f"{key}_regret": measured(
            spec, f"{key}_regret", found.final[key], label=f"regret of {policy.label}"
        )
        for key, policy in spec.policies.items()
    }
    shares = found.shares
    for at, (key, policy) in enumerate(spec.policies.items()):
        for part, group in {"arm_10": _BEST, "arm_9": _SECOND, "other_arms": -1}.items():
            name = f"{key}_share_{part}"
            value, sem = 100.0 * shares.mean[at, group], 100.0 * shares.sem[at, group]
            label = f"{policy.label} plays {part.replace('_', ' ')}"
            entries[name] = known(
                spec, name, float(value), float(sem), shares.runs, label=label, unit="%"
            )
    return entries


def _grids(spec: Spec) -> tuple[Grid, ...]:
    columns = ("regret", "arm 10 (best), %", "arm 9 (second), %", "other arms, %")
    parts = ("regret", "share_arm_10", "share_arm_9", "share_other_arms")
    rows = tuple(
        (policy.label, tuple(f"{key}_{part}" for part in parts))
        for key, policy in spec.policies.items()
    )
    title = "Regret at the horizon, and how often arms are played"
    return (Grid(title=title, corner="policy", columns=columns, rows=rows),)


def _charts(spec: Spec, found: Gathered, model: RewardModel, theta: float) -> tuple[Chart, ...]:
    lines = [
        plots.Line(policy.label, found.times, *found.curve(key))
        for key, policy in spec.policies.items()
    ]
    shown = ("wagp", "ucb1", "ue", "ue_tuned")
    shares = {
        spec.policies[key].label: found.shares.mean[found.policies.index(key), : model.n_arms]
        for key in shown
    }
    prices = [f"{price:.2f}" for price in model.arms]
    return (
        Chart(
            name="regret",
            caption="Mean cumulative regret and its 95 % band, on a logarithmic scale. With the "
            "paper's constants BUW still plays as UCB1 does when the horizon is reached, so their "
            "lines coincide; a much smaller radius shows the switch to WAGP, and leaves the proof.",
            draw=partial(
                plots.band_figure,
                lines,
                xlabel="round",
                ylabel="cumulative regret (revenue)",
                title="Experiment 1: regret at θ = 0.4",
                log_y=True,
            ),
        ),
        Chart(
            name="shares",
            caption="Share of the rounds in which each price was set. Arm 10 of the paper is the "
            "price 0.85, arm 9 is 0.80.",
            draw=partial(
                plots.share_figure,
                shares,
                prices,
                best=model.best_arms(theta),
                xlabel="price",
                title="Experiment 1: how often each price is set",
            ),
        ),
    )
