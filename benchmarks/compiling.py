"""What compiling costs: processor seconds in a new process with an empty cache.

Every policy is compiled after a first small one, which loads what all need. All policies one after
the other in one process are measured too.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

import globalbandits as gb
from benchmarks import Row
from benchmarks.simulation import ARGUMENTS, pricing
from globalbandits.compiling.cache import VARIABLE
from globalbandits.environments import BernoulliNoise, Environment, RandomWalk
from globalbandits.policies import registered
from globalbandits.simulation import simulate

TARGETS = {"wagp": 2.5, "ucb1": 4.0, "ids": 4.0, "elastic": 8.0, "guarded": 20.0}
TARGET_OF_ALL = 120.0
REPEATS = 2


def measure(kinds: Sequence[str]) -> None:
    """In a process of its own: seconds of each policy, and of what comes with it, as JSON."""
    model = pricing()
    worlds = {
        "a first small policy": Environment(model, 0.4),
        "another noise": Environment(model, 0.4, noise=BernoulliNoise()),
        "a moving world": Environment(model, 0.4, drift=RandomWalk(drift_time=100)),
    }
    found = {name: compile_in(env, gb.Uniform()) for name, env in worlds.items()}
    still = worlds["a first small policy"]
    for kind in kinds:
        found[kind] = compile_in(still, registered()[kind](**ARGUMENTS.get(kind, {})))
    print(json.dumps(found))


def compile_in(env: Environment, policy: gb.Policy) -> float:
    """Processor seconds until a policy has played ten decisions."""
    begin = time.process_time()
    simulate(env, [policy], 10, 1, checkpoints=1, threads=1)
    return time.process_time() - begin


def in_new_process(kinds: Sequence[str]) -> dict[str, float]:
    """What `measure` finds with an empty cache."""
    command = f"from benchmarks.compiling import measure; measure({list(kinds)!r})"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", command],
            env={**os.environ, VARIABLE: folder},
            capture_output=True,
            text=True,
            check=True,
        )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def seconds_row(name: str, seconds: float, target: float | None, note: str) -> Row:
    """One figure."""
    return Row(name=name, value=seconds, unit="s of one core", target=target, note=note)


def run() -> list[Row]:
    """The policies with a target, each in new processes; then all of ours in one."""
    rows, first = [], []
    for kind, target in TARGETS.items():
        times = [in_new_process([kind]) for _ in range(REPEATS)]
        first += times
        best = min(found[kind] for found in times)
        rows.append(seconds_row(f"compiling {kind}", best, target, f"best of {REPEATS} processes"))
    for name in ("a first small policy", "another noise", "a moving world"):
        best = min(found[name] for found in first)
        rows.append(seconds_row(f"compiling {name}", best, None, f"best of {len(first)} processes"))
    ours = [
        kind
        for kind, policy in registered().items()
        if policy.__module__.startswith("globalb") and kind != "cohort_design"
    ]
    found = in_new_process(sorted(ours))
    name = f"compiling all {len(ours)} policies in one process"
    slowest = sorted(ours, key=lambda kind: found[kind])[-5:]
    note = "slowest: " + ", ".join(f"{kind} {found[kind]:.1f}" for kind in reversed(slowest))
    rows.append(seconds_row(name, sum(found[kind] for kind in ours), TARGET_OF_ALL, note))
    return rows
