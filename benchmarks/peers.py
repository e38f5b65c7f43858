"""UCB1 of other libraries beside ours, one core, on the paper's 12 arms with Bernoulli rewards.

The others live in environments of their own, build/peers and build/peers-old, made on first use.
"""

import json
import os
import subprocess
import sys
import venv
from functools import partial
from pathlib import Path
from typing import Any

import globalbandits as gb
from benchmarks import Row
from benchmarks.simulation import best_of, pricing
from globalbandits.environments import BernoulliNoise, Environment
from globalbandits.simulation import simulate

HERE = Path(__file__).parent
ENVIRONMENTS = ("peers", "peers-old")


def peers_python(name: str) -> Path:
    """The interpreter of an environment of peers, made and filled where it is missing."""
    folder, requirements = Path("build") / name, HERE / f"{name}-requirements.txt"
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    ready = folder / ".ready"
    wanted = requirements.read_text()
    if not ready.exists() or ready.read_text() != wanted:
        venv.create(folder, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "-r", str(requirements)]
        subprocess.run(install, check=True)
        ready.write_text(wanted)
    return python


def measure_peers() -> dict[str, Any]:
    """Seconds a step of each library in the environment that has it, or why there is none."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
    found: dict[str, Any] = {}
    for name in ENVIRONMENTS:
        done = subprocess.run(
            [str(peers_python(name)), str(HERE / "_peers_worker.py")],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, **dict.fromkeys(threads, "1")},
        )
        for library, cost in json.loads(done.stdout.splitlines()[-1]).items():
            if not isinstance(found.get(library), float):
                found[library] = cost
    return found


def measure_ours() -> tuple[float, float]:
    """Seconds a step of UCB1 and of WAGP by `simulate`, everything included."""
    env = Environment(pricing(), theta=0.4, noise=BernoulliNoise())
    horizon, runs = 10_000, 100
    calls = [
        partial(simulate, env, [policy], horizon, runs, threads=1)
        for policy in (gb.UCB1(), gb.WAGP())
    ]
    for call in calls:
        call()
    ucb1, wagp = best_of(calls)
    return ucb1 / (horizon * runs), wagp / (horizon * runs)


def run() -> list[Row]:
    """Ratios to every library, and to the fastest of them."""
    ucb1, wagp = measure_ours()
    found = measure_peers()
    rows = []
    for name, cost in found.items():
        known = isinstance(cost, float)
        rows.append(
            Row(
                name=f"UCB1, 12 arms: {name} ÷ simulate",
                value=cost / ucb1 if known else float("nan"),
                unit="times",
                target=None,
                note=f"{1 / cost / 1e3:,.0f} k steps/s" if known else str(cost),
            )
        )
    fastest = min(
        (cost for cost in found.values() if isinstance(cost, float)), default=float("nan")
    )
    rows += [
        Row(
            name="UCB1, 12 arms: fastest library ÷ simulate",
            value=fastest / ucb1,
            unit="times",
            target=">= 50",
            note=f"ours {1 / ucb1 / 1e6:.1f} M steps/s, everything included",
        ),
        Row(
            name="fastest library's UCB1 ÷ our WAGP",
            value=fastest / wagp,
            unit="times",
            target=">= 100",
            note=f"ours {1 / wagp / 1e6:.1f} M steps/s, everything included",
        ),
    ]
    return rows
