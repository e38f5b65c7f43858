"""Experiments 1, 2 and 4 under every reading of what the paper leaves open."""

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.paper_readings.lattice import LatticeWAGP, lattice_distance
from globalbandits._types import FloatArray
from globalbandits.lab.paper.batches import Size, gather
from globalbandits.lab.paper.experiment_spec import Spec, load_model, load_spec, parse_spec
from globalbandits.lab.paper.measurements import known, measured
from globalbandits.lab.paper.outcome import Grid, Outcome
from globalbandits.lab.paper.reproduction import as_size, without_simulated_verdicts
from globalbandits.lab.paper.verdicts import Entry, judge_jointly

if TYPE_CHECKING:
    from globalbandits.environments import Noise
    from globalbandits.model import RewardModel
    from globalbandits.policies.base import Policy

# 4 noises times (5 parameters of Table 3, Experiment 1, 3 biases of Table 4), and 3 biases of UE.
N_SIMULATIONS = 4 * (5 + 1 + 3) + 3
_DECISIONS = {"exact": "decisions exact", "lattice": "decisions on a grid of 0.01"}
_PARTS = {"arm_10": [9], "arm_9": [8], "other_arms": [*range(8), 10, 11]}


def load_readings() -> Spec:
    """Return the specification in ``readings.toml``."""
    return parse_spec(Path(__file__).with_name("readings.toml").read_text("utf-8"), "readings")


def run_readings(
    *,
    runs: int | None = None,
    horizon: int | None = None,
    seed: int = 0,
    tick: Callable[[int], None] = lambda runs: None,
) -> Outcome:
    """Simulate Experiments 1, 2 and 4 under every reading.

    Args:
        runs: number of simulated runs, at least 2; that of the specification by default.
        horizon: rounds of a run; the paper's by default.
        seed: seed of all randomness.
        tick: called with the number of runs in each finished batch.
    """
    spec = load_readings()
    size = as_size(spec, runs, horizon, seed, tick)
    outcome = _run(spec, size)
    return outcome if size.horizon == spec.horizon else without_simulated_verdicts(outcome)


def _run(spec: Spec, size: Size) -> Outcome:
    started = time.perf_counter()
    model = load_model(spec.model)
    noises = _noises()
    policies = _wagp(spec)
    entries: dict[str, Entry] = {}
    for noise, (_, law) in noises.items():
        entries |= _table_3(spec, size, model, noise, law, policies)
        entries |= _experiment_1(spec, size, model, noise, law, policies)
        entries |= _table_4(spec, size, model, noise, law, policies)
    distances = _distances(spec, model)
    ellipsoids = _ellipsoids(spec, model)
    entries |= distances | _ellipsoid_rows(spec, size, model, ellipsoids)
    rows = {
        f"{label}, {words}": f"{noise}_{key}"
        for noise, (label, _) in noises.items()
        for key, words in _DECISIONS.items()
    }
    return Outcome(
        spec=spec,
        horizon=size.horizon,
        runs=size.runs,
        seconds=time.perf_counter() - started,
        entries=entries,
        grids=_grids(spec, rows, ellipsoids),
        charts=(),
        notes=(_note(spec, rows, ellipsoids, entries),),
    )


def _noises() -> "dict[str, tuple[str, Noise]]":
    from globalbandits.environments import (
        ArcsineBetaNoise,
        BetaNoise,
        MirroredBetaNoise,
        TruncatedNormalNoise,
    )

    return {
        "stated": ("Beta(1, (1 - m)/m), as stated", BetaNoise()),
        "mirrored": ("Beta(m/(1 - m), 1)", MirroredBetaNoise()),
        "arcsine": ("Beta(m, 1 - m)", ArcsineBetaNoise()),
        "normal": ("normal, sd 0.3, cut to [0, 1]", TruncatedNormalNoise(0.3)),
    }


def _wagp(spec: Spec) -> "dict[str, Policy]":
    from globalbandits.policies import WAGP

    return {"exact": WAGP(), "lattice": LatticeWAGP(step=spec.setting("step"))}


def _read(spec: Spec, key: str, values: FloatArray, source: str, number: str, label: str) -> Entry:
    """Return an entry that is one reading of a number in another experiment's specification."""
    entry = measured(spec, key, values, label=label)
    claim = load_spec(source).claim(number)
    return dataclasses.replace(
        entry, published=claim.published, number=f"{source} {number}", searched=True
    )


def _table_3(
    spec: Spec,
    size: Size,
    model: "RewardModel",
    noise: str,
    law: "Noise",
    policies: "Mapping[str, Policy]",
) -> dict[str, Entry]:
    from globalbandits.environments import Environment

    entries = {}
    for theta in spec.setting_list("thetas"):
        found = gather(Environment(model, theta=theta, noise=law), policies, size, checkpoints=1)
        for key in policies:
            name = f"regret_{theta:g}"
            label = f"regret at θ = {theta:g}"
            entry = _read(spec, name, found.final[key], "distance", name, label)
            entries[f"{name}_{noise}_{key}"] = entry
    return entries


def _experiment_1(
    spec: Spec,
    size: Size,
    model: "RewardModel",
    noise: str,
    law: "Noise",
    policies: "Mapping[str, Policy]",
) -> dict[str, Entry]:
    from globalbandits.environments import Environment

    world = Environment(model, theta=spec.setting("theta"), noise=law)
    groups = list(_PARTS.values())
    found = gather(world, policies, size, groups=groups, checkpoints=1)
    entries = {}
    for at, key in enumerate(policies):
        for group, part in enumerate(_PARTS):
            name = f"wagp_share_{part}"
            claim = load_spec("comparison").claim(name)
            value = 100.0 * float(found.shares.mean[at, group])
            sem = 100.0 * float(found.shares.sem[at, group])
            label = f"plays {part.replace('_', ' ')}"
            entry = known(spec, name, value, sem, found.shares.runs, label=label, unit="%")
            entries[f"{name}_{noise}_{key}"] = dataclasses.replace(
                entry, published=claim.published, number=f"comparison {name}", searched=True
            )
    return entries


def _table_4(
    spec: Spec,
    size: Size,
    model: "RewardModel",
    noise: str,
    law: "Noise",
    policies: "Mapping[str, Policy]",
) -> dict[str, Entry]:
    from globalbandits.environments import Environment, UniformBias

    entries = {}
    for bias in spec.setting_list("biases"):
        world = Environment(model, theta=spec.setting("theta"), noise=law, bias=UniformBias(bias))
        found = gather(world, policies, size, checkpoints=1)
        for key in policies:
            name = f"wagp_nominal_{bias:g}"
            label = f"regret of WAGP at λ = {bias:g}"
            values = found.final_nominal[key]
            entry = _read(spec, name, values, "misspecification", name, label)
            entries[f"{name}_{noise}_{key}"] = entry
    return entries


def _distances(spec: Spec, model: "RewardModel") -> dict[str, Entry]:
    entries = {}
    for theta in spec.setting_list("thetas"):
        name = f"distance_{theta:g}"
        claim = load_spec("distance").claim(name)
        for key, value in {
            "exact": model.suboptimality_distance(theta),
            "lattice": lattice_distance(model, theta, spec.setting("step")),
        }.items():
            entry = known(spec, name, value, label=f"Δ at θ = {theta:g}")
            entries[f"{name}_{key}"] = dataclasses.replace(
                entry, published=claim.published, number=f"distance {name}", searched=True
            )
    return entries


def _ellipsoids(spec: Spec, model: "RewardModel") -> "dict[str, tuple[str, Policy]]":
    """Return UE with every start and every factor on alpha."""
    from globalbandits.policies import UncertaintyEllipsoid

    starts: dict[str, tuple[str, tuple[int, ...] | None]] = {"far": ("far apart, once each", None)}
    for times in spec.setting_list("repeats"):
        label = f"first three prices, {times:g} times each"
        starts[f"first_{times:g}"] = label, (0, 1, 2) * int(times)
    found: dict[str, tuple[str, Policy]] = {}
    for key, (label, start) in starts.items():
        for factor in spec.setting_list("factors"):
            policy = UncertaintyEllipsoid(start=start, scale=factor)
            alpha = policy.setup(model).alpha
            found[f"{key}_{factor:g}"] = f"{label}; alpha × {factor:g} = {alpha:.2g}", policy
    return found


def _ellipsoid_rows(
    spec: Spec,
    size: Size,
    model: "RewardModel",
    ellipsoids: "Mapping[str, tuple[str, Policy]]",
) -> dict[str, Entry]:
    from globalbandits.environments import BetaNoise, Environment, UniformBias

    policies = {key: policy for key, (_, policy) in ellipsoids.items()}
    entries = {}
    for bias in spec.setting_list("biases"):
        world = Environment(
            model, theta=spec.setting("theta"), noise=BetaNoise(), bias=UniformBias(bias)
        )
        found = gather(world, policies, size, checkpoints=1)
        for key in policies:
            name = f"ue_nominal_{bias:g}"
            label = f"regret of UE at λ = {bias:g}"
            values = found.final_nominal[key]
            entry = _read(spec, name, values, "misspecification", name, label)
            entries[f"{name}_{key}"] = entry
            spread = np.std(values, ddof=1).item()
            name = f"ue_spread_{bias:g}_{key}"
            label = f"standard deviation over runs at λ = {bias:g}"
            entries[name] = known(spec, name, spread, label=label)
    return entries


def _grids(
    spec: Spec, rows: Mapping[str, str], ellipsoids: "Mapping[str, tuple[str, Policy]]"
) -> tuple[Grid, ...]:
    thetas = [f"{theta:g}" for theta in spec.setting_list("thetas")]
    biases = [f"{bias:g}" for bias in spec.setting_list("biases")]
    n_noises, n_ellipsoids = len(rows), len(ellipsoids)

    def by_noise(names: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return tuple(
            (label, tuple(f"{name}_{key}" for name in names)) for label, key in rows.items()
        )

    at_thetas, at_biases = [f"θ = {x}" for x in thetas], [f"λ = {x}" for x in biases]
    return (
        Grid(
            title=f"Table 3: WAGP's regret under {n_noises} readings",
            corner="rewards and decisions",
            columns=tuple(at_thetas),
            rows=by_noise([f"regret_{x}" for x in thetas]),
        ),
        Grid(
            title=f"Experiment 1 and Table 4: WAGP under the same {n_noises} readings",
            corner="rewards and decisions",
            columns=("arm 10, %", "arm 9, %", "other arms, %", *at_biases),
            rows=by_noise(
                [*(f"wagp_share_{x}" for x in _PARTS), *(f"wagp_nominal_{x}" for x in biases)]
            ),
        ),
        Grid(
            title="Table 3: distances",
            corner="distance",
            columns=tuple(at_thetas),
            rows=(
                ("exact", tuple(f"distance_{x}_exact" for x in thetas)),
                (
                    "on a grid of 0.01, ends of the domain counted",
                    tuple(f"distance_{x}_lattice" for x in thetas),
                ),
            ),
        ),
        Grid(
            title=f"Table 4: UE's regret under {n_ellipsoids} readings",
            corner="first plays and width",
            columns=(*at_biases, *(f"sd over runs, {x}" for x in at_biases)),
            rows=tuple(
                (
                    label,
                    (
                        *(f"ue_nominal_{x}_{key}" for x in biases),
                        *(f"ue_spread_{x}_{key}" for x in biases),
                    ),
                )
                for key, (label, _) in ellipsoids.items()
            ),
        ),
    )


def _note(
    spec: Spec,
    rows: Mapping[str, str],
    ellipsoids: "Mapping[str, tuple[str, Policy]]",
    entries: Mapping[str, Entry],
) -> str:
    """Return the joint tests of the tables under each reading."""
    thetas, biases = spec.setting_list("thetas"), spec.setting_list("biases")
    groups: dict[str, list[str]] = {}
    for label, key in rows.items():
        groups[f"Table 3, {label}"] = [f"regret_{x:g}_{key}" for x in thetas]
        groups[f"Table 4, WAGP, {label}"] = [f"wagp_nominal_{x:g}_{key}" for x in biases]
    for key, (label, _) in ellipsoids.items():
        groups[f"Table 4, UE, {label}"] = [f"ue_nominal_{x:g}_{key}" for x in biases]
    head = (
        f"{len(rows)} readings of noise and decisions and {len(ellipsoids)} of UE were tried. "
        "One that fits by search is not identified by it."
    )
    return "\n".join([head, *map(str, judge_jointly(groups, entries))])
