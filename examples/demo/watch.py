"""Three bandits and their customers, to be watched on the service's page: ``make demo``.

A shop that looks for its price, a trial that looks for its dose, and a market that changes. The
customers are simulated; the service, its log and its client are the real ones.
"""

import argparse
import math
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import globalbandits as gb

SHOP: dict[str, Any] = {
    "model": {"family": "demand.linear_power", "arms": [0.3, 0.4, 0.5, 0.6, 0.7, 0.8], "cost": 0.1},
    "policy": {"policy": "wagp"},
    "incumbent": 0.8,
    "seed": 1,
}
TRIAL: dict[str, Any] = {
    "model": {"family": "dose.logistic", "arms": [1.0, 2.0, 3.0, 4.0, 5.0], "target": 0.25},
    "policy": {"policy": "thompson_sampling"},
    "largest_step": 1,
    "incumbent": 1.0,
    "seed": 2,
}
MARKET: dict[str, Any] = {
    "model": {"family": "demand.linear_power", "arms": [0.4, 0.5, 0.6, 0.7, 0.8], "cost": 0.0},
    "policy": {"policy": "nonstationary_wagp", "half_window": 200},
    "seed": 3,
}
# The bandit, and the true value of its unknown number after a given number of seconds.
WORLDS: dict[str, tuple[dict[str, Any], Callable[[float], float]]] = {
    "shop": (SHOP, lambda seconds: 0.75),
    "trial": (TRIAL, lambda seconds: 0.4),
    "market": (MARKET, lambda seconds: 0.5 + 0.35 * math.sin(seconds / 20.0)),
}


def start(db: Path, port: int) -> tuple["subprocess.Popen[str]", str]:
    """A server, and its address."""
    code = "from globalbandits.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", "--db", str(db), "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    found = re.search(r" at (http://\S+);", server.stdout.readline())
    if found is None:
        raise SystemExit("the server did not start")
    return server, found[1]


def play(
    address: str,
    name: str,
    world: tuple[Mapping[str, Any], Callable[[float], float]],
    customers: float,
    pause: float,
) -> None:
    """Customers of one bandit: each is shown an arm, and buys (or reacts) or does not."""
    spec, place = world
    model = gb.RewardModel.from_dict(spec["model"])
    low, high = model.domain
    luck, begun = random.Random(name), time.monotonic()
    served = 0
    with gb.Client(address, total=30) as client:
        while served < customers:
            decision = client.decide(name)
            theta = low + (high - low) * place(time.monotonic() - begun)
            bought = luck.random() < float(model.means(theta)[decision.arm])
            client.reward(name, decision.decision_id, float(bought))
            served += 1
            time.sleep(pause)


def main() -> None:
    """Start the service, create the bandits, and let customers come."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--db", type=Path, default=Path("results/demo.db"))
    asked.add_argument("--port", type=int, default=8000)
    asked.add_argument("--customers", type=float, default=math.inf, help="of each bandit")
    asked.add_argument("--pause", type=float, default=0.05, help="between customers of a bandit")
    given = asked.parse_args()
    given.db.parent.mkdir(parents=True, exist_ok=True)
    # SIGTERM ends the demo like Ctrl-C, so that its server ends with it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    server, address = start(given.db, given.port)
    try:
        with gb.Client(address, total=120) as client:  # a busy machine builds models slowly
            for name, (spec, _) in WORLDS.items():
                client.create(name, spec)
            print(f"open {address}/ and watch; stop with Ctrl-C", flush=True)
            threads = [
                threading.Thread(
                    target=play,
                    args=(address, name, world, given.customers, given.pause),
                    daemon=True,
                )
                for name, world in WORLDS.items()
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for name in WORLDS:
                found = client.bandit(name)
                print(f"{name}: {found.version} rewards, estimate {found.estimate}")
    except KeyboardInterrupt:
        pass
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
