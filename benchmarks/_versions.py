"""This version beside another checkout: speed of models, simulations and learners, and their bits.

python -m benchmarks._versions CHECKOUT [TURNS]

Both versions are measured in turns, each time in a new process, in processor time of one core. The
checkout only needs its sources; the installed packages are those of this version.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import globalbandits as gb

N_ROUNDS, N_RUNS = 10_000, 100
N_LIVE_ROUNDS, N_PLAIN_ROUNDS = 2_000, 300
POLICIES = (gb.WAGP(), gb.UCB1(), gb.GridThompson(), gb.IDS(), gb.Elastic())


def pricing(n_arms: int) -> gb.RewardModel:
    """The paper's pricing model."""
    arms = np.linspace(0.4, 0.95, n_arms).tolist()
    return gb.RewardModel(lambda theta, price: price * (1 - price * theta) ** 2, arms)


def analyse(n_arms: int) -> None:
    """Compute everything that `analyze` shows."""
    model = pricing(n_arms)
    _ = model.regions, model.dominated, model.holder


def seconds(call: Callable[[], object], repeats: int = 1) -> float:
    """Return the shortest processor time of a call."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return min(times)


def play(learner: gb.Learner, means: list[float], n_rounds: int) -> None:
    """Decide and report a reward, so many times."""
    for noise in np.random.default_rng(0).uniform(-0.02, 0.02, n_rounds).tolist():
        arm = learner.select()
        learner.update(arm, means[arm] + noise)


def measure() -> tuple[dict[str, float], dict[str, str]]:
    """Return times of the imported version, by name with unit, and digests of its regret."""
    analyse(12)
    times = {
        "12 arms analysed, ms": 1e3 * seconds(partial(analyse, 12), 20),
        "10,000 arms analysed, s": seconds(partial(analyse, 10_000)),
    }
    digests = {}
    model = pricing(12)
    means = model.means(0.4).tolist()
    for policy in POLICIES:
        name, env = policy.label, gb.Environment(model, 0.4)
        simulated = gb.simulate(env, [policy], N_ROUNDS, 2, threads=1)
        regret = np.ascontiguousarray(simulated.dataset["regret"].values)
        digests[name] = hashlib.sha256(regret.tobytes()).hexdigest()
        steps = partial(gb.simulate, env, [policy], N_ROUNDS, N_RUNS, threads=1)
        times[f"{name}, simulated step, ns"] = 1e9 * seconds(steps) / (N_ROUNDS * N_RUNS)
        for how, compiled, n_rounds in (
            ("compiled", True, N_LIVE_ROUNDS),
            ("plain", False, N_PLAIN_ROUNDS),
        ):
            learner = gb.Learner(policy, model, seed=0, compiled=compiled)
            play(learner, means, 100)
            rounds = partial(play, learner, means, n_rounds)
            times[f"{name}, {how} select and update, µs"] = 1e6 * seconds(rounds, 3) / n_rounds
    return times, digests


def main(checkout: str, n_turns: int = 5) -> None:
    """Print the times of both versions, and their ratio with its standard error."""
    here = Path(__file__).resolve().parent.parent
    sources = {"before": Path(checkout) / "src", "now": here / "src"}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in sources}
    digests = {}
    for _ in range(n_turns):
        for name, source in sources.items():
            done = subprocess.run(
                [sys.executable, __file__],
                env=os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"},
                capture_output=True,
                text=True,
                check=True,
            )
            times, digests[name] = json.loads(done.stdout)
            found[name].append(times)
    print("| what | before | now | now ÷ before |\n|---|---|---|---|")
    for what in found["now"][0]:
        before, now = (np.array([times[what] for times in found[name]]) for name in sources)
        ratio = now / before
        error = ratio.std(ddof=1) / np.sqrt(n_turns) if n_turns > 1 else np.nan
        best = f"{before.min():.4g} | {now.min():.4g}"
        print(f"| {what} | {best} | {ratio.mean():.2f} ± {error:.2f} |")
    same = [name for name, digest in digests["now"].items() if digests["before"][name] == digest]
    print(f"\nRegret is equal to the bit: {', '.join(same) or 'none'}.")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1], *map(int, sys.argv[2:3]))
    else:
        print(json.dumps(measure()))
