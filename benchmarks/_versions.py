"""This version beside another checkout: speed of models, simulations and learners, and their bits.

    python -m benchmarks._versions CHECKOUT [TURNS]

Each version runs in a process of its own. They take turns every tenth of a second, so that a
machine that becomes slower or faster changes both times of a pair. Times are processor times of
one core.
The checkout only needs its sources; the installed packages are those of this version.
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

N_ROUNDS = 10_000
N_LIVE_ROUNDS, N_PLAIN_ROUNDS = 2_000, 100
MAX_LARGE_TURNS = 4  # of the analysis of 10,000 arms, which takes seconds
RUNS = {"WAGP": 200, "UCB1": 100, "GridThompson": 5, "IDS": 2, "Elastic": 20}  # a tenth of a second
POLICIES = (gb.WAGP(), gb.UCB1(), gb.GridThompson(), gb.IDS(), gb.Elastic())


def pricing(n_arms: int) -> gb.RewardModel:
    """The paper's pricing model."""
    arms = np.linspace(0.4, 0.95, n_arms).tolist()
    return gb.RewardModel(lambda theta, price: price * (1 - price * theta) ** 2, arms)


def analyse(n_arms: int) -> None:
    """Compute everything that `analyze` shows."""
    model = pricing(n_arms)
    _ = model.regions, model.dominated, model.holder


def play(learner: gb.Learner, means: list[float], n_rounds: int) -> None:
    """Decide and report a reward, so many times."""
    for noise in np.random.default_rng(0).uniform(-0.02, 0.02, n_rounds).tolist():
        arm = learner.select()
        learner.update(arm, means[arm] + noise)


def jobs() -> dict[str, tuple[Callable[[], object], float]]:
    """What is timed, by name with unit, and the number of units in a second of one call."""
    model = pricing(12)
    means = model.means(0.4).tolist()
    found: dict[str, tuple[Callable[[], object], float]] = {
        "12 arms analysed, ms": (partial(analyse, 12), 1e3),
        "10,000 arms analysed, s": (partial(analyse, 10_000), 1.0),
    }
    for policy in POLICIES:
        env, n_runs = gb.Environment(model, 0.4), RUNS[policy.label]
        simulate = partial(gb.simulate, env, [policy], N_ROUNDS, n_runs, threads=1)
        found[f"{policy.label}, simulated step, ns"] = simulate, 1e9 / (N_ROUNDS * n_runs)
        for how, compiled, n_rounds in (
            ("compiled", True, N_LIVE_ROUNDS),
            ("plain", False, N_PLAIN_ROUNDS),
        ):
            learner = gb.Learner(policy, model, seed=0, compiled=compiled)
            rounds = partial(play, learner, means, n_rounds)
            found[f"{policy.label}, {how} select and update, µs"] = rounds, 1e6 / n_rounds
    return found


def digests() -> dict[str, str]:
    """Digests of the regret of every policy."""
    env, found = gb.Environment(pricing(12), 0.4), {}
    for policy in POLICIES:
        simulated = gb.simulate(env, [policy], N_ROUNDS, 2, threads=1)
        regret = np.ascontiguousarray(simulated.dataset["regret"].values)
        found[policy.label] = hashlib.sha256(regret.tobytes()).hexdigest()
    return found


def answer() -> None:
    """Print the digests and the names of the jobs; then play the jobs named on standard input."""
    known = jobs()
    print(json.dumps([digests(), list(known)]), flush=True)
    for line in sys.stdin:
        job, scale = known[line.rstrip("\n")]
        begin = time.process_time()
        job()
        print(scale * (time.process_time() - begin), flush=True)


class Version:
    """A process that imports the sources of one version."""

    def __init__(self, source: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            env=os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.digests, self.jobs = json.loads(self._read())

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def time(self, job: str) -> float:
        """Play a job once and return its time."""
        assert self._process.stdin is not None
        print(job, file=self._process.stdin, flush=True)
        return float(self._read())

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def main(checkout: str, n_turns: int = 20) -> None:
    """Print the shortest times of both versions, and the median of the ratios of all turns."""
    here = Path(__file__).resolve().parent.parent
    before, now = Version(Path(checkout) / "src"), Version(here / "src")
    print("| what | before | now | now ÷ before |\n|---|---|---|---|")
    for job in now.jobs:
        n = min(n_turns, MAX_LARGE_TURNS) if "10,000" in job else n_turns
        before.time(job), now.time(job)
        pairs = np.array([[before.time(job), now.time(job)] for _ in range(n)])
        ratio = pairs[:, 1] / pairs[:, 0]
        # The standard error of the median of Normal numbers.
        error = np.sqrt(np.pi / 2) * ratio.std(ddof=1) / np.sqrt(n)
        old, new = pairs.min(axis=0)
        print(
            f"| {job} | {old:.4g} | {new:.4g} | {np.median(ratio):.2f} ± {error:.2f} |", flush=True
        )
    same = [name for name, digest in now.digests.items() if before.digests[name] == digest]
    print(f"\nRegret is equal to the bit: {', '.join(same) or 'none'}.")
    before.close()
    now.close()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1], *map(int, sys.argv[2:3]))
    else:
        answer()
