"""UCB1, WAGP and Thompson sampling written by hand in JAX, beside ours, on one core.

JAX lives in an environment of its own, build/jax, made on first use. Its rules hold the same
problem, the paper's 12 arms with Bernoulli rewards. Ours have 64-bit numbers. JAX is measured with
64 bits and with 32, its default. Both draw random numbers and rewards, and return the regret at the
end. The two are measured in turns of whole processes.
"""

import json
import os
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import globalbandits as gb
from benchmarks import Row
from benchmarks.peers import peers_python
from benchmarks.simulation import best_of, pricing
from globalbandits.environments import BernoulliNoise, Environment
from globalbandits.simulation import simulate

WORKER = Path(__file__).with_name("_jax_worker.py")
SHAPES = ((10_000, 100), (1_000, 1_000))  # decisions of a run, and runs; as in the worker
TARGETS: dict[str, float | None] = {"ucb1": 1.0, "wagp": 1.0, "thompson_sampling": None}
POLICIES = {"ucb1": gb.UCB1(), "wagp": gb.WAGP(), "thompson_sampling": gb.ThompsonSampling()}
THOMPSON_NANOSECONDS = 300.0
BITS = (64, 32)


def measure_jax(model: gb.RewardModel, bits: int) -> dict[str, Any]:
    """For each rule and horizon: seconds per step, mean regret, seconds to a first result."""
    regions = model.regions
    regions_by_arm = [[region.high for region in regions[:-1]], [region.arm for region in regions]]
    # Without -P, modules of this folder would take the place of modules that JAX imports.
    command = [str(peers_python("jax")), "-P", str(WORKER), json.dumps(regions_by_arm)]
    env = {**os.environ, "JAX_ENABLE_X64": str(int(bits == 64))}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def run() -> list[Row]:
    """Our step in steps of JAX for each rule and shape."""
    model = pricing()
    env = Environment(model, theta=0.4, noise=BernoulliNoise())
    theirs = {bits: measure_jax(model, bits) for bits in BITS}
    rows = []
    for horizon, runs in SHAPES:
        calls = {
            name: partial(simulate, env, [policy], horizon, runs, threads=1, checkpoints=1)
            for name, policy in POLICIES.items()
        }
        for call in calls.values():
            call()
        times = dict(zip(calls, best_of(list(calls.values())), strict=True))
        for name, seconds in times.items():
            ours = seconds / (horizon * runs)
            for bits, found in theirs.items():
                by_jax, regret, first = found[f"{name} {horizon}"]
                rows.append(
                    Row(
                        name=f"{name}, {runs:,} runs of {horizon:,}: ours ÷ JAX with {bits} bits",
                        value=ours / by_jax,
                        unit="times",
                        target=TARGETS[name],
                        note=f"{ours * 1e9:.0f} and {by_jax * 1e9:,.0f} ns; JAX: regret "
                        f"{regret:.1f}, first result {first:.1f} s",
                    )
                )
            if name == "thompson_sampling":
                rows.append(
                    Row(
                        name=f"{name}, {runs:,} runs of {horizon:,}",
                        value=ours * 1e9,
                        unit="ns a step",
                        target=THOMPSON_NANOSECONDS,
                        note="a mean per arm, drawn as far as it matters",
                    )
                )
    return rows
